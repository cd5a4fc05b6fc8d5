// The order of the stages, proved by requests that more than one of them would refuse, and what each refusal leaves behind.
import { parseJson } from "@signalbox/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor, refusal } from "../../../../test/support/corridor.ts";

let corridor: Corridor;
beforeEach(() => {
  corridor = new Corridor();
});
afterEach(() => corridor.close());

describe("scope, before everything", () => {
  test("a key without tools:invoke learns nothing of tools, tenants or projects; the refusal is audited and counted", async () => {
    const by = asked({ scopes: new Set(["tools:read", "calls:read"]) });
    const refused = await refusal(corridor.invoke({ tool: "no-such-tool", tenant: "other", project: "other" }, by));
    expect(refused).toEqual({ code: "forbidden", message: "this key lacks the scope tools:invoke", details: { missing_scope: "tools:invoke" }, executionId: undefined });
    expect(await corridor.audit()).toEqual([
      {
        ts: 1_000_000,
        tenant: "acme",
        project: "shop",
        principal: "user:ann",
        action: "request.refused",
        errorCode: "forbidden",
        status: "refused",
        requestId: "req_7",
        details: { missing_scope: "tools:invoke" },
      },
    ]);
    expect(corridor.figures).toEqual([["authorization_denied_total", { reason: "scope" }]]);
    expect(await corridor.rows()).toEqual([]);
  });
});

describe("tenant and project, before the tool", () => {
  test("another tenant is refused, also for a tool that nobody has; both words are the credential's own", async () => {
    const refused = await refusal(corridor.invoke({ tool: "no-such-tool", tenant: "other" }));
    expect(refused).toMatchObject({ code: "forbidden", details: { field: "tenant" } });
    expect(await corridor.audit()).toMatchObject([{ tenant: "acme", action: "call.refused", tool: "no-such-tool", details: { field: "tenant" } }]);
    expect(await corridor.audit("other")).toEqual([]);
    expect(corridor.figures).toEqual([["authorization_denied_total", { reason: "tenant" }]]);
  });

  test("its own tenant may be said", async () => {
    await corridor.tool();
    await corridor.grant(["*"]);
    expect((await corridor.invoke({ tenant: "acme", project: "shop" })).call).toMatchObject({ tenant: "acme", project: "shop" });
  });

  test("another project is for the key that may do everything", async () => {
    await corridor.tool();
    await corridor.grant(["*"]);
    expect(await refusal(corridor.invoke({ project: "office" }))).toMatchObject({ code: "forbidden", details: { field: "project" } });
    corridor.runtime.policies.projectChanged({ tenant: "acme", project: "office", environment: "", createdAt: 0 });
    const { call } = await corridor.invoke({ project: "office" }, asked({ scopes: new Set(["*"]) }));
    expect(call.project).toBe("office");
  });

  test.each(["ghost", "default ", "DEFAULT", ""])("a project that nobody made is none, even for that key: %j", async (project) => {
    await corridor.tool();
    await corridor.grant(["*"]);
    const refused = await refusal(corridor.invoke({ project }, asked({ scopes: new Set(["*"]) })));
    expect(refused).toMatchObject({ code: "project_not_found", details: { project } });
    expect((await corridor.audit())[0]).toMatchObject({ action: "call.refused", errorCode: "project_not_found" });
    expect(await corridor.rows()).toEqual([]);
  });
});

