// Breaks one guard at a time in a copy of the sources and shows that the simulator finds it, by the rule that it breaks.
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
  /** Of one that few episodes find: the one that does. */
  readonly episode?: readonly string[];
  /** It is looked for among sessions. */
  readonly sessions?: true;
}

const mutants: readonly Mutant[] = [
  {
    name: "the worker starts an unsafe handler without Go",
    file: "packages/worker/src/core-calls.ts",
    from: "if (isSafe(invoke.sideEffectClass) && !invoke.needsGo) start(state, live, nowMs);",
    to: "start(state, live, nowMs);",
    caughtBy: /an unsafe handler was entered/,
  },
  {
    name: "a taken over lease counts as not started",
    file: "packages/runtime/src/dispatch/take-up.ts",
    from: "mayHaveRun: true, leaseExpiresAt",
    to: "mayHaveRun: false, leaseExpiresAt",
    caughtBy: /an unsafe handler was entered/,
  },
  {
    name: "a twin that has left memory leads still",
    file: "packages/runtime/src/dispatch/sharing.ts",
    from: "  forget(state, entry);\n  leave(state, entry, now);",
    to: "  forget(state, entry);",
    caughtBy: /stranded in queued|a ghost/,
  },
  {
    name: "a parked call stays in memory",
    file: "packages/runtime/src/dispatch/sharing.ts",
    from: "if (!queued && !isParked(stored)) return;",
    to: "if (!queued) return;",
    caughtBy: /a ghost in the memory/,
  },
  {
    name: "the ledger gives the largest tag first",
    file: "test/sim/shared-claims.ts",
    from: "a.startTag - b.startTag;",
    to: "b.startTag - a.startTag;",
    caughtBy: /was passed over/,
  },
  {
    name: "what a worker brings from another replica is not taken over",
    file: "packages/runtime/src/corridor/replicas/replicas.ts",
    from: "for (const call of held) await takeUp(this.#ports, call);",
    to: "void held;",
    caughtBy: /was told to drop its lease/,
  },
  {
    name: "the ledger gives nothing that a worker brings",
    file: "test/sim/shared-claims.ts",
    from: "  return held.map((row) => store.give(row, replica));",
    to: "  return held.slice(held.length);",
    caughtBy: /was told to drop its lease/,
  },
  {
    name: "a worker whose calls could not be taken over is heard all the same",
    file: "packages/runtime/src/corridor/replicas/replicas.ts",
    from: "return register.inFlight.length === 0;",
    to: "return true;",
    caughtBy: /was told to drop its lease/,
  },
  {
    name: "memory keeps an older lease than the one that a worker brings",
    file: "packages/runtime/src/corridor/replicas/take-up.ts",
    from: "return here.fence < row.fence;",
    to: "return false;",
    caughtBy: /was told to drop its lease/,
    episode: ["--seed", "20058"],
  },
  {
    name: "what nothing has become of is not given back",
    file: "packages/runtime/src/corridor/replicas/returns.ts",
    from: "await ledger.release(replica, calls);",
    to: "void [ledger, replica];",
    caughtBy: /which does not know of it/,
  },
  {
    name: "what a claim got whose answer was lost is forgotten",
    file: "packages/runtime/src/corridor/replicas/returns.ts",
    from: "      this.#unsure = true;\n      throw error;",
    to: "      throw error;",
    caughtBy: /which does not know of it/,
    episode: ["--seed", "77"],
  },
  {
    name: "what waits with a dead replica stays with it",
    file: "test/sim/shared-store.ts",
    from: "if (row.state === \"queued\" && row.replica !== null && !this.lives(row.replica)) this.give(row, null);",
    to: "void row;",
    caughtBy: /which is dead/,
  },
  {
    name: "nobody looks for what a lost wake-up would have told",
    file: "packages/runtime/src/corridor/replicas/sweeps.ts",
    from: "      await this.#tellWaiting();\n",
    to: "",
    caughtBy: /is not told/,
  },
  {
    name: "a ledger that does not ask whose the call is",
    file: "test/walk/sim-ledger.ts",
    from: " && (replica === undefined || row.replica === replica);",
    to: " && replica !== \"\";",
    caughtBy: /as its own/,
  },
  {
    name: "a change that does not say whose it takes the call for",
    file: "packages/runtime/src/dispatch/apply.ts",
    from: "fence: before.fence, replica: before.replica }",
    to: "fence: before.fence }",
    caughtBy: /as its own/,
  },
  {
    name: "a word on a question meets a call that is under another",
    file: "packages/runtime/src/dispatch/apply.ts",
    from: "beside?.under !== undefined && beside.under",
    to: "beside?.under !== undefined && beside.under === \"\" && beside.under",
    caughtBy: /had ended or was under another/,
    episode: ["--seed", "9069", "--lose-answers", "0"],
  },
  {
    name: "a ledger that checks no guard",
    file: "test/walk/sim-ledger.ts",
    from: "  guards = true;",
    to: "  guards = false;",
    caughtBy: /settled call was changed|event seq|ended twice|the fence went back/,
  },
  {
    name: "a ledger that gives a session to whoever asks",
    file: "test/walk/session-shelf.ts",
    from: " && (stored.leaseExpiresAt ?? 0) > now) return undefined;",
    to: " && now < 0) return undefined;",
    caughtBy: /was claimed by .* while the lease of .* ran/,
    sessions: true,
  },
  {
    name: "a ledger that takes what an old fence writes",
    file: "test/walk/session-shelf.ts",
    from: "  guards = true;",
    to: "  guards = false;",
    caughtBy: /under the fence \d+ after/,
    episode: ["--seed", "174"],
    sessions: true,
  },
  {
    name: "a claim that brings no new fence",
    file: "test/walk/session-shelf.ts",
    from: "fence: stored.fence + 1, replica,",
    to: "fence: stored.fence, replica,",
    caughtBy: /which is not new/,
    sessions: true,
  },
  {
    name: "a batch that is taken up again does not know what was told of it",
    file: "packages/runtime/src/corridor/sessions/tools.ts",
    from: "{ saidStarted: started.has(call.callId),",
    to: "{ saidStarted: false,",
    caughtBy: /was told to start \d+ times/,
    sessions: true,
  },
  {
    name: "nobody looks for sessions that were left",
    file: "packages/runtime/src/corridor/sessions/driver.ts",
    from: "await ledger.idleSessions(clock.now(), sessionTimes.sweepMax)) this.kick(tenant, sessionId);",
    to: "await ledger.idleSessions(clock.now(), sessionTimes.sweepMax)) void [tenant, sessionId];",
    caughtBy: /is stranded in|entries wait for it|has its lease/,
    sessions: true,
  },
];

