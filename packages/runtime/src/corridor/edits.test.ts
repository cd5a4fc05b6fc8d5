// Changed arguments are judged as if the call came anew: size, schema, permission, every rule, and what those leave.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { admitted } from "../../../../test/support/calls.ts";
import { hubLimits } from "../../../../test/support/hand-hub.ts";
import { noon, PolicyOffice } from "../../../../test/support/policy-office.ts";
import type { Call } from "../call/types.ts";
import { Hub } from "../dispatch/hub.ts";
import { FairLine } from "../schedule/fair-line.ts";
import { chooseBox } from "./boxes.ts";
import { judgeEdit, type JudgedEdit } from "./edits.ts";

let office: PolicyOffice;

beforeEach(async () => {
  office = await PolicyOffice.open();
  const schema = { type: "object", properties: { amount: { type: "number" }, note: { type: "string" } }, required: ["amount"], additionalProperties: false };
  await office.tool("pay", {}, { spec: { input: schema } });
  await office.key("user:ann");
  await office.grant("user:ann", ["*"]);
});
afterEach(() => office.close());

function judged(argsJson: string, changes: Partial<Call> = {}): Promise<JudgedEdit> {
  const hub = new Hub("r1", hubLimits, new FairLine(), noon);
  const call: Call = { ...admitted().call, state: "awaiting_approval", ...changes };
  const hash = (text: string): string => `hash of ${text}`;
  return judgeEdit({ ...office.ports, hub, hash }, call, { argsJson, argsHash: hash(argsJson) }, "user:fay");
}
const errorOf = async (judging: Promise<JudgedEdit>): Promise<unknown> => {
  const found = await judging;
  return found.ok ? undefined : found.error;
};
const rule = (spec: Record<string, unknown>, name = "rule") => office.publish({ name, spec: { match: { tools: ["pay"] }, ...spec } });

describe("let pass", () => {
  test("that no rule asks anybody about: with nothing required, and all that the call had", async () => {
    expect(await judged('{"amount":3}')).toMatchObject({
      ok: true,
      accepted: { argsJson: '{"amount":3}', argsHash: 'hash of {"amount":3}' },
      requirements: null,
      timeoutMs: 20_000,
      resultBytesMax: 1_048_576,
    });
  });

  test("with what today's rules ask for these arguments, and leave of time and size", async () => {
    await rule({
      when: "args.amount > 2.0",
      then: { decision: "require_approval", reason: "look", approval: { route: "ops", approvals: 2 }, obligations: { limits: { timeout: "3s", output_bytes: 500 } } },
    });
    expect(await judged('{"amount":3}')).toMatchObject({ ok: true, requirements: { routes: [{ route: "ops", quorum: 2 }] }, timeoutMs: 3_000, resultBytesMax: 500 });
    expect(await judged('{"amount":1}')).toMatchObject({ ok: true, requirements: null, timeoutMs: 20_000 });
  });

  test("a null for a field that may be absent is taken out, and the hash is of what would run", async () => {
    expect(await judged('{"amount":3,"note":null}')).toMatchObject({ ok: true, accepted: { argsJson: '{"amount":3}', argsHash: 'hash of {"amount":3}' } });
  });

  test("digits beyond a double stay as they were written", async () => {
    expect(await judged('{"amount":3.00000000000000000001}')).toMatchObject({ ok: true, accepted: { argsJson: '{"amount":3.00000000000000000001}' } });
  });

  test("the record says who changed them, to which hash, and what was decided; never the arguments", async () => {
    await rule({ then: { decision: "allow", reason: "small ones are fine" } });
    const found = await judged('{"amount":3}');
    expect(found.ok && found.record).toMatchObject({
      op: "append_audit",
      draft: {
        ts: noon,
        action: "call.decided_again",
        principal: "user:ann",
        executionId: "exec_1",
        inputHash: 'hash of {"amount":3}',
        status: "awaiting_approval",
        policy: { decision: "allow", ids: ["rule@1.0.0"] },
        details: { edited_by: "user:fay", reason: "small ones are fine" },
      },
    });
  });

  test("a rule that counts does not count the call itself", async () => {
    await office.write({ op: "insert_call", row: { ...admitted({ admittedAt: noon }).call, eventSeq: 0 } });
    await rule({ when: 'calls.window("1h") >= 1', then: { decision: "deny", reason: "one an hour" } });
    expect((await judged('{"amount":3}')).ok).toBe(true);
    await office.write({ op: "insert_call", row: { ...admitted({ admittedAt: noon, callId: "exec_2" }).call, eventSeq: 0 } });
    expect(await errorOf(judged('{"amount":3}'))).toMatchObject({ code: "forbidden", message: "denied by policy: one an hour" });
  });
});

