// Instants and durations: as people read them, and as they write them on a command line.
import { parseDuration } from "../document/units.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `3 s`, `2 min 5 s`, `4 h 10 min`, `12 d`: at most two units, rounded down. */
export function durationText(ms: number): string {
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < 10 * second) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < minute) return `${Math.floor(ms / second)} s`;
  if (ms < hour) return twoUnits(ms, minute, "min", second, "s");
  if (ms < 2 * day) return twoUnits(ms, hour, "h", minute, "min");
  return `${Math.floor(ms / day)} d`;
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  const head = `${Math.floor(ms / large)} ${largeName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/** `5 s ago`, `in 2 h`, `just now`. Clocks of two machines differ, so under a second there is no saying which came first. */
export function relativeText(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs;
  if (Math.abs(ms) < second) return "just now";
  const whole = Math.floor(Math.abs(ms) / second) * second;
  const text = whole < 10 * second ? `${whole / second} s` : durationText(whole);
  return ms > 0 ? `${text} ago` : `in ${text}`;
}

/** `2026-01-31T12:00:00.000Z (5 min ago)`. */
export function instantText(iso: string, nowMs: number): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? iso : `${iso} (${relativeText(at, nowMs)})`;
}

/** `500ms`, `30s`, `5m`, `2h` or `7d`, in ms; undefined for anything else. */
export function parseSpanMs(text: string): number | undefined {
  const days = /^([1-9]\d{0,4})d$/.exec(text);
  if (days !== null) return Number(days[1]) * day;
  const reading = parseDuration(text);
  return reading.ok ? reading.value : undefined;
}
