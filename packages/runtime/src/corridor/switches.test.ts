// The switches of privileged built-ins: what needs one, and what its absence says.
import { expect, test } from "vitest";
import { allOff, isWholeToolOff, offError, type Switches } from "./switches.ts";

const on = (...names: readonly string[]): Switches => ({ on: new Set(names), lowered: new Map() });
const shell = { tenant: "platform", tool: "shell.run" };
const write = { tenant: "platform", tool: "fs.write" };
const code = { tenant: "platform", tool: "code.run" };

test.each<[string, Switches, { tenant: string; tool: string }, unknown, string | undefined]>([
  ["shell.run", allOff, shell, { command: "ls" }, "shell.run"],
  ["shell.run, whatever its input", allOff, shell, null, "shell.run"],
  ["shell.run, switched on", on("shell.run"), shell, {}, undefined],
  ["another switch is no help", on("code.run"), shell, {}, "shell.run"],
  ["fs.write", allOff, write, {}, "fs.write"],
  ["fs.read", allOff, { ...write, tool: "fs.read" }, {}, "fs.read"],
  ["fs.list", allOff, { ...write, tool: "fs.list" }, {}, "fs.list"],
  ["each of them has a switch of its own", on("fs.read", "fs.list"), write, {}, "fs.write"],
  ["fs.write, switched on", on("fs.write"), write, {}, undefined],
  ["a tenant's own fs.write", allOff, { ...write, tenant: "acme" }, {}, undefined],
  ["Python", allOff, code, { language: "python" }, "code.run"],
  ["Python, switched on", on("code.run"), code, { language: "python" }, undefined],
  ["JavaScript needs none", allOff, code, { language: "javascript" }, undefined],
  ["an input that is none is for the schema to refuse", allOff, code, "python", undefined],
  ["an input that is nothing", allOff, code, null, undefined],
  ["a tenant's own tool of that name", allOff, { ...shell, tenant: "acme" }, {}, undefined],
  ["echo", allOff, { tenant: "platform", tool: "echo" }, {}, undefined],
])("%s", (_, switches, named, args, missing) => {
  expect(offError(switches, named, args)?.details?.["switch"]).toBe(missing);
});

test("the error names the switch, with what is on already", () => {
  expect(offError(on("code.run"), shell, {})).toMatchObject({
    code: "forbidden",
    message:
      "shell.run is off; whoever runs this runtime can switch it on by name: signalbox dev --enable code.run,shell.run",
    details: { reason: "tool_off", switch: "shell.run" },
  });
});

test("only a tool of which nothing can be called is left out of lists", () => {
  const off = (switches: Switches, tool: typeof shell): boolean => isWholeToolOff(switches, tool);
  expect([off(allOff, shell), off(on("shell.run"), shell), off(allOff, code)]).toEqual([true, false, false]);
  expect([off(allOff, write), off(on("fs.read"), write), off(on("fs.write"), write)]).toEqual([true, true, false]);
});
