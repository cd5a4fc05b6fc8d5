// A worker that will be killed: it starts a box that would run for a minute, says so, and waits.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NativeBackend } from "../../packages/runtime/src/sandbox/backends/native/backend.ts";
import type { BoxSpec } from "../../packages/runtime/src/sandbox/types.ts";
import { kitLimits } from "./kit.ts";

const { ORPHAN_RUN_ROOT: runRoot = "", ORPHAN_MARKER: marker = "" } = process.env;
const backend = new NativeBackend({ runRoot, allowBestEffortLimits: true });
const code = join(runRoot, "code");
mkdirSync(code, { recursive: true });
writeFileSync(join(code, "main"), `#!/bin/sh\ntrap '' TERM\n(setsid sleep ${marker} &)\necho up\nsleep ${marker}\n`, {
  mode: 0o755,
});
const spec: BoxSpec = {
  boxId: "orphan",
  tenant: "kit",
  tool: "kit.orphan",
  version: "1.0.0",
  runtime: "exec",
  entry: "main",
  package: { path: code, digest: "orphan" },
  limits: { ...kitLimits, timeoutMs: 60_000 },
  env: {},
  egressSocket: null,
};
const signal = new AbortController().signal;
const box = await backend.provision(spec, signal);
const io = { stdout: () => void process.stdout.write("up\n"), stderr: () => undefined, event: () => undefined };
await box.run({ requestJson: "{}", files: [], resultFrom: "fd3" }, io, signal);
