// What a tool in a box reads: one line of JSON, with every digit, and nothing that breaks out of its place.
import fc from "fast-check";
import { expect, test } from "vitest";
import { requestText, type RequestFacts } from "./contract.ts";

const facts: RequestFacts = {
  callId: "exec_1",
  attempt: 2,
  tenant: "acme",
  project: "web",
  principal: "user:ann",
  tool: "csv.summary",
  version: "1.0.0",
  timeoutMs: 30_000,
  traceparent: "",
  contextJson: '{"workflow_id":"w1"}',
};

test("arguments, context and secrets, on one line", () => {
  expect(requestText('{"n": 12345678901234567890,\n "d": 1.10}', facts, { API_KEY: "s3\n" })).toBe(
    '{"args":{"n": 12345678901234567890,  "d": 1.10},"context":{"call_id":"exec_1","attempt":2,"idempotency_key":"exec_1","tenant":"acme",' +
      '"project":"web","principal":"user:ann","tool":"csv.summary","version":"1.0.0","timeout_ms":30000,"traceparent":"",' +
      '"caller":{"workflow_id":"w1"}},"secrets":{"API_KEY":"s3\\n"}}\n',
  );
});

test("a call without a context of its caller", () => {
  expect(JSON.parse(requestText("null", { ...facts, contextJson: "" }, {}))).toMatchObject({
    args: null,
    context: { caller: {} },
    secrets: {},
  });
});

test.each([
  "",
  "{",
  "{}}",
  '1,"secrets":{"API_KEY":"x"}',
  '{}},"context":{"tenant":"beta"',
  "undefined",
  "'x'",
  "{} {}",
  "\ufeff{}",
])("%j is not JSON, and becomes no part of a request", (text) => {
  expect(() => requestText(text, facts, {})).toThrow(TypeError);
  if (text !== "") expect(() => requestText("{}", { ...facts, contextJson: text }, {})).toThrow(TypeError);
});

test("whatever the arguments are, the tool gets them, and only them", () => {
  fc.assert(
    fc.property(fc.json(), fc.dictionary(fc.string(), fc.string()), (args, secrets) => {
      const text = requestText(args, facts, secrets);
      expect(text.indexOf("\n")).toBe(text.length - 1);
      const read = JSON.parse(text) as Record<string, unknown>;
      expect(Object.keys(read)).toEqual(["args", "context", "secrets"]);
      expect(JSON.stringify(read["args"])).toBe(JSON.stringify(JSON.parse(args)));
      expect(JSON.stringify(read["secrets"])).toBe(JSON.stringify(secrets));
    }),
  );
});
