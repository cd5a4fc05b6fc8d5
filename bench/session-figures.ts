// The figure of sessions: what the runtime adds to one step of an agent.
import type { SessionTimings } from "./sessions.ts";
import { missing, show, sortedMs, verdict, type Judged } from "./verdict.ts";

const stepP95MsMax = 8;

/** A step is a completion, its call in a worker process, and what both are recorded with. */
export function judgeSessionStep(sessions: SessionTimings | undefined, why: string): Judged {
  const target = `p95 < ${stepP95MsMax} ms`;
  if (sessions === undefined) return missing("ms", target, false, why);
  const told = sortedMs(sessions.stepMs);
  const p95 = told.p95 ?? Number.POSITIVE_INFINITY;
  return verdict({ ...told, value: told.p95, unit: "ms", target, errors: 0 }, [p95 >= stepP95MsMax && `p95 is ${show(p95)} ms`]);
}
