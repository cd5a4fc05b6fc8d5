// What a conformance case of the ledger gets, and how it is named.
import type { Ledger } from "../../packages/runtime/src/ledger/port.ts";

/** One ledger on a store of its own. */
export interface OpenedLedger {
  readonly ledger: Ledger;
  /** Closes the ledger and opens the same store again. */
  reopen(): Promise<Ledger>;
  /** Closes what is open and removes the store. */
  dispose(): Promise<void>;
}

/** A case by its name; gets a fresh, empty ledger. */
export type LedgerCase = (name: string, run: (opened: OpenedLedger) => Promise<void>) => void;
