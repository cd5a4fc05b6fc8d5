// The figures on PostgreSQL: the echo beside its floor there, what it writes, and two replicas beside one.
import { judgeLatency, judgeThroughput, judgeWrites, type EchoPair } from "./echo-figures.ts";
import type { Spec } from "./figures.ts";
import type { SubjectName } from "./subjects.ts";
import { errorsText, floorLatencies, inMemory, latencies, missing, noLatencies, pairAt, round, show } from "./verdict.ts";

const onPostgres: EchoPair = { ours: "pg", floor: "pgFloor" };
/** How the reason begins where none can be started. */
const noServer = "no PostgreSQL server";
const concurrencies = [1, 16, 128] as const;

const specs: readonly Spec[] = [
  ...concurrencies.map((c): Spec => ({
    figure: `echo.pg.c${c}`,
    needs: at(c, "pg", "pgFloor"),
    judge: c === 1 ? judgeLatency(onPostgres) : judgeThroughput(onPostgres, c),
  })),
  ...concurrencies.map((c): Spec => ({ figure: `writes.pg.per_call.c${c}`, needs: at(c, "pg"), judge: judgeWrites("pg", c) })),
  { figure: "cpu.pg.per_call", needs: at(128, "pg", "pgFloor"), judge: tellCpu },
  { figure: "echo.pg2.c128", needs: at(128, "pg2", "pg"), judge: tellTwo },
];

/** Where there is no PostgreSQL nothing is shown, and nothing missed. */
export const postgresFigures: readonly Spec[] = specs.map((spec) => ({
  ...spec,
  judge: (evidence) => {
    const judged = spec.judge(evidence);
    return evidence.failures.get("pg")?.startsWith(noServer) === true ? { ...judged, ok: null } : judged;
  },
}));

function at(concurrency: number, ...subjects: readonly SubjectName[]): Spec["needs"] {
  return subjects.map((subject) => ({ subject, concurrency }));
}

/** No target is set for it; the processes of PostgreSQL are not in it. */
function tellCpu(evidence: Parameters<Spec["judge"]>[0]): ReturnType<Spec["judge"]> {
  const pair = pairAt(evidence, 128, "pg", "pgFloor");
  if (typeof pair === "string") return missing("us", null, null, pair);
  const { series, floor } = pair;
  if (series.cpuPerCall === undefined || floor.cpuPerCall === undefined) return missing("us", null, null, "no CPU time was read");
  return {
    ...noLatencies(series),
    value: round(series.cpuPerCall),
    unit: "us",
    target: null,
    ok: null,
    floor: { value: round(floor.cpuPerCall) },
    ratio: round(series.cpuPerCall / floor.cpuPerCall),
    floor_spread: round(floor.spread.cpuPerCall),
  };
}

/** Two replicas on one machine share its cores with their database: what comes of that is told, not judged. */
function tellTwo(evidence: Parameters<Spec["judge"]>[0]): ReturnType<Spec["judge"]> {
  const pair = pairAt(evidence, 128, "pg2", "pg");
  if (typeof pair === "string") return missing("calls/s", null, null, pair);
  const { series, floor: one } = pair;
  const words = [`one replica p50 ${show(one.p50)} ms`, errorsText(series), inMemory(evidence)].filter((word) => word !== undefined);
  return {
    ...latencies(series),
    value: round(series.callsPerSecond),
    unit: "calls/s",
    target: null,
    ok: null,
    floor: { value: round(one.callsPerSecond), ...floorLatencies(one) },
    ratio: round(series.callsPerSecond / one.callsPerSecond),
    floor_spread: round(one.spread.callsPerSecond),
    reason: words.join("; "),
  };
}
