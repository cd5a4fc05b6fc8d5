// The figures of boxes: targets, and the verdict on the times that bench/boxes.ts, boxes-wasm.ts and boxes-beside.ts took.
import type { Figure } from "./figures.ts";
import { percentile } from "./statistics.ts";

/** Times of one thing, in the order in which they were taken, ms. */
export interface Timed {
  readonly ms: readonly number[];
  readonly errors: number;
  /** Runs that were to find a box ready and found none: they are in `ms` as the cold starts that their callers got. */
  readonly missed?: number;
}

/** How many stood at one time. */
export interface Alive {
  readonly asked: number;
  readonly together: number;
  readonly failed: number;
  /** Until the last one was up. */
  readonly tookMs: number;
}

export interface NativeTimings {
  readonly cold: Timed;
  readonly warm: Timed;
  readonly teardown: Timed;
  /** `bwrap … echo` by hand, first byte, in turns with the cold ones. */
  readonly bwrap: Timed;
  readonly alive: Alive;
}

export interface GuestTimings {
  readonly fresh: Timed;
  readonly reused: Timed;
  readonly whole: Timed;
  readonly cold: Timed;
  /** `node -e` that says a word, first byte, in turns with the cold ones. */
  readonly node: Timed;
  readonly alive: Alive;
}

