// What holds the documentation to be true is true itself: what it takes for the same, what it does not, and what it refuses.
import { describe, expect, test } from "vitest";
import type { CommandTree } from "../../packages/runtime/src/cli/command-tree.ts";
import { commandsOf, unknownCommands } from "./commands.ts";
import { cutOf } from "./cuts.ts";
import { brokenLinks } from "./links.ts";
import { readPage, withBlocks, type Block, type Part } from "./markdown.ts";
import { runPage } from "./page.ts";
import { staleCuts, unproven } from "./proof.ts";
import { openShell } from "./shell.ts";
import { compare, readTranscript, shortened, withRealNames } from "./transcript.ts";

const page = (...lines: string[]): readonly Part[] => readPage(lines.join("\n"));
const files: Readonly<Record<string, string>> = {
  "a.yaml": "# A tool.\nspec:\n  # #region input\n  input:\n    type: object\n  # #endregion input\n  timeout: 1s\n",
  "run.sh": "npm ci\nnpm run demo -- --check\n",
};
const read = (path: string): string | undefined => files[path];

describe("a page is read", () => {
  test("with blocks, their languages, lines and the marker in the line before", () => {
    const parts = page("# A", "<!-- cut: a.yaml -->", "```yaml", "x: 1", "```", "", "```text", "a", "```");
    expect(parts).toMatchObject([
      { kind: "marker", word: "cut", text: "a.yaml", line: 2 },
      { kind: "block", language: "yaml", lines: ["x: 1"], line: 3, marker: { text: "a.yaml" } },
      { kind: "block", language: "text", lines: ["a"], line: 7, marker: undefined },
    ]);
  });

  test("a marker may take several lines, and belongs to a fence that follows at once only", () => {
    const parts = page(
      "<!-- run:",
      "one",
      "two",
      "-->",
      "```console",
      "$ a",
      "```",
      "<!-- cut: a -->",
      "",
      "```js",
      "```",
    );
    expect(parts).toMatchObject([
      { word: "run", text: "one\ntwo", lineEnd: 4 },
      { language: "console", marker: { word: "run" } },
      { word: "cut" },
      { language: "js", marker: undefined },
    ]);
  });

  test("fences of four hold fences of three; what is not closed is named", () => {
    expect(page("````text", "```", "x", "```", "````")).toMatchObject([{ lines: ["```", "x", "```"] }]);
    expect(() => page("a", "```js", "x")).toThrow("line 2: the fence is not closed");
    expect(() => page("<!-- run: x", "a")).toThrow("line 1: the comment is not closed");
    expect(page("<!-- somebody's remark", "without an end")).toEqual([]);
  });

  test("its blocks can be given other lines", () => {
    const text = "a\n```text\n1\n2\n```\nb\n```text\n```\n";
    const blocks = readPage(text).filter((part): part is Block => part.kind === "block");
    const changed = new Map(blocks.map((block, index) => [block, [`new ${index}`]]));
    expect(withBlocks(text, changed)).toBe("a\n```text\nnew 0\n```\nb\n```text\nnew 1\n```\n");
  });
});

describe("a cut", () => {
  test("is a region without its edges and its indentation, or the whole file", () => {
    expect(cutOf("a.yaml#input", read)).toEqual(["input:", "  type: object"]);
    expect(cutOf("a.yaml", read)).toEqual(["# A tool.", "spec:", "  input:", "    type: object", "  timeout: 1s"]);
  });

  test("of what is not there is named", () => {
    expect(() => cutOf("b.yaml", read)).toThrow("there is no file b.yaml");
    expect(() => cutOf("a.yaml#inpu", read)).toThrow('a.yaml has no region "inpu"');
  });
});

