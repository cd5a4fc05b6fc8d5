// The committed TypeScript of the wire protocol is what the proto files make, and the proto files keep buf's manners.
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";

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

/** What buf says, line by line; empty when all is well. */
async function buf(args: readonly string[], cwd: string): Promise<string> {
  return run(process.execPath, [join(root, "node_modules/@bufbuild/buf/bin/buf"), ...args], { cwd }).then(
    () => "",
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );
}

test("buf has nothing to say about the proto files", async () => {
  expect(await buf(["lint"], root)).toBe("");
});

describe("whoever has the proto files as they were last accepted can go on", () => {
  const baseline = join(root, "packages/protocol/proto-baseline/signalbox.binpb");
  const proto = "packages/protocol/proto";

  test("else: undo the change, or npm run accept:protos -- --breaking", async () => {
    expect(await buf(["breaking", "--against", baseline], root)).toBe("");
  });

  test.each([
    [
      "a field that is gone",
      "tool_runtime.proto",
      "  // The arguments.\n  optional bytes input = 5 [(json) = true];\n",
      "",
    ],
    ["a field under another number", "shared.proto", "  string code = 1;", "  string code = 101;"],
    ["a field of another name", "approvals.proto", "string args_hash = 21;", "string arguments_hash = 21;"],
    ["a field of another type", "admin.proto", "  bool lifted = 2;", "  string lifted = 2;"],
    ["an rpc that answers otherwise", "policies.proto", "returns (PolicyDefault)", "returns (Policy)"],
  ])("%s is told", async (_, file, was, is) => {
    const copy = mkdtempSync(join(tmpdir(), "protos-"));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(join(root, "buf.yaml"), join(copy, "buf.yaml"));
    cpSync(join(root, proto), join(copy, proto), { recursive: true });
    const path = join(copy, proto, "signalbox/v1", file);
    const text = readFileSync(path, "utf8");
    expect(text).toContain(was);
    writeFileSync(path, text.replace(was, is));
    expect(await buf(["breaking", "--against", baseline], copy)).toContain(file);
  });
});
