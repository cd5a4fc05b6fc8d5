// Which of several workers a call is given to: memory, nearness, load, name; and the labels without which none is.
import { describe, expect, test } from "vitest";
import { believed, HandHub, result, type WorkerSays } from "../../../../test/support/hand-hub.ts";

const MiB = 1_024 ** 2;

/** A call that needs a native box, with code of this digest. */
const boxed = (packageDigest: string | null, memoryBytes = 64 * MiB) =>
  ({ toolTenant: "platform", executor: "sandbox", sandbox: "native", boxJson: JSON.stringify({ packageDigest, limits: { memoryBytes } }) }) as const;

function boxWorker(hub: HandHub, name: string, says: WorkerSays = {}): number {
  return hub.connect(name, { tenant: "platform", tools: {}, backends: ["native"], ...says });
}

/** Whom a call that is admitted now is given to. */
function taker(hub: HandHub, callId: string, ...of: [changes: object, facts?: typeof believed]): string | null {
  hub.admit(callId, ...of);
  hub.store();
  return hub.call(callId).workerId;
}

describe("for a box", () => {
  test("WRK-01: who has run the code before is nearest, while less than 85 % of its slots are taken", () => {
    const hub = new HandHub();
    boxWorker(hub, "w1", { capacity: 20 });
    expect(taker(hub, "warm", boxed("d1"))).toBe("w1");
    boxWorker(hub, "w2", { capacity: 20 });
    for (let n = 0; n < 9; n++) expect(taker(hub, `c${n}`, boxed("d1"))).toBe("w1");
    // Half full, and the other one empty.
    expect(taker(hub, "half", boxed("d1"))).toBe("w1");
    expect(taker(hub, "other code", boxed("d2"))).toBe("w2");
    for (let n = 0; n < 6; n++) expect(taker(hub, `m${n}`, boxed("d1"))).toBe("w1");
    expect(taker(hub, "over", boxed("d1"))).toBe("w2");
  });

  test("where both are as near and as loaded it is the one whose id comes first", () => {
    const hub = new HandHub();
    boxWorker(hub, "w2");
    boxWorker(hub, "w1");
    expect(taker(hub, "c1", boxed(null))).toBe("w1");
  });

  test("WRK-03: who has the memory for it goes before who is nearer or idle", () => {
    const hub = new HandHub();
    boxWorker(hub, "w1", { freeMemoryBytes: 512 * MiB });
    expect(taker(hub, "warm", boxed("d1"))).toBe("w1");
    boxWorker(hub, "w2", { freeMemoryBytes: 2_048 * MiB });
    expect(taker(hub, "small", boxed("d1"))).toBe("w1");
    expect(taker(hub, "large", boxed("d1", 1_024 * MiB))).toBe("w2");
  });

  test("who says that it has none is taken when nobody else is there; who says nothing is believed to have it", () => {
    const hub = new HandHub();
    const w1 = boxWorker(hub, "w1", { freeMemoryBytes: 1 });
    expect(taker(hub, "c1", boxed(null))).toBe("w1");
    hub.say(w1, result("c1"));
    boxWorker(hub, "w2");
    expect(taker(hub, "c2", boxed(null))).toBe("w2");
  });

  test("what a heartbeat says of memory holds from then on", () => {
    const hub = new HandHub();
    const w1 = boxWorker(hub, "w1", { freeMemoryBytes: 1 });
    boxWorker(hub, "w2", { freeMemoryBytes: 512 * MiB });
    hub.say(w1, { type: "heartbeat", load: 0, inFlight: [], freeMemoryBytes: 512 * MiB });
    expect(taker(hub, "c1", boxed(null))).toBe("w1");
  });
});

describe("labels", () => {
  const placed = (placement: NonNullable<(typeof believed)["placement"]>) => ({ ...believed, placement });

  test("that a tool asks for are a must: without them nobody serves it", () => {
    const hub = new HandHub();
    hub.connect("w1", { labels: { region: "us" } });
    const inEu = placed({ match: { region: "eu" }, prefer: {} });
    expect(taker(hub, "c1", {}, inEu)).toBeNull();
    hub.connect("w2", { labels: { region: "eu", zone: "a" } });
    hub.store();
    expect(hub.call("c1").workerId).toBe("w2");
    expect(taker(hub, "c2", {}, inEu)).toBe("w2");
  });

  test("and where nobody has them in time, the call ends as one that nobody serves", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { labels: { region: "us" } });
    hub.admit("c1", {}, placed({ match: { region: "eu" }, prefer: {} }));
    for (let beats = 0; beats < 6; beats++) {
      hub.pass(5_000);
      hub.beat(w1);
    }
    hub.store();
    expect(hub.orders("tell")[0]?.call.error?.code).toBe("no_handler");
  });

  test("that a tool prefers, or the caller names as its place, decide between those that could", () => {
    const hub = new HandHub();
    hub.connect("w1", { labels: { zone: "a" } });
    hub.connect("w2", { labels: { zone: "b" } });
    expect(taker(hub, "c1", {}, placed({ match: {}, prefer: { zone: "b" } }))).toBe("w2");
    expect(taker(hub, "c2", { contextJson: '{"locality":{"zone":"b"}}' })).toBe("w2");
    expect(taker(hub, "c3", { contextJson: '{"locality":{"zone":"a"}}' }, placed({ match: {}, prefer: { zone: "b" } }))).toBe("w1");
    // Nobody is there: then it is as if nothing had been said.
    expect(taker(hub, "c4", { contextJson: '{"locality":{"zone":"c"}}' })).toBe("w1");
  });

  test.each(['{"locality":"a"}', '{"locality":null}', '{"locality":{"zone":7}}', '{"said":"\\"locality\\""}'])("%s names no place", (contextJson) => {
    const hub = new HandHub();
    hub.connect("w2");
    hub.connect("w1");
    expect(taker(hub, "c1", { contextJson })).toBe("w1");
  });
});
