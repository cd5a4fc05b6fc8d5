// A tool's versions in their owner's hands: pinned, rolled back, deprecated, quarantined and released; each act audited.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { manifest, refusal } from "../../../../test/support/corridor.ts";
import { by, noon, operator, PolicyOffice } from "../../../../test/support/policy-office.ts";
import type { Asked } from "../tenancy/types.ts";
import { activations, deprecateTool, pinTool, quarantineTool, rollBackTool, toolPins } from "./registry-admin.ts";
import type { RegistryPorts } from "./tools-lookup.ts";
import { activateTool, registerTool } from "./tools.ts";

let office: PolicyOffice;
let ports: RegistryPorts;
let looks: number;
beforeEach(async () => {
  office = await PolicyOffice.open();
  looks = 0;
  ports = { ...office.ports, reconsider: () => (looks++, 3) };
  for (const version of ["1.0.0", "1.1.0", "2.0.0"]) await register("pay", version);
});
afterEach(() => office.close());

const owner = by({ name: "user:own", scopes: new Set(["tools:write", "tools:read"]) });
const reader = by();

async function register(name: string, version = "1.0.0", asked: Asked = owner): Promise<void> {
  await registerTool(ports, asked, manifest({ name, version }), {});
  await office.clock.pass(1_000);
}

/** What a call of acme comes to. */
async function runs(requested = "", tool = "pay", tenant = "acme"): Promise<string> {
  const found = await ports.catalog.resolve(tenant, tool, requested, undefined, "shop");
  if (found.ok) return found.version.version;
  return found.reason === "quarantined" ? `quarantined ${found.version.version}` : found.reason;
}

/** The last record, without what all of them say. */
async function lastRecord(tenant = "acme") {
  const [record] = await office.audit(tenant);
  const { action, principal, tool, version, details } = record ?? {};
  return { action, principal, tool, version, details };
}

describe("pins", () => {
  test("an exact version or a range answers whoever names none, from the next call on, and is audited", async () => {
    expect(await runs()).toBe("1.0.0");
    expect(await pinTool(ports, owner, "pay", "^1.0.0")).toEqual({
      tenant: "acme",
      tool: "pay",
      requested: "^1.0.0",
      changedAt: noon + 3_000,
      changedBy: "user:own",
    });
    expect(await runs()).toBe("1.1.0");
    expect(await lastRecord()).toEqual({
      action: "tool.pinned",
      principal: "user:own",
      tool: "pay",
      version: undefined,
      details: { requested: "^1.0.0" },
    });
    await pinTool(ports, owner, "pay", "2.0.0");
    expect(await runs()).toBe("2.0.0");
    expect((await toolPins(ports, reader)).map(({ tool, requested }) => [tool, requested])).toEqual([["pay", "2.0.0"]]);
    expect((await pinTool(ports, owner, "pay", null)).requested).toBeNull();
    expect(await runs()).toBe("1.0.0");
    expect(await lastRecord()).toMatchObject({ action: "tool.unpinned", tool: "pay" });
    expect(await toolPins(ports, reader)).toEqual([]);
  });

  test("reach the platform's tools, for this tenant alone", async () => {
    for (const version of ["1.0.0", "2.0.0"]) await register("echo", version, operator);
    await pinTool(ports, owner, "echo", "2.0.0");
    expect([await runs("", "echo"), await runs("", "echo", "beta")]).toEqual(["2.0.0", "1.0.0"]);
    expect(await toolPins(ports, by({ tenant: "beta" }))).toEqual([]);
  });

  test.each([
    ["3.0.0", "tool_not_found", { versions: ["2.0.0", "1.1.0", "1.0.0"] }],
    ["^3", "tool_not_found", { versions: ["2.0.0", "1.1.0", "1.0.0"] }],
    ["latest", "invalid_input", { fields: [{ pointer: "/version", keyword: "pattern", message: "must be a version like 1.2.0 or a range like ^1.2.0" }] }],
    ["", "invalid_input", { fields: [{ pointer: "/version", keyword: "pattern", message: "must be a version like 1.2.0 or a range like ^1.2.0" }] }],
  ])("on %j, which nothing fits, are refused", async (requested, code, details) => {
    expect(await refusal(pinTool(ports, owner, "pay", requested))).toMatchObject({ code, details });
    expect(await runs()).toBe("1.0.0");
  });

  test("on what is quarantined are refused", async () => {
    await quarantineTool(ports, owner, "pay", "2.0.0", { released: false, reason: "leaks" });
    for (const requested of ["2.0.0", ">=2"]) {
      expect(await refusal(pinTool(ports, owner, "pay", requested))).toMatchObject({
        code: "conflict",
        details: { version: "2.0.0", status: "quarantined" },
      });
    }
  });

  test("of an unknown tool are refused", async () => {
    expect((await refusal(pinTool(ports, owner, "ship", "1.0.0"))).code).toBe("tool_not_found");
  });
});

