// The reader of a file of turns: what it takes, what it refuses and where, and the file on a disk with its trace.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { HandClock } from "../../../../../../test/support/hand-clock.ts";
import { readScripts } from "./file.ts";
import { openScripted } from "./open.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-scripted-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const problemsOf = (document: unknown): readonly string[] => {
  const read = readScripts(document);
  return read.ok ? [] : read.problems.map(({ path, message }) => `${path} ${message}`);
};

test.each<[unknown, string]>([
  [[], " must be a mapping, not a list"],
  [{}, "scripts must be a mapping of model names to scripts"],
  [{ scripts: {} }, "scripts must be a mapping of model names to scripts"],
  [{ scripts: { a: 1 } }, "scripts.a must be a mapping, not 1"],
  [{ scripts: { a: [] } }, "scripts.a must be a list with at least one entry, not an empty list"],
  [{ scripts: { a: { loop: true } } }, "scripts.a must have one of completions and branches"],
  [{ scripts: { a: { completions: [{ text: "x" }], branches: [] } } }, "scripts.a must have one of completions and branches"],
  [{ scripts: { a: { completions: [{ text: "x" }], loop: "yes" } } }, 'scripts.a.loop must be true or false, not "yes"'],
  [{ scripts: { a: [{}] } }, "scripts.a[0] says nothing"],
  [{ scripts: { a: [{ txt: "x" }] } }, "scripts.a[0].txt is an unknown key"],
  [{ scripts: { a: [{ text: 1 }] } }, "scripts.a[0].text must be text, not 1"],
  [{ scripts: { a: [{ text: "{{lst_user}}" }] } }, "scripts.a[0].text holds the unknown template {{lst_user}}"],
  [{ scripts: { a: [{ calls: [{ tool: "t", input: { b: ["{{result}}"] } }] }] } }, "scripts.a[0].calls[0].input.b[0] holds the unknown template {{result}}"],
  [{ scripts: { a: [{ calls: [{}] }] } }, "scripts.a[0].calls[0].tool is required"],
  [{ scripts: { a: [{ calls: [{ tool: "t", input: {}, arguments_text: "" }] }] } }, "scripts.a[0].calls[0] has both input and arguments_text"],
  [{ scripts: { a: [{ calls: [{ tool: "t", input: [] }] }] } }, "scripts.a[0].calls[0].input must be a mapping, not a list"],
  [{ scripts: { a: [{ text: "x", stop: "done" }] } }, 'scripts.a[0].stop must be one of end_turn, tool_use, max_tokens, refusal, stop_sequence, not "done"'],
  [{ scripts: { a: [{ text: "x", delay_ms: -1 }] } }, "scripts.a[0].delay_ms must be at least 0"],
  [{ scripts: { a: [{ text: "x", usage: { input_tokens: 1.5 } }] } }, "scripts.a[0].usage.input_tokens must be a whole number, not 1.5"],
  [{ scripts: { a: [{ fail: { code: "boom" } }] } }, 'scripts.a[0].fail.code must be one of rate_limited, overloaded, refused_request, unauthorized, context_too_long, cut_off, unreachable, malformed, timeout, not "boom"'],
  [{ scripts: { a: { branches: [{ when: { last_user: "/(/" }, completions: [{ text: "x" }] }] } } }, 'scripts.a.branches[0].when.last_user "/(/" is no regular expression'],
  [{ scripts: { a: { branches: [{ when: {}, completions: [{ text: "x" }] }] } } }, "scripts.a.branches[0].when.last_user is required"],
])("%j is refused: %s", (document, problem) => {
  expect(problemsOf(document)).toContain(problem);
});

test("an empty text is an answer", () => {
  expect(problemsOf({ scripts: { a: [{ text: "" }] } })).toEqual([]);
});

test("a file is opened, and its trace has one line for every request", async () => {
  const [file, traceFile] = [join(folder, "turns.yaml"), join(folder, "trace.jsonl")];
  writeFileSync(file, "scripts:\n  support:\n    - text: Good day.\n");
  const model = await openScripted({ file, traceFile, clock: new HandClock(0) });
  const choice = { provider: "scripted", name: "support", maxOutputTokens: 10, temperature: undefined };
  const history = [{ type: "user", turn: 1, by: "user:ann", text: "hi", inboxSeq: 1 }] as const;
  await model.complete({ choice, system: "", history, tools: [], key: "t1.e1" }, new AbortController().signal, () => undefined);
  expect(readFileSync(traceFile, "utf8")).toBe('{"key":"t1.e1","script":"support","branch":null,"position":0,"history_length":1}\n');
});

test("a file that is not there, is no YAML, or is refused is told by its name", async () => {
  const file = join(folder, "other.yaml");
  const opened = (): Promise<unknown> => openScripted({ file, clock: new HandClock(0) });
  await expect(opened()).rejects.toThrow(`${file} cannot be read`);
  writeFileSync(file, "scripts:\n  a: [\n");
  await expect(opened()).rejects.toThrow(/other\.yaml:\d+: /);
  writeFileSync(file, "scripts:\n  a: [{ txt: x }]\n");
  await expect(opened()).rejects.toThrow(`${file} is refused:\n  scripts.a[0].txt is an unknown key (did you mean "text"?)`);
});
