// Verdicts on claims written by hand: each way by itself, and a claim that brought the wrong calls is a miss however quick it was.
import { expect, test } from "vitest";
import type { Claims, ClaimTimings } from "./claims.ts";
import { fairFigures } from "./fair-figures.ts";
import type { Judged } from "./verdict.ts";

function judge(figure: string, claims?: Claims): Judged {
  const found = fairFigures.find((candidate) => candidate.figure === figure);
  if (found === undefined) throw new Error(`no figure ${figure}`);
  return found.judge(claims === undefined ? {} : { claims }, () => "no PostgreSQL server here");
}

const way = (limit: number, atOnce: boolean, ms: readonly number[], errors = 0): ClaimTimings => ({ limit, atOnce, ms, errors });

test("every way of claiming is held against the target by itself", () => {
  const timings = [way(1, false, [1, 1.5, 2]), way(1, true, [1, 2, 2.5]), way(64, false, [12, 12.5, 12.8])];
  const claims: Claims = { queued: 100_000, tenants: 1_000, timings };
  expect(judge("claim.100k.1", claims)).toMatchObject({ value: 2, p50: 1.5, max: 2, n: 3, ok: true });
  expect(judge("claim.100k.1.both", claims)).toMatchObject({ value: 2.5, ok: false, reason: "p95 is 2.50 ms, 2.50 ms a call" });
  expect(judge("claim.100k.64", claims)).toMatchObject({ ok: false, reason: "p95 is 12.8 ms, 0.200 ms a call" });
  expect(judge("claim.100k.8", claims)).toMatchObject({ value: null, ok: false });
});

test("claims that went wrong, and a line that was short, are misses; without a server there is no verdict", () => {
  expect(judge("claim.100k.1", { queued: 100_000, tenants: 1_000, timings: [way(1, false, [1], 2)] })).toMatchObject({ ok: false, errors: 2 });
  expect(judge("claim.100k.1", { queued: 99_999, tenants: 1_000, timings: [way(1, false, [1])] })).toMatchObject({ ok: false });
  expect(judge("claim.100k.1")).toMatchObject({ value: null, ok: null, reason: "no PostgreSQL server here" });
});
