// Published policies as their owners handle them: listed, looked up, put in force and taken out of it, and the defaults.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { by, noon, operator, owner, paper, PolicyOffice } from "../../../../test/support/policy-office.ts";
import { getPolicy, listPolicies, policyDefaults, setPolicyDefault, setPolicyStatus } from "./policy-admin.ts";

let office: PolicyOffice;
beforeEach(async () => {
  office = await PolicyOffice.open();
});
afterEach(() => office.close());

const inForce = (name = "rule", tenant = "acme"): string | undefined => {
  const current = office.ports.policies.current();
  if (!current.ok) throw new Error(current.failure);
  return current.set.find({ tenant, reference: name })?.version;
};

describe("looking up", () => {
  beforeEach(async () => {
    for (const version of ["1.2.0", "1.10.0", "1.9.0"]) await office.publish({ version });
    await office.publish({ name: "other", level: "project", project: "shop" });
    await office.publish({ name: "rule", level: "platform", version: "7.0.0" }, operator);
  });
  const reader = by();

  test("lists are the tenant's own, or the platform's when asked for", async () => {
    const names = async (query: object): Promise<string[]> =>
      (await listPolicies(office.ports, reader, { limit: 10, ...query })).items
        .map(({ tenant, name, version }) => `${tenant}/${name}@${version}`)
        .toSorted();
    expect(await names({})).toEqual(["acme/other@1.0.0", "acme/rule@1.10.0", "acme/rule@1.2.0", "acme/rule@1.9.0"]);
    expect(await names({ status: "active" })).toEqual(["acme/other@1.0.0", "acme/rule@1.10.0"]);
    expect(await names({ level: "project", project: "shop" })).toEqual(["acme/other@1.0.0"]);
    expect(await names({ platform: true })).toEqual(["platform/rule@7.0.0"]);
    const page = await listPolicies(office.ports, reader, { limit: 3 });
    expect((await listPolicies(office.ports, reader, { limit: 3, cursor: page.next ?? "" })).items).toHaveLength(1);
    expect((await listPolicies(office.ports, by({ tenant: "umbrella" }), { limit: 10 })).items).toEqual([]);
  });

  test("one: the active version, else the newest, or the one that is named", async () => {
    const { policy, versions } = await getPolicy(office.ports, reader, "rule", undefined, false);
    expect(versions).toEqual(["1.10.0", "1.9.0", "1.2.0"]);
    expect(policy).toMatchObject({ version: "1.10.0", status: "active" });
    expect(JSON.parse(policy.documentJson)).toEqual(paper({ version: "1.10.0" }));
    expect((await getPolicy(office.ports, reader, "rule", "1.2.0", false)).policy.status).toBe("superseded");
    await setPolicyStatus(office.ports, owner, "rule", "1.2.0", "active");
    expect((await getPolicy(office.ports, reader, "rule", undefined, false)).policy.version).toBe("1.2.0");
    await setPolicyStatus(office.ports, owner, "rule", "1.2.0", "withdrawn");
    expect((await getPolicy(office.ports, reader, "rule", undefined, false)).policy).toMatchObject({
      version: "1.10.0",
      status: "superseded",
    });
    expect((await getPolicy(office.ports, reader, "rule", undefined, true)).policy).toMatchObject({
      tenant: "platform",
      version: "7.0.0",
    });
  });

  test("what is not there is said with what is", async () => {
    await expect(getPolicy(office.ports, reader, "rule", "3.0.0", false)).rejects.toMatchObject({
      code: "policy_not_found",
      message: "there is no version 3.0.0 of the policy rule",
      details: { policy: "rule", version: "3.0.0", versions: ["1.10.0", "1.9.0", "1.2.0"] },
    });
    await expect(getPolicy(office.ports, reader, "rulle", undefined, false)).rejects.toMatchObject({
      code: "policy_not_found",
      message: "there is no policy rulle; 'signalbox policies list' shows those there are",
      details: { policy: "rulle", did_you_mean: ["rule"] },
    });
    await expect(getPolicy(office.ports, by({ tenant: "umbrella" }), "rulle", undefined, false)).rejects.toMatchObject({
      details: { policy: "rulle" },
    });
  });
});

