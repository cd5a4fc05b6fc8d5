// Conformance: agents, their immutable versions, which of them is deployed, and what was done to them.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { AgentChange } from "../../packages/runtime/src/registry/agents/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { dayStart } from "./ledger-rows.ts";
import { sampleAgentVersion } from "./ledger-session-rows.ts";

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const publish = (fields: Parameters<typeof sampleAgentVersion>[0] = {}): Write => ({ op: "insert_agent_version", row: sampleAgentVersion(fields) });
const deploy = (from: string | null, version: string | null, agent = "clerk", tenant = "acme"): Write => ({ op: "deploy_agent", tenant, agent, from, version });
const refused = { applied: false, write: 0 };
const held = { applied: true };

const record = {
  tenant: "acme",
  agent: "clerk",
  deployedVersion: null,
  latestVersion: "1.0.0",
  description: "Answers about orders — 1.0.0",
  owner: "team-orders",
  createdAt: dayStart,
  archivedAt: null,
};

export function agentCases(ledgerCase: LedgerCase): void {
  ledgerCase("a version comes back as it was published, also after a reopening, and is never published twice", async ({ ledger, reopen }) => {
    const first = sampleAgentVersion();
    expect(await commit(ledger, publish())).toEqual(held);
    expect(await commit(ledger, publish({ manifestDigest: "other" }))).toEqual(refused);
    const again = await reopen();
    const found = await again.agentVersion("acme", "clerk", "1.0.0");
    expect(found).toStrictEqual(first);
    expect(await again.agentVersions("acme", "clerk")).toStrictEqual([first]);
    expect(await again.agent("acme", "clerk")).toEqual(record);
    expect(await again.agentVersion("acme", "clerk", "1.0")).toBeUndefined();
  });

  ledgerCase("a later version brings the record's texts, and leaves its beginning and its deployment", async ({ ledger }) => {
    await commit(ledger, publish());
    await commit(ledger, deploy(null, "1.0.0"));
    const metadata = { name: "clerk", version: "1.1.0", owner: "team-new", description: "New words", labels: {} };
    expect(await commit(ledger, publish({ version: "1.1.0", publishedAt: dayStart + 50, metadata }))).toEqual(held);
    expect(await ledger.agent("acme", "clerk")).toEqual({ ...record, deployedVersion: "1.0.0", latestVersion: "1.1.0", description: "New words", owner: "team-new" });
    expect((await ledger.agentVersions("acme", "clerk")).map(({ version }) => version)).toEqual(["1.0.0", "1.1.0"]);
  });

  ledgerCase("a deployment goes by what is deployed now, and names a version that is there", async ({ ledger }) => {
    expect(await commit(ledger, deploy(null, null))).toEqual(refused);
    await commit(ledger, publish(), publish({ version: "1.1.0" }));
    expect(await commit(ledger, deploy("1.0.0", "1.1.0"))).toEqual(refused);
    expect(await commit(ledger, deploy(null, "9.0.0"))).toEqual(refused);
    expect(await commit(ledger, deploy(null, "1.0.0"))).toEqual(held);
    expect(await commit(ledger, deploy(null, "1.1.0"))).toEqual(refused);
    expect((await ledger.agent("acme", "clerk"))?.deployedVersion).toBe("1.0.0");
    expect(await commit(ledger, deploy("1.0.0", "1.1.0"))).toEqual(held);
    expect(await commit(ledger, deploy("1.1.0", null))).toEqual(held);
    expect((await ledger.agent("acme", "clerk"))?.deployedVersion).toBeNull();
  });

  ledgerCase("a status changes from the one that was expected", async ({ ledger }) => {
    await commit(ledger, publish());
    const set = (from: "published" | "deprecated", status: "deprecated" | "retired", version = "1.0.0"): Write => ({ op: "set_agent_status", tenant: "acme", agent: "clerk", version, from, status });
    expect(await commit(ledger, set("deprecated", "retired"))).toEqual(refused);
    expect(await commit(ledger, set("published", "deprecated", "2.0.0"))).toEqual(refused);
    expect(await commit(ledger, set("published", "deprecated"))).toEqual(held);
    expect((await ledger.agentVersion("acme", "clerk", "1.0.0"))?.status).toBe("deprecated");
  });

  ledgerCase("an agent is archived and brought back; an unknown one is neither", async ({ ledger }) => {
    const archive = (at: number | null): Write => ({ op: "archive_agent", tenant: "acme", agent: "clerk", at });
    expect(await commit(ledger, archive(5))).toEqual(refused);
    await commit(ledger, publish());
    expect(await commit(ledger, archive(dayStart + 7))).toEqual(held);
    expect((await ledger.agent("acme", "clerk"))?.archivedAt).toBe(dayStart + 7);
    expect(await commit(ledger, archive(null))).toEqual(held);
    expect((await ledger.agent("acme", "clerk"))?.archivedAt).toBeNull();
  });

  ledgerCase("agents are listed by name, page by page, stable under inserts", async ({ ledger }) => {
    for (const agent of ["b", "d", "a", "c"]) await commit(ledger, publish({ agent }));
    const first = await ledger.listAgents("acme", 2);
    expect(first.items.map(({ agent }) => agent)).toEqual(["a", "b"]);
    await commit(ledger, publish({ agent: "aa" }));
    await commit(ledger, publish({ agent: "bb" }));
    const second = await ledger.listAgents("acme", 2, first.next);
    expect(second.items.map(({ agent }) => agent)).toEqual(["bb", "c"]);
    const third = await ledger.listAgents("acme", 2, second.next);
    expect([third.items.map(({ agent }) => agent), third.next]).toEqual([["d"], undefined]);
  });

  ledgerCase("what was done to an agent is told newest first", async ({ ledger, reopen }) => {
    const change = (action: AgentChange["action"], version: string, agent = "clerk"): AgentChange => ({ tenant: "acme", agent, action, version, at: dayStart, by: "user:ada", comment: `why — ${action}` });
    await commit(ledger, publish(), { op: "append_agent_change", row: change("publish", "1.0.0") });
    await commit(ledger, { op: "append_agent_change", row: change("deploy", "1.0.0") }, { op: "append_agent_change", row: change("archive", "", "other") });
    await commit(ledger, { op: "append_agent_change", row: change("archive", "") });
    const again = await reopen();
    expect(await again.agentChanges("acme", "clerk", 10)).toEqual([change("archive", ""), change("deploy", "1.0.0"), change("publish", "1.0.0")]);
    expect(await again.agentChanges("acme", "clerk", 1)).toEqual([change("archive", "")]);
  });

  ledgerCase("a refused unit leaves nothing of an agent", async ({ ledger }) => {
    await commit(ledger, publish());
    expect(await commit(ledger, publish({ version: "2.0.0" }), deploy("9.0.0", "2.0.0"), { op: "append_agent_change", row: { tenant: "acme", agent: "clerk", action: "deploy", version: "2.0.0", at: 1, by: "u", comment: "" } })).toEqual({ applied: false, write: 1 });
    expect(await ledger.agent("acme", "clerk")).toEqual(record);
    expect(await ledger.agentChanges("acme", "clerk", 10)).toEqual([]);
  });

  ledgerCase("another tenant sees none of it, and has agents of the same names", async ({ ledger }) => {
    await commit(ledger, publish(), { op: "append_agent_change", row: { tenant: "acme", agent: "clerk", action: "publish", version: "1.0.0", at: 1, by: "u", comment: "" } });
    const seen = async () => [
      await ledger.agent("globex", "clerk"),
      await ledger.agentVersion("globex", "clerk", "1.0.0"),
      await ledger.agentVersions("globex", "clerk"),
      (await ledger.listAgents("globex", 10)).items,
      await ledger.agentChanges("globex", "clerk", 10),
    ];
    expect(await seen()).toEqual([undefined, undefined, [], [], []]);
    expect(await commit(ledger, deploy(null, "1.0.0", "clerk", "globex"))).toEqual(refused);
    expect(await commit(ledger, { op: "archive_agent", tenant: "globex", agent: "clerk", at: 1 })).toEqual(refused);
    expect(await commit(ledger, publish({ tenant: "globex", publishedBy: "user:eve" }))).toEqual(held);
    expect((await ledger.agentVersion("acme", "clerk", "1.0.0"))?.publishedBy).toBe("user:ada");
  });
}
