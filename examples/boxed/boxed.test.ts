// The packaged examples against the tool entry contract, started by this machine's own interpreters: no box is needed for that.
import { createHash } from "node:crypto";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readToolFolder } from "../../packages/runtime/src/adapters/store/folder.ts";
import { readManifest } from "../../packages/runtime/src/registry/manifest.ts";
import { packageProblem } from "../../packages/runtime/src/registry/package/entry.ts";
import { listingText } from "../../packages/runtime/src/registry/package/listing.ts";
import { compileToolSchemas } from "../../packages/runtime/src/registry/schema.ts";
import type { ToolSpec } from "../../packages/runtime/src/registry/types.ts";
import { parseDocument } from "../../packages/runtime/src/registry/yaml.ts";
import { requestText } from "../../packages/runtime/src/sandbox/contract.ts";
import { eventReader, type BoxEvent } from "../../packages/runtime/src/sandbox/contract-events.ts";
import { answerOf, type BoxAnswer } from "../../packages/runtime/src/sandbox/contract-result.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const names = ["csv.summary", "text.words", "files.checksums"] as const;

let workspace: string;
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), "boxed-"));
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

interface TestInput {
  readonly args: unknown;
  readonly files: readonly { readonly path: string; readonly from: string }[];
}

const json = (name: string, file: string): unknown => JSON.parse(readFileSync(join(here, name, file), "utf8"));

function specOf(name: string): ToolSpec {
  const parsed = parseDocument(readFileSync(join(here, name, "tool.yaml"), "utf8"));
  const manifest = parsed.ok ? readManifest(parsed.value) : parsed;
  if (!manifest.ok) throw new Error(JSON.stringify(manifest.problems));
  return manifest.spec;
}

interface Ended {
  readonly answer: BoxAnswer;
  readonly events: readonly (BoxEvent | undefined)[];
}

const interpreters = { node: [process.execPath], python: ["python3", "-I"], exec: [], js: [], wasm: [] } as const;

/** What a box does with files and descriptors, without anything that makes it a box. */
async function run(name: string, { args, files }: TestInput): Promise<Ended> {
  for (const { path, from } of files) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    cpSync(join(here, name, from), join(workspace, path));
  }
  const { executor } = specOf(name);
  if (executor.type !== "sandbox") throw new Error("not packaged");
  const [command = "", ...rest] = [...interpreters[executor.runtime], join(here, name, executor.entry)];
  const pipe = "pipe" as const;
  const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" };
  const child = spawn(command, rest, { cwd: workspace, env, stdio: [pipe, pipe, pipe, pipe, pipe], timeout: 15_000 });
  const facts = {
    callId: "exec_1",
    attempt: 1,
    tenant: "acme",
    project: "default",
    principal: "user:ann",
    tool: name,
    version: "1.0.0",
    timeoutMs: 10_000,
    traceparent: "",
    contextJson: "",
  };
  (child.stdio[0] as NodeJS.WritableStream).end(requestText(JSON.stringify(args), facts, {}));
  const ended = new Promise<number | null>((resolve, reject) => child.once("close", resolve).once("error", reject));
  const [, , stderrTail = "", resultText = "", lines = ""] = await Promise.all(
    child.stdio.map((one, fd) => (fd === 0 ? Promise.resolve("") : text(one as Readable))),
  );
  const code = (await ended) ?? 137;
  const usage = { startMs: 0, durationMs: 1, cpuMs: 1, peakMemoryBytes: null, egressBytes: 0 };
  const reader = eventReader([]);
  return {
    answer: answerOf(
      {
        end: { reason: "exited", code },
        resultText: resultText === "" ? null : resultText,
        truncated: [],
        stderrTail,
        usage,
      },
      "fd3",
    ),
    events: lines
      .split("\n")
      .slice(0, -1)
      .map((line) => reader.read(line)),
  };
}

const output = ({ answer }: Ended): unknown => (answer.status === "succeeded" ? JSON.parse(answer.outputJson) : answer);

describe.each(names)("%s", (name) => {
  test("has a manifest that fits its package", async () => {
    const { files } = await readToolFolder(join(here, name));
    expect(packageProblem(specOf(name).executor, files)).toBeUndefined();
    expect(files.map(({ path }) => path)).toContain("tool.yaml");
  });

  test("does what it says, to its own test input", async (context) => {
    const { executor } = specOf(name);
    const python = executor.type === "sandbox" && executor.runtime === "python";
    if (python && spawnSync("python3", ["-V"]).error !== undefined)
      context.skip("unavailable: this machine has no python3");
    const input = json(name, "test/input.json") as TestInput;
    const ended = await run(name, input);
    expect(output(ended)).toEqual(json(name, "test/expected.json"));
    expect(ended.events.map((event) => event?.type)).not.toContain("refused");
    expect(ended.events.length).toBeGreaterThan(0);
    const schemas = compileToolSchemas(specOf(name));
    if (!schemas.ok) throw new Error(JSON.stringify(schemas.problems));
    expect(schemas.input.validate(input.args)).toEqual({ ok: true });
    expect(schemas.output?.validate(output(ended))).toEqual({ ok: true });
  });
});

test("csv.summary says which row it cannot read", async () => {
  writeFileSync(join(workspace, "bad.csv"), "a,b\n1,2\n3\n");
  const { answer } = await run("csv.summary", { args: { file: "bad.csv" }, files: [] });
  expect(answer).toMatchObject({
    status: "failed",
    error: {
      code: "exited",
      detailsJson: JSON.stringify({ exit_code: 1, stderr: "row 2 has 1 cells, the head has 2\n" }),
    },
  });
});

test("csv.summary of a file that is not among the call's files fails, and names it", async () => {
  const { answer } = await run("csv.summary", { args: { file: "none.csv" }, files: [] });
  expect(answer).toMatchObject({
    status: "failed",
    error: { code: "exited", detailsJson: expect.stringContaining("none.csv") },
  });
});

test("text.length counts characters, and has a manifest that fits its package", async (context) => {
  if (spawnSync("python3", ["-V"]).error !== undefined) context.skip("unavailable: this machine has no python3");
  const { files } = await readToolFolder(join(here, "text.length"));
  expect(packageProblem(specOf("text.length").executor, files)).toBeUndefined();
  expect(output(await run("text.length", { args: { text: "Straße 7" }, files: [] }))).toEqual({ length: 8 });
});

test("digest.sh comes to the digest that the runtime gives a package", async () => {
  const folder = join(here, "csv.summary");
  const { files } = await readToolFolder(folder);
  const wanted = createHash("sha256").update(listingText(files)).digest("hex");
  const { stdout } = spawnSync("sh", [join(here, "digest.sh")], { cwd: folder, encoding: "utf8" });
  expect(stdout.slice(0, 64)).toBe(wanted);
});

test("files.checksums without files is an empty list", async () => {
  expect(output(await run("files.checksums", { args: {}, files: [] }))).toEqual({ files: [] });
});
