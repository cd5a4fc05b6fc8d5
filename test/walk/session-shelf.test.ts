// The simulators' ledger keeps sessions as the real ones do: the same cases hold on it.
import { describe, test } from "vitest";
import type { Ledger } from "../../packages/runtime/src/ledger/port.ts";
import { agentCases } from "../conformance/ledger-agents.ts";
import type { LedgerCase } from "../conformance/ledger-case.ts";
import { sessionLeaseCases } from "../conformance/ledger-session-leases.ts";
import { sessionReadCases } from "../conformance/ledger-session-reads.ts";
import { sessionCases } from "../conformance/ledger-sessions.ts";
import { seeded } from "./random.ts";
import { sessionPart } from "./session-shelf-reads.ts";
import { SimStore } from "./sim-ledger.ts";
import { SimTime } from "./sim-time.ts";

const ledgerCase: LedgerCase = (name, run) => {
  test(name, async () => {
    const store = new SimStore(new SimTime(0), seeded(1));
    const ledger = {
      ...sessionPart(store, async (look) => look()),
      commit: async (unit: Parameters<Ledger["commit"]>[0]) => store.apply(unit),
    } as unknown as Ledger;
    await run({ ledger, reopen: async () => ledger, dispose: async () => undefined });
  });
};

describe("a ledger in memory", () => {
  describe("agents", () => agentCases(ledgerCase));
  describe("sessions", () => sessionCases(ledgerCase));
  describe("leases of sessions and their effects", () => sessionLeaseCases(ledgerCase));
  describe("lists, calls and tenants of sessions", () => sessionReadCases(ledgerCase));
});