export interface BesideTimings {
  /** Calls of the echo: with nothing beside them, and while calls of a sandbox tool start their boxes. */
  readonly alone: Timed;
  readonly beside: Timed;
  /** The calls that started boxes: how many, how they failed, and how long all of them took. */
  readonly calls: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** What could be measured of boxes; what could not is absent, and `failures` of the evidence says why. */
export interface BoxEvidence {
  readonly native?: NativeTimings;
  readonly guests?: GuestTimings;
  readonly beside?: BesideTimings;
}

export type BoxLane = "boxes" | "guests" | "beside";
type Judged = Omit<Figure, "figure">;
type Judge = (boxes: BoxEvidence, why: (lane: BoxLane) => string) => Judged;

export interface BoxFigure {
  readonly figure: string;
  readonly lane: BoxLane;
  readonly judge: Judge;
}

const p95MsMax = { nativeCold: 25, nativeWarm: 8, teardown: 30, wasmFresh: 8, wasmReused: 2 } as const;

const native =
  (pick: (timings: NativeTimings) => Timed, max: number, floor?: (timings: NativeTimings) => Timed): Judge =>
  (boxes, why) =>
    timed(boxes.native && pick(boxes.native), max, why("boxes"), boxes.native && floor?.(boxes.native));

const guest =
  (pick: (timings: GuestTimings) => Timed, max: number | null, floor?: (timings: GuestTimings) => Timed): Judge =>
  (boxes, why) =>
    timed(boxes.guests && pick(boxes.guests), max, why("guests"), boxes.guests && floor?.(boxes.guests));

export const boxFigures: readonly BoxFigure[] = [
  {
    figure: "box.native.cold",
    lane: "boxes",
    judge: native(
      ({ cold }) => cold,
      p95MsMax.nativeCold,
      ({ bwrap }) => bwrap,
    ),
  },
  { figure: "box.native.warm", lane: "boxes", judge: native(({ warm }) => warm, p95MsMax.nativeWarm) },
  { figure: "box.teardown", lane: "boxes", judge: native(({ teardown }) => teardown, p95MsMax.teardown) },
  { figure: "box.native.alive", lane: "boxes", judge: ({ native: found }, why) => alive(found?.alive, why("boxes")) },
  { figure: "box.wasm.fresh", lane: "guests", judge: guest(({ fresh }) => fresh, p95MsMax.wasmFresh) },
  { figure: "box.wasm.reused", lane: "guests", judge: guest(({ reused }) => reused, p95MsMax.wasmReused) },
  { figure: "box.wasm.whole", lane: "guests", judge: guest(({ whole }) => whole, null) },
  {
    figure: "box.wasm.cold",
    lane: "guests",
    judge: guest(
      ({ cold }) => cold,
      null,
      ({ node }) => node,
    ),
  },
  { figure: "box.wasm.alive", lane: "guests", judge: ({ guests }, why) => alive(guests?.alive, why("guests")) },
  { figure: "box.beside", lane: "beside", judge: ({ beside: found }, why) => beside(found, why("beside")) },
];

function timed(found: Timed | undefined, max: number | null, why: string, floor?: Timed): Judged {
  const target = max === null ? null : `p95 < ${max} ms`;
  if (found === undefined) return missing("ms", target, why);
  const told = spread(found);
  const p95 = told.p95 ?? Number.POSITIVE_INFINITY;
  const faults = [
    ...(max !== null && p95 >= max ? [`p95 is ${p95} ms`] : []),
    ...(found.errors > 0 ? [`${found.errors} of them ended wrongly`] : []),
  ];
  const notes = found.missed === undefined || found.missed === 0 ? [] : [`${found.missed} of them found none ready`];
  const reasons = [...faults, ...notes];
  return {
    ...told,
    value: told.p95,
    unit: "ms",
    target,
    ok: faults.length > 0 ? false : max === null ? null : true,
    ...(floor === undefined ? {} : floorOf(told.p95, floor)),
    ...(reasons.length === 0 ? {} : { reason: reasons.join("; ") }),
  };
}

function alive(found: Alive | undefined, why: string): Judged {
  const target = "all asked for at once, none failing";
  if (found === undefined) return missing("boxes", target, why);
  const { asked, together, failed, tookMs } = found;
  const empty = { p50: null, p95: null, p99: null, max: null };
  const ok = together === asked && failed === 0;
  const reason = `${together} of ${asked} stood at once after ${(tookMs / 1_000).toFixed(1)} s, ${failed} failed`;
  return { value: together, unit: "boxes", target, ok, n: asked, ...empty, errors: failed, reason };
}

function beside(found: BesideTimings | undefined, why: string): Judged {
  const target = "no call fails";
  if (found === undefined) return missing("ms", target, why);
  const codes = Object.entries(found.failures);
  const failed = codes.reduce((total, [, count]) => total + count, 0);
  const told = spread(found.beside);
  const errors = failed + found.beside.errors + found.alone.errors;
  const faults = [
    ...(failed > 0
      ? [`calls of the sandbox tool failed: ${codes.map(([code, count]) => `${code} ${count}`).join(", ")}`]
      : []),
    ...(errors > failed ? [`${errors - failed} echoes failed`] : []),
    ...(told.n === 0 ? ["no echo came back while boxes started"] : []),
  ];
  const reason = [
    ...faults,
    `${found.calls} boxes started by calls, ended in ${found.seconds.toFixed(1)} s; floor: the same echoes alone`,
  ];
  return {
    ...told,
    errors,
    value: told.p95,
    unit: "ms",
    target,
    ok: faults.length === 0,
    ...floorOf(told.p95, found.alone),
    reason: reason.join("; "),
  };
}

function floorOf(value: number | null, floor: Timed): Pick<Figure, "floor" | "ratio"> {
  const { p50, p95, p99, max } = spread(floor);
  if (p50 === null || p95 === null || p99 === null || max === null) return {};
  return { floor: { value: p95, p50, p95, p99, max }, ...(value === null ? {} : { ratio: round(value / p95) }) };
}

function spread({ ms, errors }: Timed): Pick<Figure, "n" | "p50" | "p95" | "p99" | "max" | "errors"> {
  const sorted = ms.toSorted((one, other) => one - other);
  const at = (share: number): number | null => {
    const value = percentile(sorted, share);
    return value === undefined ? null : round(value);
  };
  return { n: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), errors };
}

/** Without a target there is nothing to miss. */
function missing(unit: string, target: string | null, reason: string): Judged {
  const nothing = { value: null, n: 0, p50: null, p95: null, p99: null, max: null, errors: 0 };
  return { ...nothing, unit, target, ok: target === null ? null : false, reason };
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
