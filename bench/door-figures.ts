// The figures of the doors for callers: what a call costs over REST, over gRPC, and over one gRPC stream, of one runtime.
import type { Spec } from "./figures.ts";
import { seriesOf, type Series } from "./series.ts";
import type { SubjectName } from "./subjects.ts";
import { errorsText, floorLatencies, latencies, missing, pairAt, round, show, whyMissing, type Judged } from "./verdict.ts";

const concurrencies = [1, 16, 128] as const;
const rest = "signalbox";

export const doorFigures: readonly Spec[] = [
  ...concurrencies.map((c): Spec => ({ figure: `door.rest.c${c}`, needs: [{ subject: rest, concurrency: c }], judge: judgeRest(c) })),
  ...concurrencies.map((c) => beside(`door.grpc.c${c}`, "grpc", c)),
  beside("door.grpc.many.c128", "many", 128),
];

function judgeRest(concurrency: number): Spec["judge"] {
  return (evidence) => {
    const series = seriesOf(evidence.measured, rest, concurrency);
    if (series === undefined) return missing("calls/s", null, null, whyMissing(evidence, rest));
    return told(series, []);
  };
}

/** No target: what is to be reached stands with the echo figures, and this says what the choice of a door costs. */
function beside(figure: string, subject: SubjectName, concurrency: number): Spec {
  return {
    figure,
    needs: [
      { subject: rest, concurrency },
      { subject, concurrency },
    ],
    judge: (evidence) => {
      const pair = pairAt(evidence, concurrency, subject, rest);
      if (typeof pair === "string") return missing("calls/s", null, null, pair);
      const { series, floor } = pair;
      const words = [`p50 is ${show(series.p50 / floor.p50)} x REST's`, cpuWords(series, floor)];
      return {
        ...told(series, words),
        floor: { value: round(floor.callsPerSecond), ...floorLatencies(floor), ...cpuOf(floor) },
        ratio: round(series.callsPerSecond / floor.callsPerSecond),
        floor_spread: round(floor.spread.callsPerSecond),
      };
    },
  };
}

function told(series: Series, words: readonly (string | undefined)[]): Judged {
  const said = [...words, errorsText(series)].filter((one) => one !== undefined);
  return {
    ...latencies(series),
    ...cpuOf(series),
    value: round(series.callsPerSecond),
    unit: "calls/s",
    target: null,
    ok: null,
    ...(said.length === 0 ? {} : { reason: said.join("; ") }),
  };
}

function cpuOf({ cpuPerCall }: Series): { readonly cpu_us?: number } {
  return cpuPerCall === undefined ? {} : { cpu_us: round(cpuPerCall) };
}

function cpuWords({ cpuPerCall: ours }: Series, { cpuPerCall: theirs }: Series): string | undefined {
  if (ours === undefined || theirs === undefined) return undefined;
  return `CPU a call ${show(ours)} us, REST ${show(theirs)} us (${show(ours / theirs)} x)`;
}