describe("the tool, before the grant", () => {
  test("an unknown one is not found, grants or none; near names only of what the caller may see", async () => {
    await corridor.tool({ name: "payment" });
    await corridor.tool({ name: "payments" });
    expect(await refusal(corridor.invoke({ tool: "paymentz" }))).toMatchObject({ code: "tool_not_found", details: { tool: "paymentz" } });
    expect((await refusal(corridor.invoke({ tool: "paymentz" }))).details).not.toHaveProperty("did_you_mean");
    await corridor.grant(["tool:invoke:payment"]);
    expect((await refusal(corridor.invoke({ tool: "paymentz" }))).details).toEqual({ tool: "paymentz", did_you_mean: ["payment"] });
    expect((await corridor.audit())[0]).toMatchObject({ action: "call.refused", errorCode: "tool_not_found", tool: "paymentz" });
    expect(await corridor.rows()).toEqual([]);
  });

  test("an unknown version names the newest ones to who may run it", async () => {
    for (const version of ["1.0.0", "1.1.0", "1.2.0", "2.0.0"]) await corridor.tool({ version });
    expect((await refusal(corridor.invoke({ version: "9.9.9" }))).details).toEqual({ tool: "pay", version: "9.9.9" });
    await corridor.grant(["tool:invoke:pay"]);
    expect((await refusal(corridor.invoke({ version: "9.9.9" }))).details).toEqual({ tool: "pay", version: "9.9.9", versions: ["2.0.0", "1.2.0", "1.1.0"] });
    expect(await refusal(corridor.invoke({ version: "newest" }))).toMatchObject({ code: "invalid_input", details: { fields: [{ pointer: "/version", keyword: "pattern", message: "must be a version like 1.2.0 or a range like ^1.2.0" }] } });
  });

  test.each([
    [undefined, "1.0.0"],
    ["1.1.0", "1.1.0"],
    ["^1.0.0", "1.1.0"],
    ["2.0.0-beta.1", "2.0.0-beta.1"],
  ])("version %s runs %s; what was asked for is kept", async (version, runs) => {
    for (const published of ["1.0.0", "1.1.0", "2.0.0-beta.1"]) await corridor.tool({ version: published });
    await corridor.grant(["*"]);
    const { call } = await corridor.invoke(version === undefined ? {} : { version });
    expect(call).toMatchObject({ version: runs, requestedVersion: version ?? "" });
  });

  test("a platform tool runs with the platform's workers; a tenant's own tool of that name hides it", async () => {
    await corridor.tool({ name: "echo" }, "platform");
    await corridor.grant(["*"]);
    expect((await corridor.invoke({ tool: "echo" })).call.toolTenant).toBe("platform");
    await corridor.tool({ name: "echo", version: "7.0.0" });
    expect((await corridor.invoke({ tool: "echo" })).call).toMatchObject({ toolTenant: "acme", version: "7.0.0" });
  });
});

describe("the grant, before the input", () => {
  test("who may not call it learns nothing of its schema; a denied row keeps hashes, and neither input nor key", async () => {
    await corridor.tool();
    const refused = await refusal(corridor.invoke({ input: { secret: "4711" }, idempotencyKey: "k1" }));
    expect(refused).toMatchObject({ code: "forbidden", details: { missing: ["tool:invoke:pay"] }, executionId: expect.stringMatching(/^exec_/) as string });
    const row = await corridor.ledger.getCall("acme", refused.executionId ?? "");
    expect(row).toMatchObject({
      state: "denied",
      inputJson: null,
      idempotencyKey: null,
      inputHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      decision: { outcome: "deny" },
      error: { code: "forbidden", details: { missing: ["tool:invoke:pay"] } },
    });
    expect(JSON.stringify([row, await corridor.audit(), await corridor.eventsOf(refused.executionId ?? "")])).not.toContain("4711");
    expect(await corridor.audit()).toMatchObject([{ action: "call.denied", executionId: refused.executionId, errorCode: "forbidden", policy: { decision: "deny", ids: [] } }, {}]);
    expect((await corridor.eventsOf(refused.executionId ?? "")).map(([type]) => type)).toEqual(["requested", "denied"]);
    expect(corridor.figures).toContainEqual(["authorization_denied_total", { reason: "missing_grant" }]);
    // The key was not taken: once granted, it names a new call.
    await corridor.grant(["tool:invoke:pay"]);
    const { call, replayed } = await corridor.invoke({ idempotencyKey: "k1" });
    expect([replayed, call.state, call.callId === refused.executionId]).toEqual([false, "queued", false]);
  });

  test("everything that the tool declares must be granted too, and all that is missing is named", async () => {
    await corridor.tool({ spec: { permissions: ["net:egress:bank.example.com", "secret:read:bank"] } });
    await corridor.grant(["tool:invoke:pay", "net:egress:*.example.com"]);
    expect((await refusal(corridor.invoke())).details).toEqual({ missing: ["secret:read:bank"] });
    await corridor.grant(["secret:read:*"]);
    expect((await corridor.invoke()).call.decision).toMatchObject({ outcome: "allow", reason: "granted" });
  });

  test("a grant that is revoked does not count from the next call on", async () => {
    await corridor.tool();
    const grantId = await corridor.grant(["*"]);
    await corridor.invoke();
    await corridor.service.revokeGrant(asked({ scopes: new Set(["admin"]) }), grantId);
    expect((await refusal(corridor.invoke())).code).toBe("forbidden");
  });
});

