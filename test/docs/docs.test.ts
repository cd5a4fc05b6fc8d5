// The documentation is true: every block is cut from a file or run, and every page is played from top to bottom.
import { describe, expect, test } from "vitest";
import { allCommands } from "../support/command-line.ts";
import { commandsOf, unknownCommands } from "./commands.ts";
import { brokenLinks } from "./links.ts";
import { allPages, isPlayed, partsOf, readRepo, thereInRepo, whyNot } from "./pages.ts";
import { runPage, type PageEnd } from "./page.ts";
import { unproven } from "./proof.ts";
import { openShell } from "./shell.ts";

/** With the time that a page waits for its turn. */
const pageMsMax = 300_000;

describe("every block is proven", () => {
  test.each(allPages())("%s", (page) => {
    expect(unproven(partsOf(page), readRepo)).toEqual([]);
  });
});

test.each(allPages())("nobody left %s half merged", (page) => {
  expect(readRepo(page)).not.toMatch(/^(?:<{7}|>{7}) /m);
});

test.each(allPages())("every link of %s leads somewhere", (page) => {
  expect(brokenLinks(page, readRepo(page) ?? "", thereInRepo)).toEqual([]);
});

describe("every command that is named exists, with its flags", () => {
  const commands = commandsOf(allCommands());

  test.each(allPages())("%s", (page) => {
    expect(unknownCommands(readRepo(page) ?? "", commands)).toEqual([]);
  });
});

/** One more than the smallest machine has cores: a page also waits, for leases and for time-outs. */
const inTurn = turns(3);

describe.concurrent("every page can be played", { timeout: pageMsMax }, () => {
  test.for(allPages().filter((page) => isPlayed(partsOf(page))))("%s", async (page, context) => {
    const end = await inTurn(() => play(page));
    for (const line of end.passedOver) await context.annotate(`passed over: ${line}`);
    context.expect(end.problems.join("\n")).toBe("");
  });
});

async function play(page: string): Promise<PageEnd> {
  const shell = await openShell();
  try {
    return await runPage(partsOf(page), shell, { whyNot, update: false });
  } finally {
    await shell.close();
  }
}

function turns(atOnceMax: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let busy = 0;
  return async (work) => {
    if (busy === atOnceMax) await new Promise<void>((resolve) => waiting.push(resolve));
    else busy += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) busy -= 1;
      else next();
    }
  };
}
