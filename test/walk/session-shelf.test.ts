// The simulators' ledger keeps sessions as the real ones do: the same cases hold on it.
import { describe, expect, test } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import { agentCases } from "../conformance/ledger-agents.ts";
import type { LedgerCase } from "../conformance/ledger-case.ts";
import { sessionLeaseCases } from "../conformance/ledger-session-leases.ts";
import { sessionReadCases } from "../conformance/ledger-session-reads.ts";
import { sessionCases } from "../conformance/ledger-sessions.ts";
import { agents } from "../sim/sim-agents.ts";
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
  test("a unit that is refused and has nothing of sessions takes back nothing of them", () => {
    const store = new SimStore(new SimTime(0), seeded(1));
    const row = agents[0];
    if (row === undefined) throw new Error("the simulator has no agent");
    expect(store.apply({ writes: [{ op: "insert_agent_version", row }] })).toEqual({ applied: true });
    const unknown = { op: "update_approval", expect: { revision: 1 }, row: { tenant: "t", approvalId: "apr_none" } } as unknown as Write;
    expect(store.apply({ writes: [unknown] })).toEqual({ applied: false, write: 0 });
    expect([...store.sessions.agents.versions.keys()]).toEqual(["t/hasty/1.0.0"]);
  });
});
