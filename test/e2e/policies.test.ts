// Rules before any work, through the public door: which of them decide, what a denial leaves behind, and what is refused at publication.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { ask, deny, policyDocument, workerTool } from "../support/manifests.ts";
import { openTill, order, paymentTool } from "../support/payments.ts";
import type { Reply, Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";

const till = openTill();
let stack: Stack;
let admin: Rest;

/** Every test has its tool, so that none meets another's rules. */
const tools = ["shell.run", "pay.a", "pay.b", "pay.c", "pay.d", "pay.e", "pay.f", "pay.g", "pay.h", "pay.i", "pay.j"];

/** A note need not be there. */
const noteSchema = {
  type: "object",
  properties: { amount: { type: "number" }, note: { type: "string" } },
  required: ["amount"],
  additionalProperties: false,
};

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  for (const tool of tools) await stack.register(paymentTool(tool));
  await stack.startWorker(
    "w-till",
    tools.map((tool) => ({ tool, handler: till.pay })),
  );
});
afterAll(() => finish(stack, till));

function pay(tool: string, amount: number, more: Readonly<Record<string, unknown>> = {}): Promise<Reply> {
  return admin.invoke({ tool, input: order(amount), ...more });
}

describe("what decides", () => {
  test("POL-01: the platform denies a tool in production; a project's allow does not help, and the policy is named", async () => {
    const production = { environment: "production" };
    expect((await admin.put("/v1/projects/shop", production)).status).toBe(200);
    const mine = policyDocument({
      name: "no-shell",
      level: "platform",
      match: { tools: ["shell.*"], environments: ["production"] },
      then: deny("no shell in production"),
    });
    const refused = await admin.put("/v1/policies", mine);
    expect([refused.status, refused.body.error?.code]).toEqual([400, "invalid_input"]);
    expect(refused.body.error?.details["problems"]).toMatchObject([{ path: "metadata.level" }]);
    expect((await stack.operator.put("/v1/policies", mine)).status).toBe(201);
    await stack.publish({
      name: "our-shell",
      level: "project",
      project: "shop",
      match: { tools: ["shell.*"] },
      then: { decision: "allow", reason: "we are careful" },
    });

    const no = await pay("shell.run", 1, { project: "shop" });
    expect([no.status, no.body.error?.code]).toEqual([403, "forbidden"]);
    expect(no.body.error?.message).toContain("no shell in production");
    expect(no.body.error?.details).toMatchObject({ policy: "no-shell@1.0.0", level: "platform" });
    expect(till.receiptsOf(no.body.execution_id)).toEqual([]);
    // Another project of the same tenant is no production.
    expect((await pay("shell.run", 1)).body.status).toBe("succeeded");
    // The tenant reads what binds it.
    const shown = await admin.get("/v1/policies/no-shell?platform=true");
    expect(shown.body).toMatchObject({ name: "no-shell", tenant: "platform", decision: "deny" });
  });

  test("E1: a denial above 500 and an amount of 800: the worker is never called", async () => {
    await stack.publish({
      name: "e1",
      match: { tools: ["pay.a"] },
      when: "args.amount > 500.0",
      then: deny("too much"),
    });
    const { status, body } = await pay("pay.a", 800);
    expect([status, body.error?.code, body.error?.message]).toEqual([403, "forbidden", "denied by policy: too much"]);
    expect(till.entries.filter(({ callId }) => callId === body.execution_id)).toEqual([]);
    expect((await pay("pay.a", 500)).body.output).toMatchObject({ status: "processed", amount: 500 });
  });

  test("E2: a list of currencies that holds USD only, and an order in EUR: the worker is never called", async () => {
    await stack.publish({
      name: "e2",
      match: { tools: ["pay.b"] },
      when: '!(args.currency in ["USD"])',
      then: deny("USD only"),
    });
    const no = await admin.invoke({ tool: "pay.b", input: order(5, { currency: "EUR" }) });
    expect([no.status, no.body.error?.message]).toEqual([403, "denied by policy: USD only"]);
    expect(till.entries.filter(({ callId }) => callId === no.body.execution_id)).toEqual([]);
    expect((await pay("pay.b", 5)).status).toBe(200);
  });

  test("API-10: denied and invalid at once is denied; a rule on arguments is heard after they are valid", async () => {
    await stack.publish({
      name: "closed",
      match: { tools: ["pay.c"], principals: ["user:nell"] },
      then: deny("closed"),
    });
    await stack.publish({
      name: "large",
      match: { tools: ["pay.c"] },
      when: "args.amount > 10.0",
      then: deny("large"),
    });
    const { rest: nell } = await stack.makeKey({ principal: "user:nell", scopes: ["tools:invoke"], grants: ["*"] });
    const nonsense = { tool: "pay.c", input: { amount: "11" } };
    const denied = await nell.invoke(nonsense);
    expect([denied.status, denied.body.error?.message]).toEqual([403, "denied by policy: closed"]);
    const invalid = await admin.invoke(nonsense);
    expect([invalid.status, invalid.body.error?.code]).toEqual([400, "invalid_input"]);
    expect((await pay("pay.c", 11)).body.error?.message).toBe("denied by policy: large");
  });

  test("POL-04: a rule that allows with a second of time: the record says so, and the call keeps to it", async () => {
    await stack.register(
      workerTool("slow", "1.0.0", { side_effect_class: "idempotent_write", timeout: "20s", grace: "100ms" }),
    );
    // Never returns by itself.
    await stack.startWorker("w-slow", [
      {
        tool: "slow",
        handler: (_args, { signal }) =>
          new Promise((_done, stop) => signal.addEventListener("abort", () => stop(signal.reason as Error))),
      },
    ]);
    await stack.publish({
      name: "quick",
      match: { tools: ["slow"] },
      then: { decision: "allow", reason: "quickly", obligations: { limits: { timeout: "1s", output_bytes: 2_048 } } },
    });
    const { status, body } = await admin.invoke({ tool: "slow", input: {} });
    expect([status, body.error?.code]).toEqual([504, "timeout"]);
    const record = await admin.call(body.execution_id);
    expect(record.status).toBe("timed_out");
    expect(record.execution?.limits).toEqual({ timeout_ms: 1_000, max_output_bytes: 2_048 });
    expect(record.policy).toMatchObject({
      decision: "allow",
      rules: [{ policy: "quick", version: "1.0.0", outcome: "allow" }],
      obligations: { limits: { timeout_ms: 1_000, output_bytes: 2_048 } },
    });
    // The other half of the case, isolation by gVisor, needs a tool that runs in a sandbox. What cannot be held is refused.
    await stack.publish({
      name: "boxed",
      match: { tools: ["slow"] },
      then: { decision: "allow", reason: "boxed", obligations: { sandbox: "gvisor" } },
    });
    const boxed = await admin.invoke({ tool: "slow", input: {} });
    expect([boxed.status, boxed.body.error?.code]).toEqual([503, "sandbox_unavailable"]);
    expect(boxed.body.error?.details["obligations"]).toEqual(["sandbox gvisor"]);
  });

  test("POL-09: a rule on the time of day hears the runtime's clock, and a question may bring its own", async () => {
    await stack.publish({
      name: "in-this-century",
      match: { tools: ["pay.d"] },
      when: 'now >= timestamp("2001-01-01T00:00:00Z")',
      then: deny("this century is closed"),
    });
    await stack.publish({
      name: "in-the-last",
      match: { tools: ["pay.e"] },
      when: 'now < timestamp("2001-01-01T00:00:00Z")',
      then: deny("the last century is closed"),
    });
    expect((await pay("pay.d", 1)).body.error?.message).toBe("denied by policy: this century is closed");
    expect((await pay("pay.e", 1)).status).toBe(200);
    const then = await admin.post("/v1/policies:explain", {
      tool: "pay.e",
      input: order(1),
      now: "2000-06-01T00:00:00Z",
    });
    expect(then.body).toMatchObject({ decision: "deny", reason: "the last century is closed" });
  });

  test("a rule on trial is recorded and changes nothing; the level's default denies what no rule allows", async () => {
    expect((await admin.put("/v1/projects/vault", { environment: "production" })).status).toBe(200);
    await stack.publish({ name: "trial", mode: "observe", match: { tools: ["pay.f"] }, then: deny("would be closed") });
    const tried = await admin.call((await pay("pay.f", 1)).body.execution_id);
    expect(tried).toMatchObject({
      status: "succeeded",
      policy: { decision: "allow", rules: [{ policy: "trial", outcome: "deny", observed: true }] },
    });
    expect((await admin.put("/v1/policies:defaults", { project: "vault", decision: "deny" })).status).toBe(200);
    const no = await pay("pay.f", 1, { project: "vault" });
    expect([no.status, no.body.error?.code]).toEqual([403, "forbidden"]);
    await stack.publish({
      name: "vault-pays",
      level: "project",
      project: "vault",
      match: { tools: ["pay.f"] },
      then: { decision: "allow", reason: "this one may" },
    });
    expect((await pay("pay.f", 1, { project: "vault" })).status).toBe(200);
    expect((await admin.put("/v1/policies:defaults", { project: "vault", decision: null })).status).toBe(200);
  });
});

