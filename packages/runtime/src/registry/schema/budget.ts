// Bounds what one validation may cost, whatever schema and value do together (branches over recursion grow as 2^depth).
import { bounds } from "../bounds.ts";

/** Thrown out of a validation whose budget is spent. */
export class CostExceeded extends Error {
  override readonly name = "CostExceeded";
}

export interface Budget {
  begin(value: unknown): void;
  /** Lets go of the value. */
  end(): void;
  /** @throws CostExceeded when nothing is left */
  spend(units: number): void;
}

/** Values and characters of a JSON value; without recursion. */
function sizeOf(value: unknown): { readonly values: number; readonly chars: number } {
  const stack: unknown[] = [value];
  let values = 0;
  let chars = 0;
  while (stack.length > 0) {
    const one = stack.pop();
    values++;
    if (typeof one === "string") chars += one.length;
    if (typeof one !== "object" || one === null) continue;
    if (!Array.isArray(one)) for (const key of Object.keys(one)) chars += key.length;
    for (const child of Object.values(one)) stack.push(child);
  }
  return { values, chars };
}

/**
 * A base amount covers nearly every value; only when it is gone is the value measured, and the budget grows with
 * its size. So a small value never costs more than the base, and a large one stays linear.
 */
export function createBudget(): Budget {
  let left = 0;
  let measured = true;
  let current: unknown;
  return {
    begin(value) {
      left = bounds.validationUnitsBase;
      measured = false;
      current = value;
    },
    end() {
      current = undefined;
    },
    spend(units) {
      left -= units;
      if (left >= 0) return;
      if (!measured) {
        measured = true;
        const { values, chars } = sizeOf(current);
        left += values * bounds.validationUnitsPerValue + chars * bounds.validationUnitsPerChar;
      }
      if (left < 0) throw new CostExceeded("the validation costs too much");
    },
  };
}
