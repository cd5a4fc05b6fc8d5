// Refused logins are written down, but nobody outside can fill the disk with them; and operators see their workers.
import { afterEach, beforeEach, expect, test } from "vitest";
import { asked, Corridor, refusal } from "../../../../test/support/corridor.ts";
import { settled } from "../../../../test/support/hand-clock.ts";

let corridor: Corridor;
beforeEach(() => {
  corridor = new Corridor();
});
afterEach(() => corridor.close());

test("ten refused logins a second are recorded; the next record says how many were not, and all are counted", async () => {
  for (let n = 0; n < 25; n++) await refusal(corridor.service.authenticate(n % 2 === 0 ? undefined : "sbk_wrong", `req_${n}`));
  await settled();
  expect(await corridor.audit("platform")).toHaveLength(10);
  await corridor.clock.pass(1_000);
  await refusal(corridor.service.authenticate("", "req_later"));
  await settled();
  const [last, ...before] = await corridor.audit("platform");
  expect(last).toEqual({
    ts: 1_001_000,
    tenant: "platform",
    project: "",
    principal: "anonymous",
    action: "auth.refused",
    errorCode: "unauthenticated",
    status: "refused",
    requestId: "req_later",
    details: { not_recorded_before: 15 },
  });
  expect(before.every((record) => record.details === undefined)).toBe(true);
  expect(corridor.figures).toHaveLength(26);
  expect(new Set(corridor.figures.map(([name, labels]) => `${name} ${labels["reason"]}`))).toEqual(new Set(["authorization_denied_total unauthenticated"]));
});

test("the credential itself is never written down", async () => {
  const secret = `sbk_${"0".repeat(26)}_${"s".repeat(43)}`;
  await refusal(corridor.service.authenticate(secret, "req_1"));
  await settled();
  expect(JSON.stringify(await corridor.audit("platform"))).not.toContain("sss");
});

test("workers: the tenant's own and the platform's, with what they hold and how they are", async () => {
  await corridor.tool();
  await corridor.grant(["*"]);
  const early = corridor.worker("w2", { capacity: 3, tools: { pay: 2 } });
  corridor.worker("w0", { tenant: "platform", tools: { echo: 1 } });
  corridor.worker("w1", { tenant: "other" });
  await corridor.invoke();
  await corridor.clock.pass(10_000);
  early.say({ type: "heartbeat", load: 0, inFlight: [] });
  early.say({ type: "draining" });
  const views = await corridor.service.listWorkers(asked({ scopes: new Set(["calls:read"]) }));
  expect(views).toEqual([
    {
      workerId: "w0",
      incarnation: "i1",
      tenant: "platform",
      state: "silent",
      capacity: 10,
      holding: 0,
      handlers: [{ tool: "echo", version: "1.0.0", maxConcurrency: 1 }],
      connectedAt: 1_000_000,
      lastHeardAt: 1_000_000,
    },
    {
      workerId: "w2",
      incarnation: "i1",
      tenant: "acme",
      state: "draining",
      capacity: 3,
      holding: 1,
      handlers: [{ tool: "pay", version: "1.0.0", maxConcurrency: 2 }],
      connectedAt: 1_000_000,
      lastHeardAt: 1_010_000,
    },
  ]);
});