const root = join(import.meta.dirname, "../..");
// Inside the repository, so that the copies find its packages; ignored by git.
const folder = join(root, ".mutants", "sim");
const steps = "2500000";

function simulate(at: string, { episode, sessions }: Mutant): Promise<{ code: number; broken: readonly string[] }> {
  return new Promise((resolve) => {
    const among = sessions === undefined ? [] : ["--sessions", "--calls", "30"];
    const asked = [...among, "--steps", ...(episode === undefined ? [steps] : ["1", ...episode])];
    execFile(process.execPath, [join(at, "test/sim/run.ts"), "--json", ...asked], (error, stdout) => {
      const report = JSON.parse(stdout || "{}") as { failed?: { broken: string[] } | null };
      resolve({ code: typeof error?.code === "number" ? error.code : 0, broken: report.failed?.broken ?? [] });
    });
  });
}

async function plant(mutant: Mutant, at: string): Promise<void> {
  for (const part of ["packages/runtime/src", "packages/worker/src", "test/sim", "test/walk", "test/support"])
    await cp(join(root, part), join(at, part), { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
  const path = join(at, mutant.file);
  const text = await readFile(path, "utf8");
  expect(text.split(mutant.from), `${mutant.file} holds the guard once`).toHaveLength(2);
  await writeFile(path, text.replace(mutant.from, mutant.to));
}

describe("mutants of the guards, between replicas", () => {
  beforeAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.for(mutants)("$name", { timeout: 120_000 }, async (mutant) => {
    const at = join(folder, String(mutants.indexOf(mutant)));
    await plant(mutant, at);
    const { code, broken } = await simulate(at, mutant);
    expect(code, "the simulator must fail").toBe(1);
    expect(broken.join("\n")).toMatch(mutant.caughtBy);
  });
});