test("worst thing 14, EVT-02, PERM-17: a call that policy denies has a row, an audit record and two events; it keeps no arguments and no key", async () => {
  await stack.publish({ name: "shut", match: { tools: ["pay.g"] }, then: deny("shut today") });
  const key = { "idempotency-key": "order-14" };
  const no = await admin.invoke({ tool: "pay.g", input: order(7, { payee: "canary-of-14" }) }, key);
  expect(no.status).toBe(403);
  const { execution_id: id = "" } = no.body;
  const record = await admin.get(`/v1/executions/${id}`);
  expect(record.body).toMatchObject({
    status: "denied",
    attempts: [],
    idempotency_key: null,
    error: { code: "forbidden" },
    execution: { worker: null },
    policy: {
      decision: "deny",
      reason: "shut today",
      rules: [{ policy: "shut", version: "1.0.0", level: "tenant", outcome: "deny" }],
    },
  });
  expect(record.text).not.toContain("canary-of-14");
  expect((await admin.events(id)).map(({ type }) => type)).toEqual(["requested", "denied"]);
  const records = await admin.audit({ execution_id: id });
  expect(records).toMatchObject([
    {
      action: "call.denied",
      status: "denied",
      error_code: "forbidden",
      principal: "user:admin",
      policy: { decision: "deny", ids: ["shut@1.0.0"] },
    },
  ]);
  expect(JSON.stringify(records)).not.toContain("canary-of-14");
  // The key is free: once the rule is withdrawn the same request runs.
  expect((await admin.post("/v1/policies/shut/withdraw", { version: "1.0.0" })).body.status).toBe("withdrawn");
  const again = await admin.invoke({ tool: "pay.g", input: order(7, { payee: "canary-of-14" }) }, key);
  expect([again.status, again.body.status, again.headers["idempotency-replayed"]]).toEqual([
    200,
    "succeeded",
    undefined,
  ]);
});

