// The committed TypeScript of the wire protocol is what the proto files make, and the proto files keep buf's manners.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const gen = "packages/protocol/src/gen";
const run = promisify(execFile);

function filesUnder(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  return new Map(files.sort().map((file) => [file, readFileSync(join(folder, file), "utf8")]));
}

test("the generated files are up to date; else: npm run generate", async () => {
  const fresh = mkdtempSync(join(tmpdir(), "generated-"));
  onTestFinished(() => rmSync(fresh, { recursive: true }));
  await run(process.execPath, ["scripts/generate.js", "--into", fresh], { cwd: root });
  const made = filesUnder(join(fresh, gen));
  expect([...made.keys()]).toContain("signalbox/v1/work_pb.ts");
  expect(filesUnder(join(root, gen))).toEqual(made);
});

test("buf has nothing to say about the proto files", async () => {
  const complaints = await run(process.execPath, ["node_modules/@bufbuild/buf/bin/buf", "lint"], { cwd: root }).then(
    () => "",
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );
  expect(complaints).toBe("");
});