describe("refused", () => {
  test("too large", async () => {
    const note = "x".repeat(1_048_577);
    expect(await errorOf(judged(`{"amount":3,"note":"${note}"}`))).toMatchObject({ code: "payload_too_large" });
  });

  test("not what the tool takes", async () => {
    expect(await errorOf(judged('{"amount":"3"}'))).toMatchObject({ code: "invalid_input", details: { fields: [{ pointer: "/args", keyword: "format", message: expect.any(String) }], errors: [{ pointer: "/amount" }] } });
    expect(await errorOf(judged('{"amount":3,"more":1}'))).toMatchObject({ code: "invalid_input" });
  });

  test("a tool that is gone", async () => {
    expect(await errorOf(judged('{"amount":3}', { version: "9.9.9" }))).toMatchObject({ code: "tool_not_found" });
  });

  test("whose principal may not, or not any more", async () => {
    await office.key("user:ben");
    expect(await errorOf(judged('{"amount":3}', { principal: "user:ben" }))).toMatchObject({ code: "forbidden", details: { missing: ["tool:invoke:pay"] } });
    const [key] = await office.ledger.keys("acme");
    await office.write({ op: "revoke_key", tenant: "acme", keyId: key?.keyId ?? "", at: noon });
    office.ports.directory.changed("acme");
    expect(await errorOf(judged('{"amount":3}'))).toMatchObject({ code: "forbidden", details: { reason: "principal_gone" } });
  });

  test("by a rule, with its reason", async () => {
    await rule({ when: "args.amount > 2.0", then: { decision: "deny", reason: "never so much" } });
    expect(await errorOf(judged('{"amount":3}'))).toMatchObject({ code: "forbidden", message: "denied by policy: never so much", details: { policy: "rule@1.0.0" } });
  });

  test("that need another box than the call was admitted to", async () => {
    const input = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] };
    await office.tool("sums", {}, { spec: { executor: { type: "sandbox", runtime: "node", entry: "sums.mjs" }, input } });
    const version = await office.ledger.toolVersion("acme", "sums", "1.0.0");
    if (version === undefined) throw new Error("no tool");
    const box = chooseBox({ version, obligations: { limits: {} }, args: {}, lowered: new Map() }, new Set(["native"]));
    const call = { tool: "sums", executor: "sandbox" as const, ...box };
    await office.publish({
      name: "large",
      spec: { match: { tools: ["sums"] }, when: "args.amount > 2.0", then: { decision: "allow", reason: "less", obligations: { limits: { memory_bytes: "16Mi" } } } },
    });
    expect(await errorOf(judged('{"amount":1}', call))).toBeUndefined();
    expect(await errorOf(judged('{"amount":3}', call))).toMatchObject({ code: "invalid_input", details: { reason: "other_box" } });
  });

  test("what cannot be held", async () => {
    await rule({ then: { decision: "allow", reason: "boxed", obligations: { sandbox: "microvm" } } });
    expect(await errorOf(judged('{"amount":3}'))).toMatchObject({ code: "sandbox_unavailable" });
  });
});
