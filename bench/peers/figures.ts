// The figures of peers: each one's calls a second at one concurrency, and how many ours are of the same rounds.
import type { Figure } from "../figures.ts";
import type { Measured } from "../rounds.ts";
import { seriesOf } from "../series.ts";
import type { PeerName, SubjectName } from "../subjects.ts";
import { errorsText, floorLatencies, latencies, missing, round, show, verdict } from "../verdict.ts";

export const peerNames: readonly PeerName[] = ["restate", "bullmq", "graphile-worker", "pg-boss", "dbos"];
export const peerConcurrencies = [1, 16, 128] as const;

/** Ours with the same kind of store: a file beside those that bring their own, PostgreSQL beside those that need it. */
export const oursBeside: Readonly<Record<PeerName, "signalbox" | "pg">> = {
  restate: "signalbox",
  bullmq: "signalbox",
  "graphile-worker": "pg",
  "pg-boss": "pg",
  dbos: "pg",
};

/** Ours / the peer's, from 16 calls in flight on. */
const ratioMin: Partial<Record<PeerName, number>> = { restate: 2, bullmq: 1 };

export interface PeerEvidence {
  readonly measured: readonly Measured[];
  /** Why one could not be installed, started or measured. */
  readonly failures: ReadonlyMap<SubjectName, string>;
  /** What each is: versions, and what makes its commits durable. */
  readonly words: ReadonlyMap<PeerName, string>;
}

/** @param only the beginning of a peer's name; all without it */
export function peersFor(only: string): readonly PeerName[] {
  return peerNames.filter((name) => name.startsWith(only));
}

export function peerFigures(names: readonly PeerName[], evidence: PeerEvidence): readonly Figure[] {
  return names.flatMap((name) => peerConcurrencies.map((concurrency) => peerFigure(name, concurrency, evidence)));
}

function peerFigure(name: PeerName, concurrency: number, { measured, failures, words }: PeerEvidence): Figure {
  const figure = `peer.${name}.c${concurrency}`;
  const ours = oursBeside[name];
  const min = concurrency === 1 ? undefined : ratioMin[name];
  const target = min === undefined ? null : `ours >= ${min} x it`;
  const theirs = seriesOf(measured, name, concurrency);
  if (theirs === undefined) return { figure, ...missing("calls/s", target, null, failures.get(name) ?? "no call succeeded") };
  const told = { ...latencies(theirs), value: round(theirs.callsPerSecond), unit: "calls/s", target };
  const about = [words.get(name), errorsText(theirs)].filter((word) => word !== undefined);
  const series = seriesOf(measured, ours, concurrency);
  if (series === undefined) {
    const why = `nothing of ours to compare with: ${failures.get(ours) ?? "no call succeeded"}`;
    return { figure, ...told, ok: null, reason: [...about, why].join("; ") };
  }
  const ratio = series.callsPerSecond / theirs.callsPerSecond;
  const compared = {
    ...told,
    floor: { value: round(series.callsPerSecond), ...floorLatencies(series) },
    ratio: round(ratio),
    floor_spread: round(series.spread.callsPerSecond),
  };
  const judged = verdict(compared, [min !== undefined && ratio < min && `ours are ${show(ratio)} x it`, errorsText(series)]);
  const reason = [judged.reason, ...about].filter((word) => word !== undefined).join("; ");
  return { figure, ...judged, ok: target === null ? null : judged.ok, ...(reason === "" ? {} : { reason }) };
}
