// Conformance: which version answers and who chose it, statuses, pins, projects' tools, freezes, and the search for tools.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type {
  Freeze,
  ProjectTool,
  ToolPin,
  ToolQuery,
  ToolStatus,
  ToolVersion,
} from "../../packages/runtime/src/registry/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { dayStart, sampleToolVersion } from "./ledger-rows.ts";

const applied = { applied: true };
const refused = { applied: false, write: 0 };

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const publish = (ledger: Ledger, row: ToolVersion, activate = true) =>
  commit(ledger, { op: "insert_tool_version", row, activate });

function versionCases(ledgerCase: LedgerCase): void {
  ledgerCase("every choice of the active version is kept, newest first, once", async ({ ledger, reopen }) => {
    const tool = "orders.find";
    await publish(ledger, sampleToolVersion("1.0.0", { publishedAt: 10, publishedBy: "user:ada" }));
    await publish(ledger, sampleToolVersion("1.1.0", { publishedAt: 20 }), false);
    await publish(ledger, sampleToolVersion("2.0.0", { publishedAt: 30, publishedBy: "user:zoë" }));
    await publish(ledger, sampleToolVersion("1.0.0", { tenant: "globex" }));
    const activate = (version: string, at: number) =>
      commit(ledger, { op: "activate_tool", tenant: "acme", tool, version, at, by: "user:bo" });
    expect(await activate("2.0.0", 40)).toEqual(applied);
    expect(await activate("9.0.0", 41)).toEqual(refused);
    // What is chosen at one instant stands in the order of storing.
    expect(await activate("1.1.0", 50)).toEqual(applied);
    expect(await activate("1.0.0", 50)).toEqual(applied);
    expect(await activate("1.1.0", 50)).toEqual(applied);
    const choice = (version: string, at: number, by: string) => ({ tenant: "acme", tool, version, at, by });
    const kept = [
      choice("1.1.0", 50, "user:bo"),
      choice("1.0.0", 50, "user:bo"),
      choice("1.1.0", 50, "user:bo"),
      choice("2.0.0", 30, "user:zoë"),
      choice("1.0.0", 10, "user:ada"),
    ];
    const again = await reopen();
    expect(await again.activations("acme", tool, 10)).toEqual(kept);
    expect(await again.activations("acme", tool, 2)).toEqual(kept.slice(0, 2));
    expect(await again.activations("globex", tool, 10)).toHaveLength(1);
    expect(await again.activations("acme", "orders.cancel", 10)).toEqual([]);
  });

  ledgerCase("a refused unit activates nothing and keeps no choice", async ({ ledger }) => {
    await publish(ledger, sampleToolVersion("1.0.0"));
    await publish(ledger, sampleToolVersion("2.0.0"), false);
    const tool = "orders.find";
    const outcome = await commit(
      ledger,
      { op: "activate_tool", tenant: "acme", tool, version: "2.0.0", at: 1, by: "user:bo" },
      { op: "set_tool_status", tenant: "acme", tool, version: "3.0.0", from: "active", status: "quarantined" },
    );
    expect(outcome).toEqual({ applied: false, write: 1 });
    expect((await ledger.tool("acme", tool))?.activeVersion).toBe("1.0.0");
    expect(await ledger.activations("acme", tool, 10)).toHaveLength(1);
  });

  ledgerCase("a version's status is set from the one that was seen, and nothing else of it", async ({ ledger }) => {
    const row = sampleToolVersion("1.0.0");
    await publish(ledger, row);
    await publish(ledger, { ...row, tenant: "globex" });
    await publish(ledger, sampleToolVersion("2.0.0", { publishedAt: dayStart + 1 }));
    const set = (tenant: string, version: string, from: ToolStatus, status: ToolStatus) =>
      commit(ledger, { op: "set_tool_status", tenant, tool: "orders.find", version, from, status });
    expect(await set("acme", "3.0.0", "active", "quarantined")).toEqual(refused);
    expect(await set("initech", "1.0.0", "active", "quarantined")).toEqual(refused);
    expect(await set("acme", "1.0.0", "deprecated", "active")).toEqual(refused);
    expect(await ledger.toolVersion("acme", "orders.find", "1.0.0")).toEqual(row);
    expect(await set("acme", "1.0.0", "active", "deprecated")).toEqual(applied);
    expect(await ledger.toolVersion("acme", "orders.find", "1.0.0")).toEqual({ ...row, status: "deprecated" });
    expect(await set("acme", "1.0.0", "active", "quarantined")).toEqual(refused);
    expect(await set("acme", "1.0.0", "deprecated", "quarantined")).toEqual(applied);
    expect(await ledger.toolVersions("acme", "orders.find")).toEqual([
      { version: "1.0.0", status: "quarantined" },
      { version: "2.0.0", status: "active" },
    ]);
    expect((await ledger.toolVersion("globex", "orders.find", "1.0.0"))?.status).toBe("active");
  });
}

