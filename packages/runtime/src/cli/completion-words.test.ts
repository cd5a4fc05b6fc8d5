// What may stand at the end of an unfinished line: commands, options, choices, names, files.
import { expect, test } from "vitest";
import type { CommandTree, OptionShape } from "./command-tree.ts";
import { completionLines } from "./completion.ts";
import { completing } from "./completion-words.ts";

const toggle = (flag: string, ...more: readonly string[]): OptionShape => ({
  flags: [flag, ...more],
  description: "",
  value: undefined,
});
const taking = (
  flag: string,
  name: string,
  more: { choices?: readonly string[]; many?: boolean } = {},
): OptionShape => ({
  flags: [flag],
  description: "",
  value: { name, choices: more.choices ?? [], many: more.many ?? false },
});
const command = (name: string, more: Partial<CommandTree> = {}): CommandTree => ({
  name,
  description: `the ${name}`,
  options: [],
  args: [],
  commands: [],
  ...more,
});
const value = (name: string, choices: readonly string[] = [], many = false) => ({ name, choices, many });

const program = command("signalbox", {
  options: [toggle("--version", "-V"), toggle("--help")],
  commands: [
    command("run", {
      args: [value("tool")],
      options: [
        taking("--input", "json"),
        taking("--file", "path", { many: true }),
        taking("--status", "status", { choices: ["queued", "running"] }),
        taking("--url", "url"),
        taking("--key", "key"),
        toggle("--platform"),
        toggle("--json"),
      ],
    }),
    command("calls", {
      options: [toggle("--help")],
      commands: [
        command("list"),
        command("resolve", { args: [value("execution-id"), value("verdict", ["confirm", "retry"])] }),
      ],
    }),
    command("files", { args: [value("path", [], true)] }),
    command("init", { args: [value("dir")] }),
    command("help", { args: [value("command", [], true)] }),
  ],
});

const offered = (...words: readonly string[]) => {
  const { wanted } = completing(program, words);
  return wanted.kind === "words" ? wanted.words.map((word) => word.value) : wanted.kind;
};

test.each([
  [[""], ["run", "calls", "files", "init", "help"]],
  [["r"], ["run"]],
  [["-"], ["--version", "--help"]],
  [
    ["calls", ""],
    ["list", "resolve"],
  ],
  [["calls", "x", ""], ["--help"]],
  [
    ["calls", "resolve", "exec_1", ""],
    ["confirm", "retry"],
  ],
  [["calls", "resolve", "exec_1", "c"], ["confirm"]],
  [["run", "--status", "r"], ["running"]],
  [["run", "--status=q"], ["--status=queued"]],
  [["run", "echo", "--j"], ["--json"]],
  // What stands there already is not offered again; what takes a value may be meant anew.
  [
    ["run", "--json", "--"],
    ["--input", "--file", "--status", "--url", "--key", "--platform"],
  ],
  // A value that looks like a command is none.
  [["run", "calls", "--js"], ["--json"]],
  [["run", "--input", "--", "--js"], ["--json"]],
  [["run", "--input", ""], []],
  [["run", "--file", "a", ""], "files"],
  [["run", "--file", "a", "--js"], ["--json"]],
  [["files", "a", ""], "files"],
  [["init", ""], "folders"],
  [["init", "a", ""], []],
  [
    ["help", "calls", ""],
    ["list", "resolve"],
  ],
  [["help", "calls", "list", ""], []],
  [
    ["nonsense", ""],
    ["--version", "--help"],
  ],
  [[], ["run", "calls", "files", "init", "help"]],
])("%j → %j", (words, expected) => {
  expect(offered(...words)).toEqual(expected);
});

test("names are sought with what is known of them, and of the runtime that knows them", () => {
  expect(completing(program, ["run", "--url", "http://a", "--key=k", "--platform", "pay"])).toEqual({
    wanted: { kind: "names", of: { name: "tool", path: ["run"], before: [], start: "pay", prefix: "" } },
    connection: { url: "http://a", key: "k", platform: true },
  });
  expect(completing(program, ["calls", "resolve", ""]).wanted).toEqual({
    kind: "names",
    of: { name: "execution-id", path: ["calls", "resolve"], before: [], start: "", prefix: "" },
  });
});

test("lines hold nothing that a shell would read otherwise, and descriptions stay on them", () => {
  expect(
    completionLines("words", [
      { value: "pay", description: "pays\nat \u001b[31monce" },
      { value: "two words", description: "" },
      { value: "user:$(reboot)", description: "" },
      { value: "a;b", description: "" },
      { value: "~root", description: "" },
      { value: "naïve", description: "" },
      { value: "--tool=payments.charge@1.2.0", description: "" },
    ]),
  ).toBe("words\npay\tpays at \\u001b[31monce\n--tool=payments.charge@1.2.0\t\n");
  expect(completionLines("files", [])).toBe("files\n");
});
