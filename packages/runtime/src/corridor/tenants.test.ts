// Tenants in the operator's hand: made whole or not at all, seen by nobody else, and stopped and resumed without losing anything.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, refusal } from "../../../../test/support/corridor.ts";
import { accepted, result, started } from "../../../../test/support/hand-hub.ts";
import { admin, ask, Governed } from "../../../../test/support/governed.ts";
import type { HandStream } from "../../../../test/support/hand-stream.ts";
import { tenancyBounds } from "../tenancy/tenant.ts";
import type { Asked } from "../tenancy/types.ts";

let house: Governed;
beforeEach(async () => {
  house = await Governed.open();
});
afterEach(() => house.close());

const operator = asked({ tenant: "platform", project: "default", name: "user:operator", scopes: new Set(["admin"]) });
const deputy = asked({ tenant: "platform", project: "default", name: "user:deputy", scopes: new Set(["tools:write"]) });

/** The calls that a worker was given so far. */
const given = (worker: HandStream): readonly string[] => worker.words().filter((word) => word.startsWith("invoke"));

const as = async (secret: string): Promise<Asked> => ({
  requestId: "req_9",
  principal: await house.service.authenticate(secret, "req_9"),
});

describe("a new tenant", () => {
  test("has a project, and a key that may do everything in it from the next request on", async () => {
    const { tenant, key, secret } = await house.service.createTenant(operator, { tenant: "beta", weight: 3 });
    expect(tenant).toEqual({
      tenant: "beta",
      weight: 3,
      createdAt: 1_000_000,
      suspendedAt: null,
      suspendedBy: null,
      suspendedReason: null,
    });
    expect(key).toMatchObject({
      tenant: "beta",
      project: "default",
      principal: "user:admin",
      scopes: ["*"],
      label: "first admin key",
    });
    const owner = await as(secret);
    expect(owner.principal).toMatchObject({ tenant: "beta", project: "default", name: "user:admin" });
    expect(await house.service.listProjects(owner)).toMatchObject([{ project: "default", environment: "development" }]);
    await house.tool({}, "beta");
    expect((await house.invoke({}, owner)).call).toMatchObject({ tenant: "beta", project: "default", state: "queued" });
  });

  test("may have a first key of another name", async () => {
    const first = { principal: "user:bo", label: "of Bo" };
    const { key } = await house.service.createTenant(operator, { tenant: "beta", admin: first });
    expect(key).toMatchObject(first);
    expect(await house.ledger.grants("beta")).toMatchObject([{ subject: "user:bo", permissions: ["*"] }]);
  });

  test("stands in the audit of who made it, and is the first thing in its own; its secret stands nowhere", async () => {
    const { key, secret } = await house.service.createTenant(operator, { tenant: "beta" });
    const facts = { key_id: key.keyId, for: "user:admin", weight: 1 };
    expect(await house.audit("platform")).toMatchObject([
      {
        action: "tenant.created",
        principal: "user:operator",
        requestId: "req_7",
        details: { tenant: "beta", ...facts },
      },
    ]);
    expect(await house.audit("beta")).toMatchObject([
      {
        action: "tenant.created",
        principal: "user:operator",
        project: "",
        details: { by_tenant: "platform", ...facts },
      },
    ]);
    expect(JSON.stringify([await house.audit("platform"), await house.audit("beta")])).not.toContain(secret.slice(-43));
  });

  test("is not made twice: nothing of the second try is left", async () => {
    await house.service.createTenant(operator, { tenant: "beta" });
    expect(await refusal(house.service.createTenant(operator, { tenant: "beta", weight: 9 }))).toMatchObject({
      code: "conflict",
      details: { tenant: "beta" },
    });
    expect(await house.ledger.tenant("beta")).toMatchObject({ weight: 1 });
    expect([
      await house.ledger.keys("beta"),
      await house.ledger.grants("beta"),
      await house.audit("beta"),
    ]).toMatchObject([[{}], [{}], [{}]]);
  });

  test.each(["", "a b", "a/b", "a\nb", "..", ".a", "a.", "-a", "ä", "x".repeat(129), "platform", "Platform"])(
    "cannot be called %j",
    async (tenant) => {
      expect(await refusal(house.service.createTenant(operator, { tenant }))).toMatchObject({
        code: "invalid_input",
        details: { fields: [{ pointer: "/tenant", keyword: "pattern", message: expect.any(String) }] },
      });
      expect(await house.audit("platform")).toEqual([]);
    },
  );

  test.each(["a", "A_1", "acme-2.eu", "x".repeat(128)])("can be called %j", async (tenant) => {
    expect((await house.service.createTenant(operator, { tenant })).tenant.tenant).toBe(tenant);
  });

  test.each([0, 1_001, 1.5, Number.NaN])("has no weight of %j", async (weight) => {
    const wish = [
      house.service.createTenant(operator, { tenant: "beta", weight }),
      house.service.changeTenant(operator, "acme", { weight }),
    ];
    for (const one of wish)
      expect(await refusal(one)).toMatchObject({ code: "invalid_input", details: { fields: [{ pointer: "/weight", keyword: "format", message: "must be a whole number from 1 to 1000" }] } });
  });

  test("is not made when the disk is full, and can be made afterwards", async () => {
    house.ledger.full = true;
    expect(await refusal(house.service.createTenant(operator, { tenant: "beta" }))).toMatchObject({
      code: "ledger_unavailable",
    });
    house.ledger.full = false;
    expect(await house.ledger.tenants()).toMatchObject([{ tenant: "acme" }]);
    await house.service.createTenant(operator, { tenant: "beta" });
  });

  test("finds no place in a runtime that has as many as it may have", async () => {
    const { tenantsMax } = tenancyBounds;
    const there = Array.from({ length: tenantsMax - 2 }, (_, n) =>
      house.ledger.commit({
        writes: [
          {
            op: "insert_tenant",
            row: {
              tenant: `t${n}`,
              weight: 1,
              createdAt: 0,
              suspendedAt: null,
              suspendedBy: null,
              suspendedReason: null,
            },
          },
        ],
      }),
    );
    await Promise.all(there);
    const wish = ["last", "over"].map((tenant) => house.service.createTenant(operator, { tenant }));
    expect((await wish[0])?.tenant.tenant).toBe("last");
    expect(await refusal(wish[1] as Promise<unknown>)).toMatchObject({
      code: "conflict",
      details: { tenants_max: tenantsMax },
    });
  });
});

