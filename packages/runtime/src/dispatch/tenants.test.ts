// Workers of several tenants side by side: whose calls they get, and how many of them a tenant may have.
import { expect, test } from "vitest";
import { HandHub, result } from "../../../../test/support/hand-hub.ts";

test("a platform worker and a tenant's own worker of the same tool name never mix", () => {
  const hub = new HandHub();
  const shared = hub.connect("w1", { tenant: "platform" });
  const own = hub.connect("w1", { tenant: "acme" });
  const foreign = hub.connect("w1", { tenant: "other" });
  hub.admit("c1", { toolTenant: "platform" });
  hub.admit("c2", { toolTenant: "acme" });
  hub.admit("c3", { tenant: "third", toolTenant: "third" });
  hub.store();
  expect(hub.sent(shared)).toEqual(["registered", "invoke c1#1"]);
  expect(hub.sent(own)).toEqual(["registered", "invoke c2#1"]);
  expect(hub.sent(foreign)).toEqual(["registered"]);
  expect(hub.hub.serversOf("third", "pay", "1.0.0")).toBe(0);
});

test("an offered name cannot reach into another tenant's lane", () => {
  const hub = new HandHub();
  const sly = hub.connect("w1", { tenant: "a", tools: { "b/pay": 9, "b@pay": 9 } });
  hub.admit("c1", { tenant: "a/b", toolTenant: "a/b" });
  hub.admit("c2", { tenant: "a@b", toolTenant: "a@b" });
  hub.store();
  expect(hub.sent(sly)).toEqual(["registered"]);
});

test("one worker never holds two calls of the same id, not even of two tenants", () => {
  const hub = new HandHub();
  const shared = hub.connect("w1", { tenant: "platform" });
  hub.admit("c1", { tenant: "acme", toolTenant: "platform" });
  hub.admit("c1", { tenant: "other", toolTenant: "platform" });
  hub.store();
  expect(hub.messages(shared).map((one) => (one.type === "invoke" ? one.tenant : one.type))).toEqual(["registered", "acme"]);
  hub.say(shared, result("c1"));
  hub.store();
  expect(hub.messages(shared).map((one) => (one.type === "invoke" ? one.tenant : one.type))).toEqual(["result_ack", "other"]);
});

test("a tenant has no more workers than its bound; others are not concerned, and a return is no new worker", () => {
  const hub = new HandHub();
  for (const name of ["w1", "w2", "w3", "w4"]) hub.connect(name);
  const fifth = hub.connect("w5");
  expect(hub.messages(fifth)).toMatchObject([{ type: "go_away", reason: "4 workers of this tenant are connected, and more are not taken" }]);
  expect(hub.orders("close")).toMatchObject([{ session: fifth }]);
  expect(hub.sent(hub.connect("w5", { tenant: "other" }))).toEqual(["registered"]);
  expect(hub.sent(hub.connect("w1"))).toEqual(["registered"]);
});
