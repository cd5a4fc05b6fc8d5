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
    file: "packages/runtime/src/dispatch/take-up.ts",
    from: "mayHaveRun: true, leaseExpiresAt",
    to: "mayHaveRun: false, leaseExpiresAt",
    caughtBy: /an unsafe handler was entered/,
  },
  {
    name: "the worker hears of a call before its lease is written",
    file: "packages/runtime/src/corridor/driver.ts",
    from: "const outcome = await ledger.commit(unit);\n      if (outcome.applied) hub.stored(ticket,",
    to: "hub.stored(ticket, clock.now()); this.pump();\n      const outcome = await ledger.commit(unit);\n      if (outcome.applied) hub.stored(ticket,",
    caughtBy: /never written|told \w+, stored undefined/,
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
  {
    name: "a ledger that does not look at the revision of an approval",
    file: "test/walk/approval-shelf.ts",
    from: 'return row !== undefined && row.state === "pending" && row.revision === write.expect.revision;',
    to: "return row !== undefined;",
    caughtBy: /a closed approval was changed|the revision did not grow|counts twice/,
  },
  {
    name: "a call is decided about without the guards of its approval",
    file: "packages/runtime/src/dispatch/apply.ts",
    from: "[updateOf(entry), ...guards, ...earlier, ...writes, ...usage]",
    to: "[updateOf(entry), ...earlier, ...writes, ...usage]",
    caughtBy: /its approval \S+ is (pending|not there)|is still pending after its time/,
  },
  {
    name: "a parked call starts without its approval",
    file: "packages/runtime/src/call/admit.ts",
    from: 'state: "awaiting_approval",',
    to: 'state: "queued",',
    caughtBy: /dispatched, and its approval \S+ is pending/,
  },
  {
    name: "the instant at which an approval ends is not the one that was asked for",
    file: "packages/runtime/src/policy/approval/open.ts",
    from: "expiresAt: now + requirements.timeoutMs,",
    to: "expiresAt: now + 1_000 * requirements.timeoutMs,",
    caughtBy: /is still pending after its time/,
  },
  {
    name: "after a start nobody waits for the next stored instant",
    file: "packages/runtime/src/corridor/approvals.ts",
    from: "this.dueBy(failed ? clock.now() + sweepAgainMs : next);",
    to: "",
    caughtBy: /is still pending after its time/,
  },
  {
    name: "what has expired is not closed",
    file: "packages/runtime/src/corridor/approvals.ts",
    from: "await ledger.dueApprovals(clock.now(), sweepMax)",
    to: "[]",
    caughtBy: /is still pending after its time/,
  },
  {
    name: "a call that may not run any more starts all the same",
    file: "packages/runtime/src/dispatch/place.ts",
    from: "if (epoch === state.epoch && now < until) return true;",
    to: "if (epoch >= 0 || until >= 0) return true;",
    caughtBy: /started while \w+ was barred/,
  },
  {
    name: "people let a call go on that may not run any more",
    file: "packages/runtime/src/corridor/approvals.ts",
    from: "if (look.ok) return { step, clearance: look.clearance };",
    to: "return { step, clearance: { epoch: this.#ports.hub.epoch, until: Number.POSITIVE_INFINITY } };",
    caughtBy: /started while \w+ was barred/,
  },
  {
    name: "a frozen call goes to a worker that comes free",
    file: "packages/runtime/src/dispatch/gate.ts",
    from: "isFrozen(state, entry.live.call) || isAtCap",
    to: "isAtCap",
    caughtBy: /started while \w+ was frozen/,
  },
  {
    name: "a cap on calls at work lets a free worker's next call through",
    file: "packages/runtime/src/dispatch/place.ts",
    from: "const gate = gateOf(state);",
    to: "const gate = gateOf({ ...state, caps: { ...state.caps, any: false } });",
    caughtBy: /calls work at once, where \d+ may/,
  },
  {
    name: "a cap on calls at work does not count a call that starts with its admission",
    file: "packages/runtime/src/dispatch/hub.ts",
    from: "moved(state, born.live.call, given.live.call);",
    to: "",
    caughtBy: /calls work at once, where \d+ may/,
  },
  {
    name: "only a success is counted in the usage",
    file: "packages/runtime/src/dispatch/apply.ts",
    from: "const usage = isTerminal(call.state) ?",
    to: 'const usage = call.state === "succeeded" ?',
    caughtBy: /the usage lacks \d+ calls failed/,
  },
  {
    name: "an edit that was judged runs although it came too late",
    file: "packages/runtime/src/corridor/approvals.ts",
    from: "step.after.approval.round > all.approval.round;",
    to: "true;",
    caughtBy: /ran with \S+, approved was/,
  },
  {
    name: "changed arguments do not reach the call",
    file: "packages/runtime/src/call/waiting.ts",
    from: "set(change, { effectiveArgsJson: argsJson, argsEditedBy: editedBy, timeoutMs, resultBytesMax });",
    to: "set(change, { argsEditedBy: editedBy, timeoutMs, resultBytesMax });",
    caughtBy: /ran with \S+, approved was/,
  },
  {
    name: "a parked call ends and leaves its question behind",
    file: "packages/runtime/src/dispatch/apply.ts",
    from: "if (beside === undefined && result.ok && endsQuestion(before.call, result.live.call)) {",
    to: "if (beside === undefined && result.ok && endsQuestion(before.call, before.call)) {",
    caughtBy: /the call of an open approval had ended/,
  },
  {
    name: "retries: an unsafe call is tried again by itself",
    file: "packages/runtime/src/call/retry.ts",
    from: "|| !isSafe(call.sideEffectClass) || call.cancelRequestedAt",
    to: "|| call.cancelRequestedAt",
    caughtBy: /an unsafe call was retried by itself|an unsafe handler was entered/,
  },
  {
    name: "retries: attempts are not counted",
    file: "packages/runtime/src/call/retry.ts",
    from: "call.attempt >= policy.attempts || ",
    to: "",
    caughtBy: /attempts, where \d+ may be|and was tried again/,
  },
  {
    name: "retries: the wait is told and not kept",
    file: "packages/runtime/src/call/change.ts",
    from: "notBefore: change.now + (options.backOffMs ?? 0),",
    to: "notBefore: change.now,",
    caughtBy: /tried again \d+ ms before its instant/,
  },
  {
    name: "retries: a failed attempt leaves no record",
    file: "packages/runtime/src/call/leased.ts",
    from: 'change.effects.push({ type: "audit", draft: auditOf({ ...change.call, error }, "call.attempt_failed", change.now) });\n  set(change, { stopReason: null',
    to: "set(change, { stopReason: null",
    caughtBy: /failed attempts, of which 0 are in the audit/,
  },
];

const root = join(import.meta.dirname, "../..");
// Inside the repository, so that the copies find its packages; ignored by git.
const folder = join(root, ".mutants", "walk");
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
  for (const part of ["packages/runtime/src", "packages/worker/src", "test/walk", "test/support"]) {
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