describe("who sees and does what", () => {
  test("the operator sees all tenants; an administrator its own, and every other name is no tenant", async () => {
    await house.service.createTenant(operator, { tenant: "beta" });
    expect((await house.service.listTenants(operator)).map(({ tenant }) => tenant)).toEqual(["acme", "beta"]);
    expect(await house.service.listTenants(admin)).toMatchObject([{ tenant: "acme" }]);
    expect(await house.service.getTenant(admin, "acme")).toMatchObject({ tenant: "acme" });
    const foreign = await refusal(house.service.getTenant(admin, "beta"));
    expect(foreign).toMatchObject({ code: "tenant_not_found" });
    expect(await refusal(house.service.getTenant(admin, "nobody"))).toEqual(foreign);
    expect(await refusal(house.service.getTenant(operator, "nobody"))).toMatchObject({ code: "tenant_not_found" });
  });

  const wanted = { label: "x", principal: "user:x", scopes: ["tools:read"] } as const;
  test.each<[string, (by: Asked, tenant: string) => Promise<unknown>]>([
    ["make one", (by) => house.service.createTenant(by, { tenant: "gamma" })],
    ["change one", (by, tenant) => house.service.changeTenant(by, tenant, { suspended: true })],
    ["list its keys", (by, tenant) => house.service.listTenantKeys(by, tenant, {})],
    ["make a key", (by, tenant) => house.service.createTenantKey(by, tenant, wanted)],
    ["end a key", (by, tenant) => house.service.revokeTenantKey(by, tenant, "key_1")],
  ])("to %s is the operator's alone, whatever the name, and the try is audited", async (_, ask) => {
    const own = await refusal(ask(admin, "acme"));
    expect(own).toMatchObject({ code: "forbidden", details: { reason: "operator_only", field: "tenant" } });
    expect(await refusal(ask(admin, "beta"))).toEqual(own);
    expect((await house.audit())[0]).toMatchObject({
      principal: "user:root",
      status: "refused",
      errorCode: "forbidden",
    });
    expect(await refusal(ask(deputy, "acme"))).toMatchObject({ details: { missing_scope: "admin" } });
    expect(await house.ledger.tenants()).toMatchObject([{ tenant: "acme", suspendedAt: null }]);
  });

  test("keys of a tenant are made in its project default, told to both audits, and ended", async () => {
    const everything = asked({ tenant: "platform", name: "user:operator", scopes: new Set(["*"]) });
    const { key, secret } = await house.service.createTenantKey(everything, "acme", { ...wanted, scopes: ["*"] });
    expect(key).toMatchObject({ tenant: "acme", project: "default", principal: "user:x" });
    expect((await as(secret)).principal).toMatchObject({ tenant: "acme", name: "user:x" });
    expect(await house.service.listTenantKeys(operator, "acme", { principal: "user:x" })).toMatchObject([
      { keyId: key.keyId },
    ]);
    await house.service.revokeTenantKey(operator, "acme", key.keyId);
    expect((await refusal(house.service.authenticate(secret, "r"))).code).toBe("key_revoked");
    for (const [tenant, details] of [
      ["platform", { tenant: "acme" }],
      ["acme", { by_tenant: "platform" }],
    ] as const)
      expect((await house.audit(tenant)).filter(({ action }) => action?.startsWith("key."))).toMatchObject([
        { action: "key.revoked", principal: "user:operator", details: { key_id: key.keyId, ...details } },
        { action: "key.created", principal: "user:operator", details: { key_id: key.keyId, ...details } },
      ]);
  });

  test("no operator gives out what it lacks, and nothing of a tenant that is not there", async () => {
    expect(await refusal(house.service.createTenantKey(operator, "acme", { ...wanted, scopes: ["*"] }))).toMatchObject({
      code: "forbidden",
    });
    for (const ask of [
      house.service.createTenantKey(operator, "nobody", { ...wanted, scopes: ["admin"] }),
      house.service.listTenantKeys(operator, "nobody", {}),
      house.service.revokeTenantKey(operator, "nobody", "key_1"),
      house.service.changeTenant(operator, "nobody", { weight: 2 }),
    ])
      expect(await refusal(ask)).toMatchObject({ code: "tenant_not_found" });
  });
});

