// Reads the durations and sizes of a document: `30s` into milliseconds, `64Mi` into bytes.

export type Reading =
  | { readonly ok: true; readonly value: number }
  | { readonly ok: false; readonly message: string; readonly hint: string };

const msPerUnit: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const bytesPerUnit: Readonly<Record<string, number>> = { "": 1, Ki: 1_024, Mi: 1_024 ** 2, Gi: 1_024 ** 3 };

const durationPattern = /^(0|[1-9][0-9]{0,15})(ms|s|m|h)$/;
const sizePattern = /^(0|[1-9][0-9]{0,15})(Ki|Mi|Gi|)$/;

const durationHint = "write a whole number and one of ms, s, m, h, like 500ms or 30s";
const sizeHint = "write whole bytes or a whole number and one of Ki, Mi, Gi, like 64Mi";

function scaled(match: RegExpExecArray, perUnit: Readonly<Record<string, number>>, hint: string): Reading {
  const value = Number(match[1]) * (perUnit[match[2] ?? ""] ?? Number.NaN);
  return Number.isSafeInteger(value) ? { ok: true, value } : { ok: false, message: "is too large", hint };
}

/** `500ms`, `30s`, `5m`, `24h` → ms. Plain numbers are refused: 30 could be anything. */
export function parseDuration(value: unknown): Reading {
  if (typeof value === "number") return { ok: false, message: "is a duration without a unit", hint: durationHint };
  const match = typeof value === "string" ? durationPattern.exec(value) : null;
  return match === null
    ? { ok: false, message: "is not a duration", hint: durationHint }
    : scaled(match, msPerUnit, durationHint);
}

/** `1048576`, `"1048576"`, `64Ki`, `256Mi`, `2Gi` → bytes. */
export function parseSize(value: unknown): Reading {
  if (typeof value === "number") {
    return Number.isSafeInteger(value) && value >= 0
      ? { ok: true, value }
      : { ok: false, message: "is not a size in whole bytes", hint: sizeHint };
  }
  const match = typeof value === "string" ? sizePattern.exec(value) : null;
  return match === null
    ? { ok: false, message: "is not a size", hint: sizeHint }
    : scaled(match, bytesPerUnit, sizeHint);
}
