// Who gets a place: at most 8 at once, 6 of one tenant, 2 of one webhook, and nothing twice.
import { expect, test } from "vitest";
import type { DueDelivery } from "../ledger/webhooks.ts";
import { chooseDue, putOff } from "./webhook-choice.ts";

function due(text: string): DueDelivery {
  const [tenant = "", webhookId = "", deliveryId = ""] = text.split("/");
  const notice = { type: "approval.requested", tenant, approvalId: "apr_1", at: 0, data: {} };
  return {
    delivery: { tenant, deliveryId, webhookId, notice, state: "pending", attempts: 1, nextAt: 0, endedAt: null, lastStatus: 500, lastError: "answered 500" },
    webhook: { tenant, webhookId, url: "https://example.com/", sealedSecret: "", types: [], createdAt: 0, createdBy: "user:root" },
  };
}
const names = (list: readonly DueDelivery[]): string[] => list.map(({ delivery }) => `${delivery.tenant}/${delivery.webhookId}/${delivery.deliveryId}`);
const choose = (waiting: string[], busy: string[] = [], ended: string[] = []): string[] =>
  names(chooseDue(waiting.map(due), busy.map((text) => due(text).delivery), new Set(ended)));

test("two of one webhook, counting those under way", () => {
  expect(choose(["a/w1/1", "a/w1/2", "a/w1/3", "a/w2/4"])).toEqual(["a/w1/1", "a/w1/2", "a/w2/4"]);
  expect(choose(["a/w1/1", "a/w1/2", "a/w1/3"], ["a/w1/1"])).toEqual(["a/w1/2"]);
  expect(choose(["a/w1/1", "a/w1/2", "a/w1/3"], ["a/w1/1", "a/w1/2"])).toEqual([]);
});

test("six of one tenant, so that two places are left for others", () => {
  const many = [1, 2, 3, 4].flatMap((webhook) => [`a/w${webhook}/${webhook}1`, `a/w${webhook}/${webhook}2`]);
  expect(choose([...many, "b/w1/1", "b/w1/2", "b/w2/3"])).toEqual([...many.slice(0, 6), "b/w1/1", "b/w1/2"]);
});

test("eight in all, those that are due first", () => {
  const all = ["a", "b", "c", "d", "e"].flatMap((tenant) => [`${tenant}/w1/1`, `${tenant}/w1/2`]);
  expect(choose(all)).toEqual(all.slice(0, 8));
  expect(choose(all, ["x/w1/1", "y/w1/1", "z/w1/1"])).toEqual(all.slice(0, 5));
});

test("a webhook and a delivery of the same name in another tenant are others", () => {
  expect(choose(["b/w1/1", "b/w1/2"], ["a/w1/1", "a/w1/2"])).toEqual(["b/w1/1", "b/w1/2"]);
});

test("what ended while the list was read is old news", () => {
  expect(choose(["a/w1/1", "a/w1/2"], [], ["a\n1"])).toEqual(["a/w1/2"]);
});

test("beyond its first 64 a tenant's deliveries are put off by 10 s; nothing else of them changes", () => {
  const backlog = Array.from({ length: 66 }, (_, at) => due(`a/w${at % 3}/${at}`));
  const [first, second, ...more] = putOff([due("b/w1/1"), ...backlog, due("b/w1/2")], 500_000);
  expect(first).toEqual({ ...due("a/w1/64").delivery, nextAt: 510_000 });
  expect(second).toEqual({ ...due("a/w2/65").delivery, nextAt: 510_000 });
  expect(more).toEqual([]);
});