describe("a block is proven", () => {
  const problems = (...lines: string[]): readonly string[] => unproven(page(...lines), read);

  test("by the file that it shows", () => {
    expect(problems("<!-- cut: a.yaml#input -->", "```yaml", "input:", "  type: object", "```")).toEqual([]);
    const other = page("<!-- cut: a.yaml#input -->", "```yaml", "input:", "  type: array", "```");
    expect(unproven(other, read)).toEqual([
      'line 2: this is not a.yaml#input any more, from its line 2 on ("  type: object"); next: npm run docs',
    ]);
    expect([...staleCuts(other, read).values()]).toEqual([["input:", "  type: object"]]);
    const longer = ["<!-- cut: a.yaml#input -->", "```yaml", "input:", "  type: object", "more: 1", "```"];
    expect(problems(...longer)).toEqual([expect.stringContaining("from its line 3 on")]);
  });

  test("by being run, or by what else runs it", () => {
    expect(problems("```console", "$ signalbox status", "```", "```", "$ ls", "```")).toEqual([]);
    expect(problems("<!-- out: signalbox status --json -->", "```json", "{}", "```")).toEqual([]);
    expect(problems("<!-- in: run.sh -->", "```sh", "npm ci && npm run demo # builds", "```")).toEqual([]);
    expect(problems("<!-- in: run.sh -->", "```sh", "npm ci && npm run bench", "```")).toEqual([
      "line 2: run.sh does not run: npm run bench",
    ]);
  });

  test("not by its language alone, and text is no hiding place for commands", () => {
    expect(problems("```json", "{}", "```")).toEqual([
      expect.stringMatching(/^line 1: nothing proves this block of "json"/),
    ]);
    expect(problems("```", "plain", "```")).toHaveLength(1);
    expect(problems("```text", "GET /v1/tools", "```")).toEqual([]);
    expect(problems("```text", "signalbox run echo", "```")).toEqual([expect.stringContaining("shows a command")]);
  });
});

test("a link leads to a page that is there, and to a heading in it", () => {
  const there = (path: string): string | true | undefined =>
    ({ "docs/b.md": "# B\n## A `code`, and more\n", "a.ts": true as const })[path];
  const links =
    "# Top\n[b](b.md) [h](b.md#a-code-and-more) [code](../a.ts#L3) [web](https://x.test/y.md) [here](#top)\n```text\n[no](no.md)\n```\n";
  expect(brokenLinks("docs/a.md", links, there)).toEqual([]);
  expect(brokenLinks("docs/a.md", "\n[c](c.md) and [h](b.md#no), [here](#no)", there)).toEqual([
    "line 2: there is no docs/c.md",
    "line 2: docs/b.md has no heading #no",
    "line 2: docs/a.md has no heading #no",
  ]);
});

test("a command that is named in passing is one that there is", () => {
  const option = (flag: string) => ({ flags: [flag], description: "", value: undefined });
  const command = (name: string, flag: string, ...commands: CommandTree[]): CommandTree => ({
    name,
    description: "",
    options: [option(flag), option("--help")],
    args: [],
    commands,
  });
  const dev = command("dev", "--port");
  const keys = command("keys", "--help", command("list", "--json"));
  const commands = commandsOf(command("signalbox", "--version", dev, keys));
  const good =
    "`signalbox dev --port 0`, `npx signalbox keys list --json`, `signalbox keys`, `signalbox --help`, `signalbox dev <folder>`";
  expect(unknownCommands(good, commands)).toEqual([]);
  expect(unknownCommands("`signalbox dve`\n`signalbox dev --prot 0`\n`signalbox keys make`", commands)).toEqual([
    "line 1: signalbox dve: there is no command dve",
    'line 2: signalbox dev --prot 0: there is no --prot of "dev"',
    'line 3: signalbox keys make: there is no "keys make"',
  ]);
});

describe("what is printed is what is shown", () => {
  test.each([
    ["other ids", ["exec_01M8…  queued"], ["exec_01M8KRT4QZ6F0000000000000A  queued"]],
    ["other spans", ["succeeded in 3 ms"], ["succeeded in 1.2 s"]],
    ["ages", ["made just now"], ["made 3 s ago"]],
    ["instants", ["at 2026-11-29T21:09:09.101Z"], ["at 2027-01-01T00:00:00Z"]],
    ["wider columns", ["A  B", "1  2"], ["A      B", "1      2"]],
    ["digests", ["hash fe3c5fbf…", "pay_638717018ebd"], [`hash ${"0a".repeat(32)}`, "pay_0123456789ab"]],
    ["a part left out", ["a … d"], ["a b c d"]],
    ["lines left out", ["a", "…", "d", "…"], ["a", "b", "c", "d"]],
    ["no lines left out", ["a", "…"], ["a"]],
  ])("with %s", (_, shown, printed) => {
    expect(compare(shown, printed)).toBeDefined();
  });

  test.each([
    ["another word", ["succeeded in 3 ms"], ["failed in 3 ms"]],
    ["another number", ["218 rows"], ["217 rows"]],
    ["another kind of id", ["exec_01M8…"], ["apr_01M8KRT4QZ6F0000000000000A"]],
    ["a setting that is no span", ["within 24h"], ["within 12h"]],
    ["a line more", ["a"], ["a", "b"]],
    ["a line less", ["a", "b"], ["a"]],
    ["another order", ["…", "b", "a", "…"], ["a", "b"]],
    ["signs of patterns", ["a.c (x)"], ["abc (x)"]],
  ])("not with %s", (_, shown, printed) => {
    expect(compare(shown, printed)).toBeUndefined();
  });

  test("and a shortened name stands for what was shown last in its place", () => {
    const names = compare(
      ["exec_01M8…", "approval apr_01M8…, hash fe3c…"],
      ["exec_01AAAA", "approval apr_01BBBB, hash fe3c99aa"],
    );
    expect(Object.fromEntries(names ?? [])).toEqual({
      "exec_01M8…": "exec_01AAAA",
      "apr_01M8…": "apr_01BBBB",
      "fe3c…": "fe3c99aa",
    });
    expect(withRealNames("show exec_01M8… --hash fe3c…", names ?? new Map())).toBe("show exec_01AAAA --hash fe3c99aa");
    expect(() => withRealNames("show key_01M8…", names ?? new Map())).toThrow("nothing above has shown key_01M8…");
  });

  test("and is shortened for a page", () => {
    expect(shortened("call exec_01M8KRT4QZ6F0000000000000A of sbk_abcdefghijklmnop")).toBe("call exec_01M8… of sbk_…");
    expect(shortened(`sha256:${"9b1c".repeat(16)} ${"fe3c5fbf".repeat(8)}`)).toBe("sha256:9b1c… fe3c5fbf…");
  });
});

