// The conformance suite of the ledger port: every adapter runs it, and passes all of it.
import { afterEach, describe, test } from "vitest";
import { agentCases } from "./ledger-agents.ts";
import { approvalCases } from "./ledger-approvals.ts";
import { auditCases } from "./ledger-audit.ts";
import type { LedgerCase, OpenedLedger } from "./ledger-case.ts";
import { countCases } from "./ledger-counts.ts";
import { eventCases } from "./ledger-events.ts";
import { limitCases, usageCases } from "./ledger-metering.ts";
import { noticeCases } from "./ledger-notices.ts";
import { policyCases } from "./ledger-policies.ts";
import { readCases } from "./ledger-reads.ts";
import { recordCases } from "./ledger-records.ts";
import { registryCases } from "./ledger-registry.ts";
import { resultCases } from "./ledger-results.ts";
import { retentionCases } from "./ledger-retention.ts";
import { sessionLeaseCases } from "./ledger-session-leases.ts";
import { sessionReadCases, sessionRetentionCases } from "./ledger-session-reads.ts";
import { sessionCases, sessionFaultCases } from "./ledger-sessions.ts";
import { streamCases } from "./ledger-streams.ts";
import { unitCases } from "./ledger-units.ts";
import { workspaceCases } from "./ledger-workspace.ts";

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
    describe("versions, pins and freezes", () => registryCases(ledgerCase));
    describe("policies", () => policyCases(ledgerCase));
    describe("counts of calls", () => countCases(ledgerCase));
    describe("cached results", () => resultCases(ledgerCase));
    describe("approvals and votes", () => approvalCases(ledgerCase));
    describe("notices and deliveries", () => noticeCases(ledgerCase));
    describe("streams of calls", () => streamCases(ledgerCase));
    describe("workspaces", () => workspaceCases(ledgerCase));
    describe("retention", () => retentionCases(ledgerCase));
    describe("usage", () => usageCases(ledgerCase));
    describe("limits", () => limitCases(ledgerCase));
    describe("agents", () => agentCases(ledgerCase));
    describe("sessions", () => {
      sessionCases(ledgerCase);
      sessionFaultCases(ledgerCase);
    });
    describe("leases of sessions and their effects", () => sessionLeaseCases(ledgerCase));
    describe("lists, calls and tenants of sessions", () => sessionReadCases(ledgerCase));
    describe("retention of sessions", () => sessionRetentionCases(ledgerCase));
    describe("audit", () => auditCases(ledgerCase));
  });
}
