// Freezes as people set them: who may, what is stored and said of it, and in which order memory and ledger follow.
import { afterEach, beforeEach, expect, test } from "vitest";
import { asked, refusal } from "../../../../test/support/corridor.ts";
import { admin, Governed } from "../../../../test/support/governed.ts";

let house: Governed;
const operator = asked({ tenant: "platform", project: "", name: "user:operator", scopes: new Set(["*"]) });
const reader = asked({ scopes: new Set(["calls:read"]) });

beforeEach(async () => {
  house = await Governed.open();
});
afterEach(() => house.close());

test("set and lifted: stored, told, and written down with its reason", async () => {
  expect(await house.service.freeze(admin, "pay", "incident 7")).toEqual({ tenant: "acme", tool: "pay", reason: "incident 7", at: 1_000_000, by: "user:root" });
  expect(await house.service.listFreezes(reader)).toMatchObject([{ tool: "pay", reason: "incident 7" }]);
  expect(await house.service.unfreeze(admin, "pay")).toEqual({ lifted: true });
  expect(await house.service.unfreeze(admin, "pay")).toEqual({ lifted: false });
  expect(await house.service.listFreezes(reader)).toEqual([]);
  expect((await house.audit()).slice(0, 2)).toMatchObject([
    { action: "dispatch.unfrozen", principal: "user:root", details: { tool: "pay" } },
    { action: "dispatch.frozen", principal: "user:root", details: { tool: "pay", reason: "incident 7" }, requestId: "req_7" },
  ]);
});

test("of everything is written down as such", async () => {
  await house.service.freeze(admin, "", "");
  expect((await house.audit())[0]).toMatchObject({ action: "dispatch.frozen", details: { tool: "*" } });
});

test("a tool that nobody has cannot be frozen: it would stop nothing", async () => {
  expect(await refusal(house.service.freeze(admin, "pya", ""))).toMatchObject({ code: "tool_not_found" });
  await house.tool({ name: "shared" }, "platform");
  expect(await house.service.freeze(admin, "shared", "")).toMatchObject({ tenant: "acme", tool: "shared" });
});

test("takes policies:write to set and to lift, and calls:read to see", async () => {
  for (const wish of [house.service.freeze(reader, "", ""), house.service.unfreeze(reader, "")]) {
    expect(await refusal(wish)).toMatchObject({ code: "forbidden" });
  }
  expect(await refusal(house.service.listFreezes(asked()))).toMatchObject({ code: "forbidden" });
});

test("a tenant sees its own and the platform's, which stop its calls too, and lifts its own alone", async () => {
  await house.service.freeze(operator, "", "the database moves");
  await house.service.freeze(asked({ tenant: "other", name: "user:root", scopes: new Set(["*"]) }), "", "theirs");
  expect((await house.service.listFreezes(reader)).map(({ tenant }) => tenant)).toEqual(["platform"]);
  const w1 = house.worker("w1");
  await house.invoke();
  expect(await house.service.unfreeze(admin, "")).toEqual({ lifted: false });
  await house.settle();
  expect(w1.words()).toEqual(["registered"]);
  expect(await house.service.unfreeze(operator, "")).toEqual({ lifted: true });
  await house.settle();
  expect(w1.words().filter((word) => word.startsWith("invoke"))).toHaveLength(1);
});

test("a disk that is full: it holds at once all the same, and the answer says that it is not stored", async () => {
  house.ledger.full = true;
  expect(await refusal(house.service.freeze(admin, "", "incident"))).toMatchObject({ code: "ledger_unavailable" });
  house.ledger.full = false;
  await house.pass(500);
  const w1 = house.worker("w1");
  await house.invoke();
  await house.settle();
  expect(w1.words()).toEqual(["registered"]);
});

test("it is not lifted before that is stored", async () => {
  await house.service.freeze(admin, "", "incident");
  const w1 = house.worker("w1");
  await house.invoke();
  house.ledger.full = true;
  expect(await refusal(house.service.unfreeze(admin, ""))).toMatchObject({ code: "ledger_unavailable" });
  house.ledger.full = false;
  await house.pass(500);
  w1.say({ type: "heartbeat", load: 0, inFlight: [] });
  expect(w1.words().filter((word) => word.startsWith("invoke"))).toEqual([]);
  expect(await house.service.listFreezes(reader)).toHaveLength(1);
});