describe("rolling back", () => {
  test("goes to the version that was active before; the calls that name it are not touched", async () => {
    await activateTool(ports, owner, "pay", "1.1.0");
    await office.clock.pass(1_000);
    await activateTool(ports, owner, "pay", "2.0.0");
    expect(await runs()).toBe("2.0.0");
    const { record, from } = await rollBackTool(ports, owner, "pay", undefined);
    expect([record.activeVersion, from]).toEqual(["1.1.0", "2.0.0"]);
    expect([await runs(), await runs("2.0.0")]).toEqual(["1.1.0", "2.0.0"]);
    expect(await lastRecord()).toEqual({
      action: "tool.rolled_back",
      principal: "user:own",
      tool: "pay",
      version: "1.1.0",
      details: { from: "2.0.0" },
    });
    expect(
      (await activations(ports, owner, "pay")).map(({ version, at, by: who }) => [version, at - noon, who]),
    ).toEqual([
      ["1.1.0", 4_000, "user:own"],
      ["2.0.0", 4_000, "user:own"],
      ["1.1.0", 3_000, "user:own"],
      ["1.0.0", 0, "user:own"],
    ]);
  });

  test("goes to a named version", async () => {
    expect((await rollBackTool(ports, owner, "pay", "1.1.0")).record.activeVersion).toBe("1.1.0");
    expect(await refusal(rollBackTool(ports, owner, "pay", "7.0.0"))).toMatchObject({
      code: "tool_not_found",
      details: { versions: ["2.0.0", "1.1.0", "1.0.0"] },
    });
  });

  test("without anything before says so, and what to do", async () => {
    expect(await refusal(rollBackTool(ports, owner, "pay", undefined))).toMatchObject({
      code: "conflict",
      message:
        "pay cannot be rolled back: no other version of it was active before; name the version: signalbox tools rollback pay <version>",
    });
  });

  test("passes over what is quarantined, and does not go there when it is named", async () => {
    await activateTool(ports, owner, "pay", "1.1.0");
    await activateTool(ports, owner, "pay", "2.0.0");
    await quarantineTool(ports, owner, "pay", "1.1.0", { released: false, reason: "leaks" });
    expect((await refusal(rollBackTool(ports, owner, "pay", "1.1.0"))).code).toBe("conflict");
    expect((await rollBackTool(ports, owner, "pay", undefined)).record.activeVersion).toBe("1.0.0");
  });

  test("to nothing but quarantined versions is refused with their names", async () => {
    await activateTool(ports, owner, "pay", "2.0.0");
    await quarantineTool(ports, owner, "pay", "1.0.0", { released: false, reason: "leaks" });
    const refused = await refusal(rollBackTool(ports, owner, "pay", undefined));
    expect(refused).toMatchObject({ code: "conflict", details: { quarantined: ["1.0.0"] } });
    expect(refused.message).toContain("all that was active before is quarantined (1.0.0)");
  });
});

describe("deprecating", () => {
  test("takes a version out of ranges; named, pinned or active it goes on", async () => {
    await activateTool(ports, owner, "pay", "1.1.0");
    expect(await deprecateTool(ports, owner, "pay", "1.1.0", true)).toMatchObject({
      version: "1.1.0",
      status: "deprecated",
    });
    expect([await runs("^1.0.0"), await runs("1.1.0"), await runs()]).toEqual(["1.0.0", "1.1.0", "1.1.0"]);
    expect(await lastRecord()).toMatchObject({ action: "tool.deprecated", tool: "pay", version: "1.1.0" });
    await pinTool(ports, owner, "pay", "1.1.0");
    expect(await runs()).toBe("1.1.0");
    expect((await deprecateTool(ports, owner, "pay", "1.1.0", false)).status).toBe("active");
    expect(await runs("^1.0.0")).toBe("1.1.0");
    expect(await lastRecord()).toMatchObject({ action: "tool.undeprecated" });
  });

  test("again changes nothing and leaves no record", async () => {
    await deprecateTool(ports, owner, "pay", "1.1.0", true);
    const records = (await office.audit()).length;
    expect((await deprecateTool(ports, owner, "pay", "1.1.0", true)).status).toBe("deprecated");
    expect(await office.audit()).toHaveLength(records);
  });

  test("is no way out of a quarantine, and an unknown version is not found", async () => {
    await quarantineTool(ports, owner, "pay", "1.1.0", { released: false, reason: "leaks" });
    for (const deprecated of [true, false]) {
      expect((await refusal(deprecateTool(ports, owner, "pay", "1.1.0", deprecated))).code).toBe("conflict");
    }
    expect(await runs("1.1.0")).toBe("quarantined 1.1.0");
    expect((await refusal(deprecateTool(ports, owner, "pay", "7.0.0", true))).code).toBe("tool_not_found");
  });
});

