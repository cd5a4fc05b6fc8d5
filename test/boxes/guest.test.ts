// A program of ours that runs other code inside a native box: started by our starter, or ready-made before anybody asks.
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NativeBackend } from "../../packages/runtime/src/sandbox/backends/native/backend.ts";
import type { BoxSpec } from "../../packages/runtime/src/sandbox/types.ts";
import { Kit, kitLimits, MiB } from "./kit.ts";

const plain = `import { readFileSync, writeSync } from "node:fs";
writeSync(3, JSON.stringify({ argv: process.argv.slice(2), request: JSON.parse(readFileSync(0, "utf8")) }));`;
const parking = `import { closeSync, readFileSync, readSync, writeSync } from "node:fs";
writeSync(4, "ready\\n");
if (readSync(8, Buffer.alloc(1)) !== 1) process.exit(125);
closeSync(8);
writeSync(3, JSON.stringify({ argv: process.argv.slice(2), request: JSON.parse(readFileSync(0, "utf8")) }));`;

let folder = "";
let backend: NativeBackend;

beforeAll(() => {
  // Closed to everybody else, guests and Node itself too, as below /root.
  folder = mkdtempSync(join(tmpdir(), "signalbox-guest-"));
  for (const [name, text] of Object.entries({ plain, parking })) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "main.mjs"), text);
  }
  cpSync(process.execPath, join(folder, "node"));
  chmodSync(join(folder, "node"), 0o700);
  backend = new NativeBackend({
    nodePath: join(folder, "node"),
    allowBestEffortLimits: process.getuid?.() !== 0,
    guests: {
      js: { folder: join(folder, "parking"), entry: "main.mjs", nodeArgs: ["--no-warnings"], parksItself: true },
      wasm: { folder: join(folder, "plain"), entry: "main.mjs", nodeArgs: [], parksItself: false },
    },
  });
});

afterAll(async () => {
  await backend.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each(["js", "wasm"] as const)(
  "the guest of %s gets its entry's name and the request, cold and warm",
  async (runtime) => {
    const probe = await backend.probe();
    if (!probe.ok) {
      process.stderr.write(`native boxes are not available here: ${JSON.stringify(probe)}\n`);
      return;
    }
    const kit = new Kit(backend);
    const spec: BoxSpec = {
      ...kit.spec({ code: "" }),
      runtime,
      entry: "code.run",
      package: null,
      limits: { ...kitLimits, memoryBytes: 256 * MiB },
    };
    const expected = { argv: ["code.run"], request: { args: { n: 1 } } };
    const warmed: boolean[] = [];
    backend.warm(spec, 1);
    for (let run = 0; run < 20 && !warmed.includes(true); run += 1) {
      const sandbox = await backend.provision({ ...spec, boxId: `guest-${run}` }, new AbortController().signal);
      const told = await kit.runIn(sandbox, { code: "", request: '{"args":{"n":1}}' });
      await sandbox.destroy();
      expect(told.end).toEqual({ reason: "exited", code: 0 });
      expect(JSON.parse(told.resultText ?? "null")).toEqual(expected);
      warmed.push(sandbox.warm);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    kit.close();
    expect(warmed).toContain(true);
  },
);
