// Removes what is old, and names the content that is still wanted.
import type { Ledger } from "../../ledger/port.ts";
import type { ReadPool } from "./pool.ts";
import { unwritten } from "./unwritten.ts";

export type Retention = Pick<Ledger, "trim" | "wantedContent">;

/** Trims in transactions of its own, on a connection of the pool. */
export function retention(_pool: ReadPool): Retention {
  return unwritten<Retention>("retention");
}
