// The Python client as it stands in the repository: it is what the document says, and Python 3.9 can read it.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { readDocument } from "./support/document.ts";
import { python, step, whyNoPython } from "./support/python.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "clients/python/signalbox_client");
const missing = whyNoPython();
const files = readdirSync(folder).filter((file) => file.endsWith(".py"));
const textOf = (file: string, where = folder): string => readFileSync(join(where, file), "utf8");

test("types and methods are up to date; else: npm run generate:python", async () => {
  const fresh = mkdtempSync(join(tmpdir(), "generated-"));
  onTestFinished(() => rmSync(fresh, { recursive: true }));
  await promisify(execFile)(process.execPath, ["scripts/generate-python-client.js", "--into", fresh], { cwd: root });
  expect(readdirSync(fresh).toSorted()).toEqual(["client.py", "models.py"]);
  for (const file of ["client.py", "models.py"]) expect(textOf(file)).toBe(textOf(file, fresh));
});

test("nothing but the standard library is imported", () => {
  const imported = files.flatMap((file) =>
    [...textOf(file).matchAll(/^\s*(?:from|import) ([\w.]+)/gm)].map(([, name = ""]) => name),
  );
  const ours = imported.filter((name) => name.startsWith("."));
  expect([...new Set(ours)].toSorted()).toEqual([".client", ".errors", ".models", ".stream", ".transport"]);
  expect([...new Set(imported.filter((name) => !name.startsWith(".")))].toSorted()).toEqual([
    "__future__",
    "dataclasses",
    "decimal",
    "http.client",
    "json",
    "os",
    "random",
    "re",
    "ssl",
    "time",
    "typing",
    "urllib.parse",
    "uuid",
  ]);
});

test("every file says what it is for, and no line is long", () => {
  for (const file of files) {
    expect(textOf(file), file).toMatch(/^"""[A-Z][^"]+\.(?: [^"]+)?"""\n/);
    const long = textOf(file)
      .split("\n")
      .filter((line) => line.length > 120);
    expect([file, long]).toEqual([file, []]);
  }
});

test("Python 3.9 can read it", async ({ skip }) => {
  if (missing !== undefined) return skip(missing);
  const read = "import ast, sys\nfor name in sys.argv[1:]: ast.parse(open(name).read(), name, feature_version=(3, 9))";
  await python(["-c", read, ...files.map((file) => join(folder, file))]);
});

test("has a method for each operation, told in words, and types that can be read to their end", async ({ skip }) => {
  if (missing !== undefined) return skip(missing);
  const { version, methods, silent, types } = (await step("shape")) as {
    readonly version: string;
    readonly methods: readonly string[];
    readonly silent: readonly string[];
    readonly types: number;
  };
  const document = readDocument();
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  const wanted = ids.map((id) => id.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  expect(wanted.filter((name) => !methods.includes(name))).toEqual([]);
  const more = methods.filter((name) => !wanted.includes(name));
  expect(more).toEqual(expect.arrayContaining(["invoke_stream", "iter_executions", "iter_execution_events"]));
  expect(more.filter((name) => !/^iter_|_stream$/.test(name))).toEqual([]);
  expect(silent).toEqual([]);
  expect(types).toBeGreaterThan(80);
  expect(version).toBe((document as unknown as { readonly info: { readonly version: string } }).info.version);
  expect(textOf("pyproject.toml", join(root, "clients/python"))).toContain(`\nversion = "${version}"\n`);
});
