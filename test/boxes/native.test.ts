// The native backend passes the kit, its escape suite included, as whoever runs the tests; and from root every backend does as an ordinary user too.
import { execFile } from "node:child_process";
import { accessSync, chmodSync, constants, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { allCases } from "./all-cases.ts";
import { runKit } from "./kit.ts";
import { nativeSubject } from "./subject-native.ts";

const run = promisify(execFile);
const asRoot = process.getuid?.() === 0;
const root = fileURLToPath(new URL("../..", import.meta.url));
/** In CI as root the backend must work; elsewhere a host that lacks something is told, and fails nothing. */
const mustWork = asRoot && process.env["CI"] !== undefined;
const ordinaryUser = 47_011;
const kitMsMax = 120_000;

/** What the guest program is put together from. */
const guestPackages = ["quickjs-emscripten", "quickjs-emscripten-core", "@jitl", "@bufbuild/protobuf", "canonicalize"].map((name) => `node_modules/${name}`);

/** Cases that an ordinary user's boxes pass at least; the rest needs what he does not have. */
const enough: Readonly<Record<string, number>> = { native: 80, wasm: 50 };

interface Line {
  readonly backend: string;
  readonly passed: number;
  readonly failed: number;
  readonly unavailable: number;
}

const groups = [...new Set(allCases.map(({ group }) => group))];

test.each(groups)("native: %s", { timeout: kitMsMax }, async (group) => {
  const subject = await nativeSubject({ bestEffort: !asRoot });
  try {
    const cases = allCases.filter((each) => each.group === group);
    const { probe, items } = await runKit(subject, cases);
    if (!probe.ok) process.stderr.write(`native boxes are not available here: ${JSON.stringify(probe)}\n`);
    if (mustWork) expect(probe).toMatchObject({ ok: true, rank: 10 });
    const failed = items.flatMap((item) => (item.outcome === "failed" ? [`${item.case.name}: ${item.message}`] : []));
    expect(failed).toEqual([]);
    if (probe.ok) expect(items.some(({ outcome }) => outcome === "passed")).toBe(true);
  } finally {
    await subject.backend.close();
  }
});

test("all of it as an ordinary user", { timeout: 2 * kitMsMax }, async () => {
  if (!asRoot) return;
  const folder = mkdtempSync(join(tmpdir(), "signalbox-ordinary-"));
  try {
    // The tests may stand where an ordinary user cannot read: what he needs is brought to where he can.
    for (const part of ["packages/runtime/src/sandbox", "test/boxes", ...guestPackages])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    // As it is built: Node runs no TypeScript of an installed package.
    for (const part of ["package.json", "dist"])
      cpSync(join(root, "packages/protocol", part), join(folder, "node_modules/@signalbox/protocol", part), { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    const node = join(folder, "node");
    cpSync(process.execPath, node);
    await run("chmod", ["-R", "a+rX", folder]);
    chmodSync(node, 0o755);
    accessSync(node, constants.X_OK);
    const script = `import { main } from ${JSON.stringify(join(folder, "test/boxes/main.ts"))}; process.exitCode = await main(["--json", "--best-effort"]);`;
    const args = [
      `--reuid=${ordinaryUser}`,
      `--regid=${ordinaryUser}`,
      "--clear-groups",
      node,
      "--input-type=module",
      "-e",
      script,
    ];
    const options = { cwd: "/", env: { PATH: process.env["PATH"] ?? "", TMPDIR: "/tmp" }, timeout: 2 * kitMsMax };
    const { stdout, stderr } = await run("setpriv", args, options).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    expect(lines, stderr).toMatchObject([
      { backend: "native", failed: 0 },
      { backend: "wasm", failed: 0 },
    ]);
    if (lines.some(({ passed }) => passed === 0))
      process.stderr.write(`not every backend is available to an ordinary user here: ${stdout}\n`);
    if (mustWork)
      expect(
        lines.filter(({ backend, passed }) => passed > (enough[backend] ?? 0)),
        stdout,
      ).toHaveLength(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
