// Breaks one rule at a time in a copy of the sources and shows that the search finds it, and that either guard of two is enough.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

interface Mutant {
  readonly name: string;
  readonly changes: readonly Change[];
  readonly options?: readonly string[];
  /** Part of a broken promise's words; null: nothing may break. */
  readonly caughtBy: RegExp | null;
}

const approvals = "packages/runtime/src/corridor/approvals.ts";
const machine = "packages/runtime/src/policy/approval";
const shelf = "test/walk/approval-shelf.ts";

const noGuard: Change = {
  file: shelf,
  from: 'row.state === "pending" && row.revision === write.expect.revision',
  to: 'row.state === "pending"',
};
const noLock: Change = {
  file: approvals,
  from: "return this.#locks.run(`${tenant}\\n${approvalId}`, () => this.#vote(",
  to: "return (() => this.#vote(",
};
const callNow: Change = { file: approvals, from: "tenant, approvalId, cast));", to: "tenant, approvalId, cast))();" };
const oneCalmReplica = ["--replicas", "1", "--calm"];
const unexplained = /no order explains/;

const mutants: readonly Mutant[] = [
  { name: "no revision is asked", changes: [noGuard], caughtBy: unexplained },
  {
    name: "neither lock nor revision, on one replica",
    changes: [noGuard, noLock, callNow],
    options: oneCalmReplica,
    caughtBy: unexplained,
  },
  { name: "on one replica the lock alone is enough", changes: [noGuard], options: oneCalmReplica, caughtBy: null },
  { name: "the revision alone is enough", changes: [noLock, callNow], caughtBy: null },
  {
    name: "a late vote counts",
    changes: [{ file: `${machine}/step.ts`, from: "    vote: voteTooLate,", to: "    vote," }],
    caughtBy: unexplained,
  },
  {
    name: "a repeated vote counts twice",
    changes: [
      {
        file: `${machine}/pending.ts`,
        from: "if (earlier !== undefined) {",
        to: "if (earlier !== undefined && !isSameVote(earlier, cast)) {",
      },
    ],
    caughtBy: unexplained,
  },
  {
    name: "an edit keeps the votes on the arguments before it",
    changes: [{ file: `${machine}/pending.ts`, from: "round: approval.round + 1,", to: "round: approval.round," }],
    caughtBy: unexplained,
  },
  {
    name: "a vote on old arguments counts for the new ones",
    changes: [
      {
        file: `${machine}/pending.ts`,
        from: "if (cast.argsHash !== approval.argsHash) return",
        to: "if (cast.argsHash === '') return",
      },
    ],
    caughtBy: unexplained,
  },
  {
    name: "an expiry wins over a stored approval",
    changes: [
      { file: `${machine}/step.ts`, from: "  approved: closed,", to: "  approved: { ...closed, due: lapse }," },
      { file: shelf, from: 'row.state === "pending" && row.revision', to: "row.revision" },
      // The call's own guard would hold it up still.
      {
        file: "packages/runtime/src/corridor/approval-unit.ts",
        from: "} else call = happeningOf",
        to: '} else if (before?.state !== "approved") call = happeningOf',
      },
    ],
    caughtBy: unexplained,
  },
  {
    name: "a call goes on with other arguments than people saw",
    changes: [{ file: approvals, from: "taken ? approvedArgs(edit, event.cast) : null", to: "null" }],
    caughtBy: /the call holds|people approved/,
  },
  {
    name: "a cancelled call leaves its question open",
    changes: [
      {
        file: approvals,
        from: "const unit = step === undefined ? nothing : unitOf(all?.approval, step, null);",
        to: "const unit = nothing; void step;",
      },
    ],
    caughtBy: unexplained,
  },
  {
    name: "a replica that has never heard of a call says that it stops it",
    changes: [
      {
        file: "packages/runtime/src/corridor/executions.ts",
        from: "if (isParked(row)) await storable(ports.driver.adopt(row));",
        to: "",
      },
    ],
    caughtBy: unexplained,
  },
  {
    name: "a replica decides by what its memory had before another one's edit",
    changes: [{ file: "test/linear/sim-store.ts", from: " && row.eventSeq === behind(write.row, unit)", to: "" }],
    caughtBy: /the call holds|people approved/,
  },
];

const root = join(import.meta.dirname, "../..");
// Inside the repository, so that the copies find its packages; a folder of this name is ignored by git.
const folder = join(root, "test/.mutants");
const parts = ["packages/runtime/src", "test/walk", "test/support", "test/linear"];
const runs = "1500";
/** Enough to be sure of what nothing may find. */
const quietRuns = "400";

function hunt(at: string, options: readonly string[]): Promise<{ code: number; broken: readonly string[] }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(at, "test/linear/run.ts"), "--json", "--no-shrink", ...options],
      (error, stdout) => {
        const report = JSON.parse(stdout || "{}") as { failed?: { broken: string[] } | null };
        resolve({ code: typeof error?.code === "number" ? error.code : 0, broken: report.failed?.broken ?? [] });
      },
    );
  });
}

const isCopied = (path: string): boolean => !path.endsWith(".test.ts");

async function plant({ changes }: Mutant, at: string): Promise<void> {
  for (const part of parts) await cp(join(root, part), join(at, part), { recursive: true, filter: isCopied });
  for (const { file, from, to } of changes) {
    const text = await readFile(join(at, file), "utf8");
    expect(text.split(from), `${file} says once: ${from}`).toHaveLength(2);
    await writeFile(join(at, file), text.replace(from, to));
  }
}

describe("mutants of the decisions", () => {
  beforeAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.for(mutants)("$name", { timeout: 180_000 }, async (mutant) => {
    const at = join(folder, String(mutants.indexOf(mutant)));
    await plant(mutant, at);
    const { options = [], caughtBy } = mutant;
    const { code, broken } = await hunt(at, [...options, "--runs", caughtBy === null ? quietRuns : runs]);
    if (caughtBy === null) {
      expect({ code, broken }).toEqual({ code: 0, broken: [] });
    } else {
      expect(broken.join("\n"), "the search must find it").toMatch(caughtBy);
      expect(code).toBe(1);
    }
  });
});
