// What is posted: the secret's form, the event's fields, and headers that a receiver of Standard Webhooks can check.
import { expect, test } from "vitest";
import { webhookDoor } from "../adapters/webhooks/door.ts";
import type { Delivery } from "../ledger/webhooks.ts";
import { messageBody, messageHeaders, secretKey, secretText } from "./webhook-message.ts";

const { sign } = webhookDoor({ version: "0.0.0", allowPrivate: false });

test("the public example of Standard Webhooks comes out to its published signature", () => {
  const key = secretKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const headers = messageHeaders("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330_999, '{"test": 2432232314}', (text) => sign(key, text));
  expect(headers).toEqual({
    "content-type": "application/cloudevents+json; charset=utf-8",
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("what is signed is id, timestamp and body, with full stops between; an id with a full stop is refused", () => {
  const signed: string[] = [];
  const note = (text: string): string => {
    signed.push(text);
    return "mac";
  };
  expect(messageHeaders("dlv_1", 5_000, '{"a.b":1}', note)["webhook-signature"]).toBe("v1,mac");
  expect(signed).toEqual(['dlv_1.5.{"a.b":1}']);
  expect(() => messageHeaders("dlv_1.5", 5_000, "{}", note)).toThrow(RangeError);
});

test("a secret is whsec_ and plain base64, whatever bytes it has", () => {
  expect(secretText("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")).toBe("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
  expect(secretText("__________________________________________8")).toBe("whsec_//////////////////////////////////////////8=");
  expect(secretText("-_-_")).toBe("whsec_+/+/");
  expect(secretKey("whsec_AAEC")).toBe("AAEC");
});

const delivery: Delivery = {
  tenant: "acme",
  deliveryId: "dlv_1",
  webhookId: "whk_1",
  notice: {
    type: "approval.requested",
    tenant: "acme",
    approvalId: "apr_1",
    at: 1_000_000_000_123,
    data: { kind: "call", execution_id: "exec_1", args_hash: "ab12", expires_at: 1_000_000_060_000, depth: 2, escalated_from: null },
  },
  state: "pending",
  attempts: 3,
  nextAt: 1_000_000_000_123,
  endedAt: null,
  lastStatus: 500,
  lastError: "answered 500",
};

test("the body is a CloudEvent about the approval; instants are text, and the attempts are nobody's business", () => {
  expect(JSON.parse(messageBody(delivery, "host 1/embedded"))).toEqual({
    specversion: "1.0",
    id: "dlv_1",
    source: "signalbox/host%201%2Fembedded",
    type: "dev.signalbox.approval.requested",
    subject: "apr_1",
    time: "2001-09-09T01:46:40.123Z",
    datacontenttype: "application/json",
    signalboxtenant: "acme",
    data: {
      approval_id: "apr_1",
      kind: "call",
      execution_id: "exec_1",
      args_hash: "ab12",
      expires_at: "2001-09-09T01:47:40.000Z",
      depth: 2,
      escalated_from: null,
    },
  });
});

test("names of attributes are as CloudEvents wants them: lower-case letters and digits", () => {
  expect(Object.keys(JSON.parse(messageBody(delivery, "r1")) as object).filter((name) => !/^[a-z0-9]{1,20}$/.test(name))).toEqual([]);
});