describe("suspended", () => {
  const suspend = (reason = "unpaid") => house.service.changeTenant(operator, "acme", { suspended: true, reason });
  const resume = () => house.service.changeTenant(operator, "acme", { suspended: false });

  test("its keys are refused with the reason; other tenants, and its own keys that are over, hear what they always do", async () => {
    const { secret } = await house.service.createKey(admin, { label: "a", principal: "user:a", scopes: ["*"] });
    const gone = await house.service.createKey(admin, { label: "b", principal: "user:b", scopes: ["*"] });
    const beta = await house.service.createTenant(operator, { tenant: "beta" });
    await house.service.revokeKey(admin, gone.key.keyId);
    expect(await suspend()).toMatchObject({
      suspendedAt: 1_000_000,
      suspendedBy: "user:operator",
      suspendedReason: "unpaid",
    });
    expect(await refusal(house.service.authenticate(secret, "req_3"))).toMatchObject({
      code: "forbidden",
      details: { reason: "tenant_suspended" },
    });
    expect((await refusal(house.service.authenticate(gone.secret, "r"))).code).toBe("key_revoked");
    expect((await as(beta.secret)).principal.tenant).toBe("beta");
    await house.settle();
    expect((await house.audit())[0]).toMatchObject({
      action: "request.refused",
      principal: "user:a",
      errorCode: "forbidden",
      requestId: "req_3",
      details: { reason: "tenant_suspended" },
    });
    await resume();
    expect((await as(secret)).principal.name).toBe("user:a");
  });

  test("refusals are recorded once a second, and the next record tells how many went before", async () => {
    const { secret } = await house.service.createKey(admin, { label: "a", principal: "user:a", scopes: ["*"] });
    await suspend();
    for (let n = 0; n < 4; n++) await refusal(house.service.authenticate(secret, `r${n}`));
    await house.pass(1_000);
    await refusal(house.service.authenticate(secret, "r5"));
    await house.settle();
    const refused = (await house.audit()).filter(({ action }) => action === "request.refused");
    expect(refused.map(({ requestId, details }) => [requestId, details])).toEqual([
      ["r5", { reason: "tenant_suspended", not_recorded_before: 3 }],
      ["r0", { reason: "tenant_suspended" }],
    ]);
    expect(house.figures.filter(([, { reason }]) => reason === "tenant_suspended")).toHaveLength(5);
  });

  test("what runs ends as it would; what waits stays in line, its time stands still, and goes on afterwards", async () => {
    const w1 = house.worker("w1");
    const running = (await house.invoke()).call;
    await house.settle();
    w1.say(accepted(running.callId));
    w1.say(started(running.callId));
    await suspend();
    // Let in a moment before, admitted a moment after.
    const late = (await house.invoke()).call;
    await house.pass(5_000);
    w1.say(result(running.callId));
    await house.pass(60_000);
    expect([await house.state(running.callId), await house.state(late.callId)]).toEqual(["succeeded", "queued"]);
    expect(given(w1)).toEqual([`invoke ${running.callId}#1`]);
    await resume();
    await house.settle();
    w1.say({ type: "heartbeat", load: 0, inFlight: [] });
    await house.settle();
    expect(given(w1)).toEqual([`invoke ${running.callId}#1`, `invoke ${late.callId}#1`]);
  });

  test("who follows a call of it is told nothing more, and the call runs on", async () => {
    const w1 = house.worker("w1");
    const { callId } = (await house.invoke()).call;
    await house.settle();
    w1.say(accepted(callId));
    w1.say(started(callId));
    const follower = await house.service.follow(asked(), callId, 0);
    expect((await follower.next(1)).events).toHaveLength(1);
    await suspend();
    w1.say({ type: "progress", callId, fence: 1, percent: 50, message: "half" });
    expect(await refusal(follower.next(1))).toMatchObject({ code: "forbidden", details: { reason: "tenant_suspended" } });
    follower.close();
    w1.say(result(callId));
    await house.settle();
    expect(await house.state(callId)).toBe("succeeded");
  });

  test("a question that time answers goes on into the line, and waits there with the rest", async () => {
    await house.policy({ name: "ask", then: ask("boss", 1, { timeout: "10s", on_timeout: "allow" }) });
    const { callId } = await house.parked();
    const w1 = house.worker("w1");
    await suspend();
    await house.pass(10_000);
    expect([await house.state(callId), w1.words()]).toEqual(["queued", ["registered"]]);
    await resume();
    await house.settle();
    w1.say({ type: "heartbeat", load: 0, inFlight: [] });
    await house.settle();
    expect(given(w1)).toEqual([`invoke ${callId}#1`]);
  });

  test("a freeze stays when it is resumed, and it stays when the freeze is lifted", async () => {
    const w1 = house.worker("w1");
    await house.service.freeze(admin, "", "incident");
    await suspend();
    await house.invoke();
    await house.service.unfreeze(admin, "");
    await house.settle();
    expect(given(w1)).toEqual([]);
    await house.service.freeze(admin, "", "incident");
    await resume();
    await house.settle();
    expect(given(w1)).toEqual([]);
    await house.service.unfreeze(admin, "");
    await house.settle();
    expect(given(w1)).toHaveLength(1);
  });

  test("its workers are let in all the same: what they hold must be able to end; nobody else's key becomes one by that", async () => {
    const worker = await house.service.createKey(admin, {
      label: "w",
      principal: "service:w",
      scopes: ["workers:connect"],
    });
    const other = await house.service.createKey(admin, { label: "r", principal: "user:r", scopes: ["tools:read"] });
    await suspend();
    expect(await house.runtime.admitWorker(worker.secret)).toMatchObject({ tenant: "acme", name: "service:w" });
    expect(await refusal(house.runtime.admitWorker(other.secret))).toMatchObject({
      details: { missing_scope: "workers:connect" },
    });
    expect((await refusal(house.runtime.admitWorker("sbk_none"))).code).toBe("unauthenticated");
  });

  test("said again it changes nothing, and each change stands once in both audits", async () => {
    await suspend();
    await house.pass(500);
    expect(await suspend("another reason")).toMatchObject({ suspendedAt: 1_000_000, suspendedReason: "unpaid" });
    await resume();
    expect(await resume()).toMatchObject({ suspendedAt: null, suspendedBy: null, suspendedReason: null });
    await house.service.changeTenant(operator, "acme", { weight: 4, suspended: true, reason: "again" });
    for (const tenant of ["platform", "acme"])
      expect((await house.audit(tenant)).map(({ action, details }) => [action, details])).toEqual(
        expect.arrayContaining([
          ["tenant.suspended", expect.objectContaining({ reason: "again" })],
          ["tenant.changed", expect.objectContaining({ weight: 4, from: 1 })],
          ["tenant.resumed", expect.anything()],
          ["tenant.suspended", expect.objectContaining({ reason: "unpaid" })],
        ]),
      );
    expect(await house.audit("platform")).toHaveLength(4);
    expect(await house.ledger.tenant("acme")).toMatchObject({ weight: 4, suspendedReason: "again" });
  });

  test("a disk that is full: it holds at once all the same, and can be taken back", async () => {
    house.ledger.full = true;
    expect(await refusal(suspend())).toMatchObject({ code: "ledger_unavailable" });
    house.ledger.full = false;
    await house.pass(500);
    const w1 = house.worker("w1");
    await house.invoke();
    await house.settle();
    expect(w1.words()).toEqual(["registered"]);
    await resume();
    await house.settle();
    expect(given(w1)).toHaveLength(1);
  });

  test("it is not resumed before that is stored", async () => {
    await suspend();
    house.ledger.full = true;
    expect(await refusal(resume())).toMatchObject({ code: "ledger_unavailable" });
    house.ledger.full = false;
    await house.pass(500);
    expect(await house.ledger.tenant("acme")).toMatchObject({ suspendedReason: "unpaid" });
    const w1 = house.worker("w1");
    await house.invoke();
    await house.settle();
    expect(w1.words()).toEqual(["registered"]);
  });

  test("a process that comes after knows of it before it gives anything away", async () => {
    const { call } = await house.invoke();
    await suspend();
    await house.kill();
    const after = await Governed.open({}, house);
    try {
      const w1 = after.worker("w1");
      await after.settle();
      expect(w1.words()).toEqual(["registered"]);
      await after.service.changeTenant(operator, "acme", { suspended: false });
      await after.settle();
      expect(given(w1)).toEqual([`invoke ${call.callId}#1`]);
    } finally {
      house = after;
    }
  });

  test("the operator's own tenant is never suspended", async () => {
    expect(await refusal(house.service.changeTenant(operator, "platform", { suspended: true }))).toMatchObject({
      code: "invalid_input",
    });
  });
});
