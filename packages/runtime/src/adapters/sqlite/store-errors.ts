// Tells a store that cannot write from a unit that must not be written.
import { LedgerUnavailable } from "../../ledger/port.ts";

/** SQLite's primary result codes that concern the file, the disk or the memory, never one unit's content. */
const storeFailureReasons: Readonly<Record<number, string>> = {
  5: "another program has locked the database; close it",
  6: "the database is locked",
  7: "the process is out of memory",
  8: "the database file cannot be written; check its permissions",
  10: "the disk reported an error; check the disk",
  11: "the database file is damaged; restore a backup",
  13: "the disk is full; free space there, writing goes on by itself",
  14: "the database file cannot be opened; check that its folder exists and is writable",
  15: "another program is using the database's lock files; close it",
  26: "the file is not a ledger; choose another data folder",
};

/** The reason why the store itself failed, with the next step; undefined when the fault is in what was asked of it. */
export function storeFailure(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  // The low byte is the primary code; the rest says where in SQLite it came up.
  return storeFailureReasons[error.errcode & 0xff];
}

/** A failure of the store as {@link LedgerUnavailable}; any other error as it is. */
export function asLedgerError(error: unknown): Error {
  const reason = storeFailure(error);
  if (reason !== undefined) return new LedgerUnavailable(`The ledger cannot be used: ${reason}.`, { cause: error });
  return error instanceof Error ? error : new Error("A ledger statement failed.", { cause: error });
}