describe("quarantine", () => {
  test("of one version: it does not run, ranges pass over it, and what waits is looked at again", async () => {
    expect(await quarantineTool(ports, owner, "pay", "1.1.0", { released: false, reason: "leaks" })).toEqual({
      versions: ["1.1.0"],
      denied: 3,
    });
    expect([await runs("1.1.0"), await runs("^1.0.0"), await runs("~1.1"), await runs()]).toEqual([
      "quarantined 1.1.0",
      "1.0.0",
      "quarantined 1.1.0",
      "1.0.0",
    ]);
    expect(looks).toBe(1);
    expect(await lastRecord()).toEqual({
      action: "tool.quarantined",
      principal: "user:own",
      tool: "pay",
      version: "1.1.0",
      details: { reason: "leaks", versions: ["1.1.0"], count: 1 },
    });
    expect(
      await ports.catalog.standing({
        tenant: "acme",
        project: "shop",
        tool: "pay",
        toolTenant: "acme",
        version: "1.1.0",
      }),
    ).toEqual({ ok: false, reason: "quarantined" });
  });

  test("of the active version refuses who names none: no other one steps in by itself", async () => {
    await quarantineTool(ports, owner, "pay", "1.0.0", { released: false, reason: "leaks" });
    expect(await runs()).toBe("quarantined 1.0.0");
    await activateTool(ports, owner, "pay", "1.1.0");
    expect(await runs()).toBe("1.1.0");
    expect(await refusal(activateTool(ports, owner, "pay", "1.0.0"))).toMatchObject({
      code: "conflict",
      details: { status: "quarantined" },
    });
  });

  test("of all versions, and their release; what was deprecated is told", async () => {
    await deprecateTool(ports, owner, "pay", "1.1.0", true);
    expect(
      (await quarantineTool(ports, owner, "pay", undefined, { released: false, reason: "leaks" })).versions,
    ).toEqual(["1.0.0", "1.1.0", "2.0.0"]);
    expect(await runs("*")).toBe("quarantined 2.0.0");
    expect(await lastRecord()).toMatchObject({
      action: "tool.quarantined",
      version: undefined,
      details: { reason: "leaks", versions: ["1.0.0", "1.1.0", "2.0.0"], count: 3, deprecated_before: ["1.1.0"] },
    });
    expect((await quarantineTool(ports, owner, "pay", "2.0.0", { released: true, reason: "fixed" })).versions).toEqual([
      "2.0.0",
    ]);
    expect(await runs("*")).toBe("2.0.0");
    expect(
      (await quarantineTool(ports, owner, "pay", undefined, { released: true, reason: "fixed" })).versions,
    ).toEqual(["1.0.0", "1.1.0"]);
    expect([await runs(), await runs("1.x")]).toEqual(["1.0.0", "1.1.0"]);
    expect(await lastRecord()).toMatchObject({
      action: "tool.released",
      details: { reason: "fixed", versions: ["1.0.0", "1.1.0"], count: 2 },
    });
    expect(looks).toBe(3);
  });

  test("again is no error, changes nothing and leaves no record; neither does a release of what was free", async () => {
    await quarantineTool(ports, owner, "pay", "1.1.0", { released: false, reason: "leaks" });
    const records = (await office.audit()).length;
    expect((await quarantineTool(ports, owner, "pay", "1.1.0", { released: false, reason: "leaks" })).versions).toEqual(
      ["1.1.0"],
    );
    expect((await quarantineTool(ports, owner, "pay", "2.0.0", { released: true, reason: "" })).versions).toEqual([]);
    expect(await office.audit()).toHaveLength(records);
  });

  test("of more versions than one commit takes, in some commits", async () => {
    const row = await office.ledger.toolVersion("acme", "pay", "1.0.0");
    if (row === undefined) throw new Error("pay@1.0.0 should be there");
    const writes = Array.from({ length: 1_500 }, (_, index) => ({
      op: "insert_tool_version" as const,
      row: { ...row, tool: "many", version: `1.0.${index}` },
      activate: false,
    }));
    await office.ledger.commit({ writes });
    expect(
      (await quarantineTool(ports, owner, "many", undefined, { released: false, reason: "leaks" })).versions,
    ).toHaveLength(1_500);
    expect(await runs("*", "many")).toBe("quarantined 1.0.1499");
    const records = (await office.audit()).filter(({ action }) => action === "tool.quarantined");
    expect(records.map(({ details }) => details?.["count"])).toEqual([500, 1_000]);
    expect(records[0]?.details?.["versions"]).toHaveLength(100);
  });

  test("stands, whatever somebody else was changing at the same moment", async () => {
    const { ledger } = office;
    const commit = ledger.commit.bind(ledger);
    const change = { op: "set_tool_status", tenant: "acme", tool: "pay", version: "1.1.0", from: "active" } as const;
    /** Another replica's change, between the look at the status and the commit that goes by it. */
    const slipIn = (status: "deprecated" | "quarantined"): void => {
      ledger.commit = async (unit) => {
        ledger.commit = commit;
        await commit({ writes: [{ ...change, status }] });
        return commit(unit);
      };
    };
    slipIn("quarantined");
    expect((await refusal(deprecateTool(ports, owner, "pay", "1.1.0", true))).code).toBe("conflict");
    expect(await runs("1.1.0")).toBe("quarantined 1.1.0");

    await quarantineTool(ports, owner, "pay", "1.1.0", { released: true, reason: "fixed" });
    slipIn("deprecated");
    expect((await quarantineTool(ports, owner, "pay", "1.1.0", { released: false, reason: "leaks" })).versions).toEqual(
      ["1.1.0"],
    );
    expect(await runs("1.1.0")).toBe("quarantined 1.1.0");
    expect((await lastRecord()).details).toMatchObject({ deprecated_before: ["1.1.0"] });
  });

  test("by the platform reaches every tenant; a tenant cannot touch the platform's tools", async () => {
    await register("echo", "1.0.0", operator);
    expect([await runs("", "echo"), await runs("", "echo", "beta")]).toEqual(["1.0.0", "1.0.0"]);
    const refusals = await Promise.all(
      [
        quarantineTool(ports, owner, "echo", "1.0.0", { released: false, reason: "dislike" }),
        deprecateTool(ports, owner, "echo", "1.0.0", true),
        rollBackTool(ports, owner, "echo", undefined),
        activateTool(ports, owner, "echo", "1.0.0"),
      ].map(refusal),
    );
    for (const refused of refusals) {
      expect(refused).toMatchObject({ code: "tool_not_found", details: { tool: "echo", owner: "platform" } });
      expect(refused.message).toContain("signalbox tools pin echo <version>");
    }
    expect(await runs("", "echo")).toBe("1.0.0");
    await quarantineTool(ports, operator, "echo", undefined, { released: false, reason: "leaks" });
    expect([await runs("", "echo"), await runs("", "echo", "beta")]).toEqual([
      "quarantined 1.0.0",
      "quarantined 1.0.0",
    ]);
    expect((await lastRecord("platform")).action).toBe("tool.quarantined");
  });
});