describe("the input, before the key", () => {
  beforeEach(async () => {
    await corridor.tool();
    await corridor.grant(["*"]);
  });

  test("one that the schema refuses leaves no row; the audit has its hash and not its text", async () => {
    const { call } = await corridor.invoke({ idempotencyKey: "k1" });
    const refused = await refusal(corridor.invoke({ input: { amount: "4711" }, idempotencyKey: "k1" }));
    expect(refused).toMatchObject({ code: "invalid_input", executionId: undefined, details: { errors: [{ pointer: "/amount", keyword: "type" }] } });
    expect((await corridor.rows()).map(({ callId }) => callId)).toEqual([call.callId]);
    const [record] = await corridor.audit();
    expect(record).toMatchObject({ action: "call.refused", errorCode: "invalid_input", tool: "pay", version: "1.0.0", inputHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
    expect(JSON.stringify(record)).not.toContain("4711");
  });

  test("one over a mebibyte is refused by its size, counted in bytes of UTF-8", async () => {
    const input = (chars: number): object => ({ amount: 1, note: "ä".repeat(chars) });
    const [fits, one] = [524_277, 524_278];
    expect(Buffer.byteLength(JSON.stringify(input(fits)))).toBe(1_048_576);
    expect((await corridor.invoke({ input: input(fits) })).call.state).toBe("queued");
    expect(await refusal(corridor.invoke({ input: input(one) }))).toMatchObject({ code: "payload_too_large", message: "the input has 1048578 bytes; the limit is 1048576" });
  });

  test("a null for an optional field counts as absent: recorded, and the worker gets what runs", async () => {
    const worker = corridor.worker("w1");
    const { call } = await corridor.invoke({ input: { amount: 5, note: null } });
    expect(call).toMatchObject({ inputJson: '{"amount":5,"note":null}', effectiveArgsJson: '{"amount":5}' });
    expect((await corridor.eventsOf(call.callId))[0]?.[1]).toMatchObject({ nulls_taken_as_absent: ["/note"] });
    expect(worker.sent.at(-1)).toMatchObject({ type: "invoke", argsJson: '{"amount":5}', idempotencyKey: call.callId });
  });

  test("digits that a double would lose reach the worker", async () => {
    const worker = corridor.worker("w1");
    const input = parseJson('{"amount":12345678901234567890.10}', { depthMax: 64 });
    expect(input.ok).toBe(true);
    await corridor.invoke({ input: input.ok ? input.value : undefined });
    expect(worker.sent.at(-1)).toMatchObject({ argsJson: '{"amount":12345678901234567890.10}' });
  });

  test("a sandbox tool finds no backend at once, and leaves no row", async () => {
    await corridor.tool({ name: "code", spec: { executor: { type: "sandbox", runtime: "exec", entry: "/bin/true", image: `busybox@sha256:${"a".repeat(64)}` } } });
    expect(await refusal(corridor.invoke({ tool: "code" }))).toMatchObject({ code: "sandbox_unavailable" });
    expect(await corridor.rows()).toEqual([]);
  });
});

test("limits may only lower, and the deadline counts from admission", async () => {
  await corridor.tool();
  await corridor.grant(["*"]);
  expect((await corridor.invoke()).call).toMatchObject({ timeoutMs: 20_000, graceMs: 5_000, resultBytesMax: 1_048_576, totalDeadlineAt: null, priority: "normal" });
  const lower = { limits: { timeoutMs: 1_000, maxOutputBytes: 10 }, deadlineMs: 60_000, priority: "batch" } as const;
  expect((await corridor.invoke(lower)).call).toMatchObject({ timeoutMs: 1_000, resultBytesMax: 10, totalDeadlineAt: 1_060_000, priority: "batch" });
  const higher = { limits: { timeoutMs: 900_000, maxOutputBytes: 2_000_000 } };
  expect((await corridor.invoke(higher)).call).toMatchObject({ timeoutMs: 20_000, resultBytesMax: 1_048_576 });
});