test("a terminal has commands, also of several lines, and what they print", () => {
  expect(readTranscript(["$ a \\", "    b", "1", "2", "$ cat <<EOF", "$ x", "EOF", "$ c"])).toMatchObject([
    { command: "a \\\n    b", shown: ["1", "2"] },
    { command: "cat <<EOF\n$ x\nEOF", shown: [] },
    { command: "c", shown: [] },
  ]);
  expect(readTranscript(["$ curl -d '{", "$ x: 1", "}'", "1"])).toMatchObject([
    { command: "curl -d '{\n$ x: 1\n}'", shown: ["1"] },
  ]);
  expect(() => readTranscript(["1", "$ a"])).toThrow("begins with a command");
});

describe("a page is played", () => {
  const whyNot = async (need: string): Promise<string | undefined> =>
    need === "a moon" ? "there is no moon" : undefined;
  const play = async (update: boolean, ...lines: string[]) => {
    const shell = await openShell();
    try {
      return await runPage(page(...lines), shell, { whyNot, update });
    } finally {
      await shell.close();
    }
  };

  test("from top to bottom in one shell, with what is hidden, and with processes that stay", async () => {
    const end = await play(
      false,
      "<!-- run: NAME=ada; sleep 1000 & echo ready > file -->",
      "<!-- until: test -f file -->",
      "```console",
      "$ echo hello $NAME",
      "hello ada",
      "$ (echo up; sleep 1000) &",
      "up",
      "$ kill -9 $!; wait $!; echo gone",
      "gone",
      "```",
      "<!-- out: cat file -->",
      "```json",
      "ready",
      "```",
    );
    expect(end).toEqual({ problems: [], passedOver: [], changed: new Map() });
  });

  test("and says where it is wrong, and what was printed", async () => {
    const { problems } = await play(false, "", "```console", "$ echo one; echo two", "one", "three", "```");
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(
      /^line 2: \$ echo one; echo two\nthe page shows:\n {4}one\n {2}> three\nit printed:\n {4}one\n {4}two\n/,
    );
  });

  test.each([
    ["a command that fails and shows nothing", ["```console", "$ false", "```"], "exit code 1 of: false"],
    ["a hidden one that fails", ["<!-- run: echo no; exit 3 & wait $! -->"], "exit code 3 of:"],
    ["one that is no command", ["```console", "$ if then", "x", "```"], "syntax error"],
    ["a need that nobody knows of", ["<!-- needs: a moon -->", "```console", "$ false", "```"], undefined],
  ])("%s", async (_, lines, problem) => {
    const { problems, passedOver } = await play(false, ...lines);
    if (problem === undefined)
      expect({ problems, passedOver }).toEqual({ problems: [], passedOver: ["line 2: there is no moon"] });
    else expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  test("or is given what is printed now, and what was right stays as it is", async () => {
    const { problems, changed } = await play(
      true,
      "```console",
      "$ echo a b",
      "a …",
      "$ echo b",
      "c",
      "",
      "$ true",
      "```",
    );
    expect(problems).toEqual([]);
    expect([...changed.values()]).toEqual([["$ echo a b", "a …", "$ echo b", "b", "", "$ true"]]);
  });
});