describe("in force and out of it", () => {
  beforeEach(async () => {
    await office.publish({ version: "1.0.0" });
    await office.publish({ version: "2.0.0" });
  });

  test("an older version takes over again, and the other is superseded; audited", async () => {
    expect(await setPolicyStatus(office.ports, owner, "rule", "1.0.0", "active")).toMatchObject({
      version: "1.0.0",
      status: "active",
    });
    expect(inForce()).toBe("1.0.0");
    expect((await office.ledger.policy("acme", "rule", "2.0.0"))?.status).toBe("superseded");
    const [record] = await office.audit();
    const digest = (await office.ledger.policy("acme", "rule", "1.0.0"))?.digest;
    expect(record).toMatchObject({
      action: "policy.activated",
      principal: "user:own",
      details: { policy: "rule", version: "1.0.0", digest, from: "superseded" },
    });
  });

  test("a withdrawn version is nowhere in force, not even where it is pinned, until it is activated again", async () => {
    expect((await setPolicyStatus(office.ports, owner, "rule", "2.0.0", "withdrawn")).status).toBe("withdrawn");
    const current = office.ports.policies.current();
    expect(current.ok && current.set.find({ tenant: "acme", reference: "rule@2.0.0" })).toBeUndefined();
    expect(inForce()).toBeUndefined();
    expect((await office.audit())[0]).toMatchObject({
      action: "policy.withdrawn",
      details: { version: "2.0.0", from: "active" },
    });
    await setPolicyStatus(office.ports, owner, "rule", "2.0.0", "active");
    expect(inForce()).toBe("2.0.0");
  });

  test("what stands already is no change and leaves no record", async () => {
    const { changes } = office;
    expect((await setPolicyStatus(office.ports, owner, "rule", "2.0.0", "active")).status).toBe("active");
    expect([office.changes - changes, (await office.audit()).length]).toEqual([0, 2]);
  });

  test("what is not there, and what is another tenant's, is the same not found", async () => {
    const umbrella = by({ tenant: "umbrella", scopes: new Set(["*"]) });
    for (const [asked, version] of [
      [owner, "9.0.0"],
      [umbrella, "1.0.0"],
    ] as const)
      await expect(setPolicyStatus(office.ports, asked, "rule", version, "withdrawn")).rejects.toMatchObject({
        code: "policy_not_found",
      });
    expect(inForce()).toBe("2.0.0");
    expect(await office.audit("umbrella")).toEqual([]);
  });

  test("what the store and the memory say is the same, whatever came together", async () => {
    await Promise.all([
      office.publish({ version: "4.0.0" }),
      setPolicyStatus(office.ports, owner, "rule", "1.0.0", "active"),
      office.publish({ version: "3.0.0" }),
      setPolicyStatus(office.ports, owner, "rule", "2.0.0", "withdrawn"),
    ]);
    const stored = (await office.ledger.policies()).map(({ version, status }) => `${version} ${status}`).toSorted();
    const current = office.ports.policies.current();
    const held = current.ok
      ? [...current.set.versions()].map(({ version, status }) => `${version} ${status}`).toSorted()
      : [];
    expect(held).toEqual(stored);
    expect(stored.filter((one) => one.endsWith(" active"))).toHaveLength(1);
  });
});

describe("defaults", () => {
  test("are set, shown to whom they bind, taken away, and audited", async () => {
    expect(await setPolicyDefault(office.ports, owner, "", "deny")).toEqual({
      tenant: "acme",
      project: "",
      decision: "deny",
      changedAt: noon,
      changedBy: "user:own",
    });
    await setPolicyDefault(office.ports, owner, "shop", "allow");
    await setPolicyDefault(office.ports, operator, "", "deny");
    await setPolicyDefault(office.ports, by({ tenant: "umbrella", scopes: new Set(["*"]) }), "", "deny");
    expect(office.ports.policies.defaultsFor("acme", "shop")).toEqual({
      platform: "deny",
      tenant: "deny",
      project: "allow",
    });
    const shown = (await policyDefaults(office.ports, by())).map(
      ({ tenant, project, decision }) => `${tenant}/${project} ${decision}`,
    );
    expect(shown.toSorted()).toEqual(["acme/ deny", "acme/shop allow", "platform/ deny"]);
    await setPolicyDefault(office.ports, owner, "", null);
    expect(office.ports.policies.defaultsFor("acme", "shop")).toEqual({ platform: "deny", project: "allow" });
    expect((await office.audit()).map(({ action, details }) => [action, details])).toEqual([
      ["policy.default_set", { project: "", decision: null }],
      ["policy.default_set", { project: "shop", decision: "allow" }],
      ["policy.default_set", { project: "", decision: "deny" }],
    ]);
  });

  test("of a project that is not there are refused: they would hold nowhere", async () => {
    await expect(setPolicyDefault(office.ports, owner, "shpo", "deny")).rejects.toMatchObject({
      code: "project_not_found",
      details: { project: "shpo", did_you_mean: ["shop"] },
    });
    expect((await setPolicyDefault(office.ports, owner, "shpo", null)).decision).toBeNull();
    expect(await office.ledger.policyDefaults()).toEqual([]);
  });
});

test.each<[string, (of: PolicyOffice) => Promise<unknown>, string]>([
  ["setPolicyStatus", ({ ports }) => setPolicyStatus(ports, by(), "rule", "1.0.0", "active"), "policies:write"],
  ["setPolicyDefault", ({ ports }) => setPolicyDefault(ports, by(), "", "deny"), "policies:write"],
  ["listPolicies", ({ ports }) => listPolicies(ports, by({ scopes: new Set() }), { limit: 10 }), "tools:read"],
  ["getPolicy", ({ ports }) => getPolicy(ports, by({ scopes: new Set() }), "rule", undefined, true), "tools:read"],
  ["policyDefaults", ({ ports }) => policyDefaults(ports, by({ scopes: new Set() })), "tools:read"],
])("%s needs its scope before anything is looked at", async (_, ask, scope) => {
  await expect(ask(office)).rejects.toMatchObject({ code: "forbidden", details: { missing_scope: scope } });
  expect(await office.audit()).toMatchObject([{ status: "refused", details: { missing_scope: scope } }]);
});