function choiceCases(ledgerCase: LedgerCase): void {
  ledgerCase("a pin is one a tool, changed by the next one and taken away by null", async ({ ledger, reopen }) => {
    const pin = (tool: string, requested: string | null, changedAt: number, tenant = "acme"): ToolPin => ({
      tenant,
      tool,
      requested,
      changedAt,
      changedBy: `user:${changedAt}`,
    });
    for (const row of [
      pin("b.two", "^1.2", 1),
      pin("a.one", "1.0.0", 2),
      pin("a.one", "2.0.0", 3, "globex"),
      pin("a.one", "~1.0 || 3.x", 4),
      pin("b.two", null, 5),
      pin("c.three", null, 6),
    ]) {
      expect(await commit(ledger, { op: "put_tool_pin", row })).toEqual(applied);
    }
    const again = await reopen();
    expect(await again.toolPins("acme")).toEqual([pin("a.one", "~1.0 || 3.x", 4)]);
    expect(await again.toolPins("globex")).toEqual([pin("a.one", "2.0.0", 3, "globex")]);
  });

  ledgerCase("a tool is switched off and on for one project", async ({ ledger, reopen }) => {
    const use = (project: string, tool: string, enabled: boolean, changedAt: number): ProjectTool => ({
      tenant: "acme",
      project,
      tool,
      enabled,
      changedAt,
      changedBy: "user:ada",
    });
    const rows = [use("shop", "b.two", false, 1), use("shop", "a.one", false, 2), use("help", "b.two", true, 3)];
    for (const row of rows) await commit(ledger, { op: "put_project_tool", row });
    await commit(ledger, { op: "put_project_tool", row: { ...use("shop", "b.two", true, 4), changedBy: "user:bo" } });
    const again = await reopen();
    expect(await again.projectTools("acme")).toEqual([
      use("help", "b.two", true, 3),
      use("shop", "a.one", false, 2),
      { ...use("shop", "b.two", true, 4), changedBy: "user:bo" },
    ]);
    expect(await again.projectTools("globex")).toEqual([]);
  });

  ledgerCase("a freeze is one a scope and ends when it is lifted", async ({ ledger, reopen }) => {
    const freeze = (tenant: string, tool: string, reason: string, at: number): Freeze => ({
      tenant,
      tool,
      reason,
      at,
      by: "user:ada",
    });
    for (const row of [
      freeze("platform", "", "maintenance", 1),
      freeze("acme", "b.two", "", 2),
      freeze("acme", "", "incident — Störung", 3),
      freeze("acme", "b.two", "again", 4),
    ]) {
      expect(await commit(ledger, { op: "put_freeze", row })).toEqual(applied);
    }
    expect(await ledger.freezes()).toEqual([
      freeze("acme", "", "incident — Störung", 3),
      freeze("acme", "b.two", "again", 4),
      freeze("platform", "", "maintenance", 1),
    ]);
    await commit(ledger, { op: "lift_freeze", tenant: "acme", tool: "" });
    await commit(ledger, { op: "lift_freeze", tenant: "globex", tool: "b.two" });
    expect(await (await reopen()).freezes()).toEqual([
      freeze("acme", "b.two", "again", 4),
      freeze("platform", "", "maintenance", 1),
    ]);
  });

  ledgerCase("a project is made, and its environment changed", async ({ ledger }) => {
    const put = (project: string, environment: string, createdAt: number, tenant = "acme") =>
      commit(ledger, { op: "put_project", row: { tenant, project, environment, createdAt } });
    await put("shop", "staging", 1);
    await put("help", "", 2);
    await put("shop", "production", 3);
    await put("shop", "test", 4, "globex");
    expect(await ledger.projects("acme")).toEqual([
      { tenant: "acme", project: "help", environment: "", createdAt: 2 },
      { tenant: "acme", project: "shop", environment: "production", createdAt: 1 },
    ]);
  });
}

