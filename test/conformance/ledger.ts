// The conformance suite of the ledger port: every adapter runs it, and passes all of it.
import { afterEach, describe, test } from "vitest";
import { auditCases } from "./ledger-audit.ts";
import type { LedgerCase, OpenedLedger } from "./ledger-case.ts";
import { eventCases } from "./ledger-events.ts";
import { readCases } from "./ledger-reads.ts";
import { recordCases } from "./ledger-records.ts";
import { unitCases } from "./ledger-units.ts";

/** @param open makes an empty store with its audit key and opens it */
export function ledgerConformance(adapter: string, open: () => Promise<OpenedLedger>): void {
  describe(`${adapter} is a ledger`, () => {
    let opened: OpenedLedger | undefined;
    afterEach(async () => {
      await opened?.dispose();
      opened = undefined;
    });
    const ledgerCase: LedgerCase = (name, run) => {
      test(name, async () => {
        opened = await open();
        await run(opened);
      });
    };
    describe("units", () => unitCases(ledgerCase));
    describe("events, attempts and results", () => eventCases(ledgerCase));
    describe("reads", () => readCases(ledgerCase));
    describe("tenants, keys, grants and tools", () => recordCases(ledgerCase));
    describe("audit", () => auditCases(ledgerCase));
  });
}
