// Verdicts on peers written by hand: beside ours of the same kind of store, and a line for whatever could not be measured.
import { expect, test } from "vitest";
import type { Measured } from "../rounds.ts";
import { peerFigures, peersFor, type PeerEvidence } from "./figures.ts";

const nothing: PeerEvidence = { measured: [], failures: new Map(), words: new Map() };

function slice(subject: Measured["subject"], concurrency: number, callsPerSecond: number, more: Partial<Measured> = {}): Measured {
  return {
    subject,
    concurrency,
    calls: 1_000,
    errors: 0,
    errorCodes: {},
    elapsedMs: 1_000,
    callsPerSecond,
    p50Us: 1_000,
    p95Us: 2_000,
    p99Us: 3_000,
    maxUs: 9_000,
    othersPercent: 0,
    ...more,
  };
}

test("a peer stands beside ours, and the ratio says how many times as many ours are", () => {
  const measured = [1, 16, 128].flatMap((c) => [slice("signalbox", c, 1_500), slice("pg", c, 9_000), slice("restate", c, c === 16 ? 750 : 1_000)]);
  const words = new Map([["restate", "restate 1.2.3"]] as const);
  const [one, some, many] = peerFigures(["restate"], { ...nothing, measured, words });
  expect(one).toMatchObject({ figure: "peer.restate.c1", value: 1_000, target: null, ok: null, ratio: 1.5, floor: { value: 1_500 } });
  expect(some).toMatchObject({ figure: "peer.restate.c16", value: 750, ok: true, ratio: 2, reason: "restate 1.2.3" });
  expect(many).toMatchObject({ figure: "peer.restate.c128", ok: false, ratio: 1.5, reason: "ours are 1.50 x it; restate 1.2.3" });
});

test("peers on PostgreSQL stand beside ours on PostgreSQL, without a target", () => {
  const measured = [slice("signalbox", 16, 1_000), slice("pg", 16, 600), slice("pg-boss", 16, 1_200)];
  expect(peerFigures(["pg-boss"], { ...nothing, measured })[1]).toMatchObject({ ok: null, target: null, ratio: 0.5, floor: { value: 600 } });
});

test("one that is not there says why, and so does a comparison without ours", () => {
  const failures = new Map([["bullmq", "no Redis server here"]] as const);
  const lines = peerFigures(["bullmq", "dbos"], { ...nothing, failures, measured: [slice("dbos", 1, 500)] });
  expect(lines.map(({ figure, ok }) => [figure, ok])).toEqual([
    ["peer.bullmq.c1", null],
    ["peer.bullmq.c16", null],
    ["peer.bullmq.c128", null],
    ["peer.dbos.c1", null],
    ["peer.dbos.c16", null],
    ["peer.dbos.c128", null],
  ]);
  expect(lines[0]).toMatchObject({ value: null, reason: "no Redis server here" });
  expect(lines[3]).toMatchObject({ value: 500, reason: "nothing of ours to compare with: no call succeeded" });
});

test("a peer that ours do not keep up with through errors is not beaten", () => {
  const measured = [slice("signalbox", 16, 9_000, { errors: 3, errorCodes: { timeout: 3 } }), slice("bullmq", 16, 1_000)];
  expect(peerFigures(["bullmq"], { ...nothing, measured })[1]).toMatchObject({ ok: false, reason: "3 errors: timeout 3" });
});

test("peers are chosen by how their names begin", () => {
  expect([peersFor("re"), peersFor("mysql")]).toEqual([["restate"], []]);
});