describe("publication", () => {
  test("POL-07: a published version never changes; a new one holds from the next call on, an older one can be put in force again", async () => {
    const rule = (version: string, limit: string) => ({
      name: "limit",
      version,
      match: { tools: ["pay.h"] },
      when: `args.amount > ${limit}`,
      then: deny(`above ${limit}`),
    });
    await stack.publish(rule("1.0.0", "100.0"));
    const edited = await admin.put("/v1/policies", policyDocument(rule("1.0.0", "900.0")));
    expect([edited.status, edited.body.error?.code]).toEqual([409, "conflict"]);
    const same = await admin.put("/v1/policies", policyDocument(rule("1.0.0", "100.0")));
    expect([same.status, same.body["already_there"]]).toEqual([200, true]);
    expect((await pay("pay.h", 500)).status).toBe(403);

    const dry = await admin.put("/v1/policies?dry_run=true", policyDocument(rule("1.1.0", "900.0")));
    expect([dry.status, dry.body["dry_run"], dry.body["tools_hit"]]).toEqual([200, true, ["pay.h"]]);
    expect((await pay("pay.h", 500)).status).toBe(403);
    await stack.publish(rule("1.1.0", "900.0"));
    const allowed = await admin.call((await pay("pay.h", 500)).body.execution_id);
    expect(allowed).toMatchObject({ status: "succeeded", policy: { decision: "allow", rules: [] } });
    expect((await admin.post("/v1/policies/limit/activate", { version: "1.0.0" })).body).toMatchObject({
      version: "1.0.0",
      status: "active",
    });
    expect((await pay("pay.h", 500)).body.error?.details["policy"]).toBe("limit@1.0.0");
    expect((await admin.get("/v1/policies/limit")).body).toMatchObject({
      version: "1.0.0",
      versions: ["1.1.0", "1.0.0"],
      document: policyDocument(rule("1.0.0", "100.0")),
    });
  });

  test("worst thing 12: a guard over an absent field, a misspelt decision, an unknown key or function: each is refused, with its path", async () => {
    await stack.register(workerTool("noted", "1.0.0", { input: noteSchema }));
    const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
      ["absent field", { when: 'args.note == "gift"', then: deny("no gifts") }, "spec.missing"],
      ["misspelt field", { when: 'args.noet == "gift"', missing: "skip", then: deny("no gifts") }, "spec.when"],
      ["wrong type", { when: 'args.amount == "5"', then: deny("five") }, "spec.when"],
      ["unknown function", { when: 'fetch("http://127.0.0.1") == 1', then: deny("no") }, "spec.when"],
      ["misspelt decision", { then: { decision: "denny", reason: "no" } }, "spec.then.decision"],
      ["unknown key", { then: deny("no"), whne: "args.amount > 1.0" }, "spec.whne"],
      ["nobody to ask", { then: { decision: "require_approval", reason: "ask" } }, "spec.then.approval"],
    ];
    for (const [what, spec, path] of cases) {
      const document = {
        ...policyDocument({ name: "guard", then: {} }),
        spec: { match: { tools: ["noted"] }, ...spec },
      };
      const { status, body } = await admin.put("/v1/policies", document);
      const problems = (body.error?.details["problems"] ?? []) as { path: string }[];
      expect([what, status, body.error?.code, problems.map((one) => one.path)]).toEqual([
        what,
        400,
        "invalid_input",
        [path],
      ]);
    }
    expect((await admin.get("/v1/policies/guard")).body.error?.code).toBe("policy_not_found");
  });

  test("worst thing 12: a rule on an absent field is what it says it is: match, skip or deny; nothing opens by itself", async () => {
    await stack.register(workerTool("gift", "1.0.0", { input: noteSchema }));
    await stack.startWorker("w-gift", [{ tool: "gift", handler: () => ({ given: true }) }]);
    const rule = (version: string, missing: string) => ({
      name: "gifts",
      version,
      match: { tools: ["gift"] },
      when: 'args.note == "gift"',
      missing,
      then: deny("no gifts"),
    });
    const give = (input: object): Promise<Reply> => admin.invoke({ tool: "gift", input });
    await stack.publish(rule("1.0.0", "skip"));
    expect([(await give({ amount: 1 })).status, (await give({ amount: 1, note: "gift" })).status]).toEqual([200, 403]);
    await stack.publish(rule("1.1.0", "match"));
    expect([(await give({ amount: 1 })).status, (await give({ amount: 1, note: "rent" })).status]).toEqual([403, 200]);
    await stack.publish(rule("1.2.0", "deny"));
    const denied = await give({ amount: 1 });
    expect([denied.status, denied.body.error?.code]).toEqual([403, "forbidden"]);
    // An allow on what is absent opens nothing either: the level below it is closed.
    await admin.post("/v1/policies/gifts/withdraw", { version: "1.2.0" });
    await admin.put("/v1/projects/strict", { environment: "production" });
    await admin.put("/v1/policies:defaults", { project: "strict", decision: "deny" });
    await stack.publish({
      name: "rent",
      level: "project",
      project: "strict",
      match: { tools: ["gift"] },
      when: 'args.note == "rent"',
      missing: "skip",
      then: { decision: "allow", reason: "rent" },
    });
    const inStrict = (input: object): Promise<Reply> => admin.invoke({ tool: "gift", project: "strict", input });
    expect([(await inStrict({ amount: 1 })).status, (await inStrict({ amount: 1, note: "rent" })).status]).toEqual([
      403, 200,
    ]);
  });

  test("worst thing 12: a rule without a level applies nowhere but where it is attached; a tool that attaches one in place, or one that nobody knows, is refused", async () => {
    await stack.publish({
      name: "house-rule",
      level: null,
      when: "args.amount > 10.0",
      missing: "deny",
      then: deny("over ten"),
    });
    expect((await pay("pay.i", 50)).status).toBe(200);
    const inline = { name: "in-place", match: {}, then: deny("no") };
    const inPlace = await admin.put("/v1/tools", paymentTool("attached", "1.0.0", { default_policies: [inline] }));
    expect([inPlace.status, inPlace.body.error?.details["problems"]]).toMatchObject([
      400,
      [{ path: "spec.default_policies[0]" }],
    ]);
    const nowhere = await admin.put(
      "/v1/tools",
      paymentTool("attached", "1.0.0", { default_policies: ["house-rules"] }),
    );
    expect([nowhere.status, nowhere.body.error?.code]).toEqual([400, "invalid_input"]);
    await stack.register(paymentTool("attached", "1.0.0", { default_policies: ["house-rule@1.0.0"] }));
    await stack.startWorker("w-attached", [{ tool: "attached", handler: till.pay }]);
    const no = await pay("attached", 50);
    expect([no.status, no.body.error?.details["policy"]]).toEqual([403, "house-rule@1.0.0"]);
    expect((await pay("attached", 5)).status).toBe(200);
    // Withdrawn while the tool still names it: denied, not open.
    await admin.post("/v1/policies/house-rule/withdraw", { version: "1.0.0" });
    expect((await pay("attached", 5)).status).toBe(403);
  });

  test("report 041: a denial holds whatever stands beside it and in whatever order they came; a rule that can never decide is warned of", async () => {
    const all = { decision: "allow", reason: "everything" };
    await stack.publish({
      name: "z-deny",
      match: { tools: ["pay.j"] },
      when: 'args.payee.startsWith("rm ")',
      then: deny("never rm"),
    });
    await stack.publish({ name: "a-allow", match: { tools: ["pay.j"] }, then: all });
    const remove = { tool: "pay.j", input: order(1, { payee: "rm -rf" }) };
    expect((await admin.invoke(remove)).body.error?.message).toBe("denied by policy: never rm");
    // Published anew, the allow is the later one, and still does not win.
    await stack.publish({ name: "a-allow", version: "2.0.0", match: { tools: ["pay.*"] }, then: all });
    expect((await admin.invoke(remove)).status).toBe(403);
    expect((await pay("pay.j", 1)).status).toBe(200);
    await stack.publish({ name: "all-denied", match: { tools: ["never.*"] }, then: deny("never") });
    const shadowed = await stack.publish({ name: "never-heard", match: { tools: ["never.*"] }, then: ask("finance") });
    const warnings = shadowed.body["warnings"] as { message: string }[];
    expect(warnings.map(({ message }) => message).join("\n")).toMatch(/all-denied/);
  });
});