const described = (tool: string, description: string, owner: string, category: string, labels = {}): ToolVersion => {
  const row = sampleToolVersion("1.0.0", { tool });
  return { ...row, metadata: { ...row.metadata, name: tool, description, owner, category, labels } };
};

function searchCases(ledgerCase: LedgerCase): void {
  const shelf = [
    described("mail.send", "Sends a letter", "team-post", "Post", { region: "eu", tier: "1" }),
    described("mail.read", "Reads Ärzte and ÉCOLE", "team-post", "post"),
    described("pay.send", "Pays 100% of a_bill", "team-money", "Geld", { Region: "us" }),
    described("zip.pack", "", "", "", { constructor: "" }),
  ];

  ledgerCase(
    "tools are searched for by words, whatever the case, and by category, owner and label",
    async ({ ledger }) => {
      for (const row of shelf) await publish(ledger, row);
      await publish(ledger, { ...(shelf[0] as ToolVersion), tenant: "globex" });
      const found = async (query: ToolQuery): Promise<string[]> =>
        (await ledger.listTools("acme", 10, undefined, query)).items.map(({ tool }) => tool);
      expect(await found({})).toEqual(["mail.read", "mail.send", "pay.send", "zip.pack"]);
      expect(await found({ text: "  " })).toHaveLength(4);
      expect(await found({ text: "SEND" })).toEqual(["mail.send", "pay.send"]);
      expect(await found({ text: "send team-POST" })).toEqual(["mail.send"]);
      expect(await found({ text: "letter money" })).toEqual([]);
      expect(await found({ text: "ärzte école" })).toEqual(["mail.read"]);
      expect(await found({ text: "100%" })).toEqual(["pay.send"]);
      expect(await found({ text: "a_b" })).toEqual(["pay.send"]);
      expect(await found({ text: "%" })).toEqual(["pay.send"]);
      expect(await found({ text: "geld us" })).toEqual(["pay.send"]);
      expect(await found({ text: "region=EU" })).toEqual(["mail.send"]);
      expect(await found({ category: "post" })).toEqual(["mail.read"]);
      expect(await found({ owner: "team-post" })).toEqual(["mail.read", "mail.send"]);
      expect(await found({ owner: "" })).toEqual(["zip.pack"]);
      expect(await found({ label: "region" })).toEqual(["mail.send"]);
      expect(await found({ label: "region=eu" })).toEqual(["mail.send"]);
      expect(await found({ label: "region=us" })).toEqual([]);
      expect(await found({ label: "tier=" })).toEqual([]);
      expect(await found({ label: "constructor" })).toEqual(["zip.pack"]);
      expect(await found({ label: "toString" })).toEqual([]);
      expect(await found({ owner: "team-post", label: "tier=1", text: "sends", category: "Post" })).toEqual([
        "mail.send",
      ]);
    },
  );

  ledgerCase("a search goes on from page to page, and what was read lets later writes through", async ({ ledger }) => {
    for (const row of shelf) await publish(ledger, row);
    const first = await ledger.listTools("acme", 1, undefined, { text: "send" });
    expect(first.items.map(({ tool }) => tool)).toEqual(["mail.send"]);
    await publish(ledger, described("nail.send", "", "", ""));
    const second = await ledger.listTools("acme", 1, first.next, { text: "send" });
    expect(second.items.map(({ tool }) => tool)).toEqual(["nail.send"]);
    const third = await ledger.listTools("acme", 1, second.next, { text: "send" });
    expect(third.items.map(({ tool }) => tool)).toEqual(["pay.send"]);
    expect(third.next).toBeUndefined();
  });
}

export function registryCases(ledgerCase: LedgerCase): void {
  versionCases(ledgerCase);
  choiceCases(ledgerCase);
  searchCases(ledgerCase);
}
