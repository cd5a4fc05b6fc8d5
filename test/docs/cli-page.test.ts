// The page on the command line has every command with what it does, in its group, and every exit code.
import { expect, test } from "vitest";
import { everyCommand } from "../../packages/runtime/src/cli/command-tree.ts";
import { exitCodesHelp } from "../../packages/runtime/src/cli/exit-codes.ts";
import { groupOf, groups } from "../../packages/runtime/src/cli/groups.ts";
import { allCommands } from "../support/command-line.ts";
import { readRepo } from "./pages.ts";

const page = readRepo("docs/cli.md") ?? "";

test("every command, by group, with the words of its help", () => {
  const rows = everyCommand(allCommands()).flatMap(({ path, command }) =>
    command.commands.length > 0
      ? []
      : [{ group: groupOf(path[0] ?? ""), row: `| \`signalbox ${path.join(" ")}\` | ${command.description} |` }],
  );
  const found: { group: string; row: string }[] = [];
  let group = "";
  for (const line of page.split("\n")) {
    group = /^\*\*(.+)\*\*$/.exec(line)?.[1] ?? group;
    if (line.startsWith("| `signalbox ")) found.push({ group: `${group}:`, row: line });
  }
  expect(
    found.filter(({ row }) => !rows.some((one) => one.row === row)),
    "rows of docs/cli.md that are true no more",
  ).toEqual([]);
  expect(
    rows.filter(({ row }) => !found.some((one) => one.row === row)),
    "rows that docs/cli.md lacks",
  ).toEqual([]);
  expect(found).toEqual(rows);
});

test("every command stands in a group", () => {
  const others = allCommands().commands.filter(({ name }) => groupOf(name) === "Others:");
  expect(
    others.map(({ name }) => name),
    "put it into a group of cli/groups.ts",
  ).toEqual([]);
  expect(new Set(Object.values(groups).flat()).size).toBe(Object.values(groups).flat().length);
});

test("every exit code, in the words of the help", () => {
  const lines = [...exitCodesHelp.matchAll(/^ {2}(\d+) +(.+)$/gm)].map(([, code, when]) => `| ${code} | ${when} |`);
  expect(lines).toHaveLength(8);
  expect(page).toContain(`|---|---|\n${lines.join("\n")}\n\n`);
});
