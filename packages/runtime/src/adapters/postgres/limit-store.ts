// Keeps limits.
import type { Ledger } from "../../ledger/port.ts";
import type { Db } from "./db.ts";
import { unwritten } from "./unwritten.ts";
import type { WritersOf } from "./writers-of.ts";

export type LimitWriters = WritersOf<"put_limit" | "remove_limit">;
export type LimitReads = Pick<Ledger, "limits">;

export const limitWriters: LimitWriters = unwritten<LimitWriters>("limits");

export function limitReads(_db: Db): LimitReads {
  return unwritten<LimitReads>("limits");
}
