// Makes a value of a number's digits: whole numbers keep all of theirs, since a rule must not decide about another id than the handler gets.
import { Failed } from "./failed.ts";

const decimal = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,6}))?$/;
/** No double has more; also what keeps the work on hostile digits small. */
const wholeDigitsMax = 400;

interface Parts {
  readonly sign: string;
  /** Without zeros at either end; empty for zero. */
  readonly digits: string;
  /** The value is 0.digits · 10^point. */
  readonly point: number;
}

function partsOf(text: string): Parts | undefined {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = decimal.exec(text) ?? [];
  if (whole === "") return undefined;
  const all = whole + fraction;
  const leading = all.length - all.replace(/^0+/, "").length;
  const digits = all.slice(leading).replace(/0+$/, "");
  return { sign: digits === "" ? "" : sign, digits, point: digits === "" ? 0 : whole.length - leading + Number(exponent) };
}

/**
 * @param text a number as JSON writes it; of a fraction the nearest double is taken, as most handlers do
 * @throws Failed when it is beyond every double
 */
export function exactNumber(text: string): number | bigint {
  const parts = partsOf(text);
  if (parts === undefined) throw new Failed("there is a number that no rule can read");
  const { sign, digits, point } = parts;
  const double = Number(text);
  const kept = Number.isFinite(double) ? partsOf(String(double)) : undefined;
  if (kept?.digits === digits && kept.point === point && kept.sign === sign && !isBlurred(double)) return double;
  if (digits.length <= point && point <= wholeDigitsMax) return BigInt(sign + digits.padEnd(point, "0"));
  if (Number.isFinite(double)) return double;
  throw new Failed("a number is larger than a condition can compare");
}

/** The shortest text of a large double is not its value; as far as rules can write whole numbers, those are compared. */
function isBlurred(double: number): boolean {
  return Number.isInteger(double) && !Number.isSafeInteger(double) && Math.abs(double) < 2 ** 63;
}