describe("activations", () => {
  test("are the tool's alone, and shown to whom may call it", async () => {
    await register("ship");
    expect(await refusal(activations(ports, reader, "pay"))).toMatchObject({ code: "tool_not_found" });
    await office.grant("user:ann", ["tool:invoke:pay"]);
    expect((await activations(ports, reader, "pay")).map(({ version }) => version)).toEqual(["1.0.0"]);
    expect((await refusal(activations(ports, owner, "fly"))).code).toBe("tool_not_found");
  });

  test("activating what is active adds nothing", async () => {
    await activateTool(ports, owner, "pay", "1.0.0");
    expect(await activations(ports, owner, "pay")).toHaveLength(1);
  });
});

test.each<[string, (asked: Asked) => Promise<unknown>, string]>([
  ["pinTool", (asked) => pinTool(ports, asked, "pay", "1.0.0"), "tools:write"],
  ["rollBackTool", (asked) => rollBackTool(ports, asked, "pay", undefined), "tools:write"],
  ["deprecateTool", (asked) => deprecateTool(ports, asked, "pay", "1.0.0", true), "tools:write"],
  [
    "quarantineTool",
    (asked) => quarantineTool(ports, asked, "pay", "1.0.0", { released: false, reason: "no" }),
    "tools:write",
  ],
  ["toolPins", (asked) => toolPins(ports, asked), "tools:read"],
  ["activations", (asked) => activations(ports, asked, "pay"), "tools:read"],
])("%s needs its scope, and the refusal is audited", async (_, ask, scope) => {
  const nobody = by({ name: "user:nobody", scopes: new Set(["tools:invoke"]) });
  expect(await refusal(ask(nobody))).toMatchObject({ code: "forbidden", details: { missing_scope: scope } });
  expect((await office.audit())[0]).toMatchObject({ status: "refused", principal: "user:nobody" });
  expect(await runs()).toBe("1.0.0");
});
