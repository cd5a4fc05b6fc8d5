// Breaks one guard at a time in a copy of the sources and shows that the walk finds it.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Part of the broken rule's words. */
  readonly caughtBy: RegExp;
}

const mutants: readonly Mutant[] = [
  {
    name: "a result under an old fence settles the call",
    file: "packages/runtime/src/call/leased.ts",
    from: "if (found.fence !== live.call.fence) return late(live, found, now);",
    to: "",
    caughtBy: /the ledger holds another result/,
  },
  {
    name: "the worker starts an unsafe handler without Go",
    file: "packages/worker/src/core-calls.ts",
    from: "if (isSafe(invoke.sideEffectClass) && !invoke.needsGo) start(state, live, nowMs);",
    to: "start(state, live, nowMs);",
    caughtBy: /an unsafe handler was entered/,
  },
  {
    name: "a settled call can be settled again",
    file: "packages/runtime/src/call/step.ts",
    from: "  succeeded: settled,",
    to: "  succeeded: { ...leased },",
    caughtBy: /settled call was changed|ends in its events|told/,
  },
  {
    name: "an unsafe call whose lease was lost is queued again",
    file: "packages/runtime/src/call/leased.ts",
    from: "if (!isSafe(call.sideEffectClass)) return parkOrFail(change, outcome);",
    to: "",
    caughtBy: /an unsafe handler was entered/,
  },
  {
    name: "after a restart a dispatched call counts as not started",
    file: "packages/runtime/src/dispatch/hub.ts",
    from: "mayHaveRun: true, leaseExpiresAt",
    to: "mayHaveRun: false, leaseExpiresAt",
    caughtBy: /an unsafe handler was entered/,
  },
  {
    name: "the worker hears of a call before its lease is written",
    file: "packages/runtime/src/corridor/driver.ts",
    from: "const outcome = await ledger.commit(unit);\n      if (outcome.applied) hub.stored(ticket,",
    to: "hub.stored(ticket, clock.now()); this.pump();\n      const outcome = await ledger.commit(unit);\n      if (outcome.applied) hub.stored(ticket,",
    caughtBy: /never written/,
  },
  {
    name: "a repeated result is acknowledged before the first one is stored",
    file: "packages/runtime/src/dispatch/apply.ts",
    from: 'result.effects.filter((one) => one.type !== "ack" || one.verdict !== "stored")',
    to: "result.effects",
    caughtBy: /acknowledged before it was stored/,
  },
  {
    name: "a lease that nobody took up keeps its fence",
    file: "packages/runtime/src/call/leased.ts",
    from: "set(change, { mayHaveRun: false });\n  endLease(change, reason, { raiseFence: true });",
    to: "set(change, { mayHaveRun: false });\n  endLease(change, reason, { raiseFence: false });",
    caughtBy: /ended twice|entered the handler twice|an unsafe handler was entered|never ended|stranded/,
  },
];

const root = join(import.meta.dirname, "../..");
// Inside the repository, so that the copies find its packages; ignored by git.
const folder = join(root, ".mutants");
const steps = "1500000";

function walk(at: string, extra: readonly string[] = []): Promise<{ code: number; broken: readonly string[] }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(at, "test/walk/run.ts"), "--json", "--steps", steps, ...extra], (error, stdout) => {
      const report = JSON.parse(stdout || "{}") as { failed?: { broken: string[] } | null };
      resolve({ code: typeof error?.code === "number" ? error.code : 0, broken: report.failed?.broken ?? [] });
    });
  });
}

async function plant(mutant: Mutant, at: string): Promise<void> {
  for (const part of ["packages/runtime/src", "packages/worker/src", "test/walk"]) {
    await cp(join(root, part), join(at, part), { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
  }
  const path = join(at, mutant.file);
  const text = await readFile(path, "utf8");
  expect(text.split(mutant.from), `${mutant.file} holds the guard once`).toHaveLength(2);
  await writeFile(path, text.replace(mutant.from, mutant.to));
}

describe("mutants of the guards", () => {
  beforeAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.for(mutants)("$name", { timeout: 120_000 }, async (mutant) => {
    const at = join(folder, String(mutants.indexOf(mutant)));
    await plant(mutant, at);
    const { code, broken } = await walk(at);
    expect(code, "the walk must fail").toBe(1);
    expect(broken.join("\n")).toMatch(mutant.caughtBy);
  });

  test("a ledger that does not check its guards", { timeout: 120_000 }, async () => {
    const { code, broken } = await walk(root, ["--no-guards"]);
    expect(code).toBe(1);
    expect(broken.join("\n")).toMatch(/settled call was changed|event seq \d+ follows/);
  });
});
