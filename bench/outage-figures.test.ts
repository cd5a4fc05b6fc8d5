// The verdicts on outages, at their bounds.
import { expect, test } from "vitest";
import { longestGap } from "./avail.ts";
import { endsOf } from "./open-calls.ts";
import { outageFigures, type OutageEvidence } from "./outage-figures.ts";

function judge(figure: string, evidence: OutageEvidence) {
  const found = outageFigures.find((one) => one.figure === figure);
  if (found === undefined) throw new Error(`there is no figure ${figure}`);
  return found.judge(evidence, (lane) => `${lane} broke`);
}

const recover = { calls: 10_000, readyMs: 2_000, settledMs: 2_999, fault: undefined };

test("recovery: the start and what comes after the lease time, together, with every call where it belongs", () => {
  expect(judge("recover.10k", { recover })).toMatchObject({ value: 4.999, ok: true, n: 10_000, reason: "ready after 2000 ms, settled 2999 ms after the lease time" });
  expect(judge("recover.10k", { recover: { ...recover, settledMs: 3_000 } })).toMatchObject({ value: 5, ok: false });
  // Settled before the lease time was over, as far as two clocks can tell.
  expect(judge("recover.10k", { recover: { ...recover, settledMs: -40 } })).toMatchObject({ value: 2, ok: true });
  const faulty = { ...recover, calls: 9_999, fault: "one stands elsewhere" };
  expect(judge("recover.10k", { recover: faulty }).reason).toBe("only 9999 calls were open; one stands elsewhere; ready after 2000 ms, settled 2999 ms after the lease time");
  expect(judge("recover.10k", {})).toMatchObject({ value: null, ok: false, reason: "recover broke" });
  expect(endsOf(10_000)).toEqual({ queued: 7_500, indeterminate: 2_500 });
});

test("a killed replica: no request fails twice, and nobody waits for three seconds", () => {
  const avail = { requests: 9_000, failed: 0, retried: 12, slowestMs: 1_500, gapsMs: [100, 250, 2_999] };
  expect(judge("avail.kill_replica", { avail })).toMatchObject({ value: 2.999, ok: true, n: 3, errors: 0, reason: "9000 requests, 12 retried, the slowest 1500 ms, 3 kills" });
  expect(judge("avail.kill_replica", { avail: { ...avail, gapsMs: [3_000] } })).toMatchObject({ ok: false });
  expect(judge("avail.kill_replica", { avail: { ...avail, failed: 1 } })).toMatchObject({ ok: false, errors: 1 });
  expect(judge("avail.kill_replica", {})).toMatchObject({ value: null, ok: null, reason: "avail broke" });
});

test("the longest gap is between neighbours in time, whatever the order; without answers it has no end", () => {
  expect(longestGap([10, 500, 20, 100])).toBe(400);
  expect(longestGap([10])).toBe(Number.POSITIVE_INFINITY);
});
