// The deliverer on a real ledger, a clock by hand and receivers by hand: when it posts, what it stores, and what it survives.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { settled } from "../../../../test/support/hand-clock.ts";
import { HandDoor, PostOffice, sentAt, until } from "../../../../test/support/webhooks.ts";

let door: HandDoor;
let office: PostOffice;
let later: PostOffice | undefined;
beforeEach(() => {
  later = undefined;
  door = new HandDoor();
  office = new PostOffice(door);
});
afterEach(() => (later ?? office).close());

/** Whatever the deliverer can do without time passing has been done. */
async function quiet(): Promise<void> {
  for (let turns = 0; turns < 50; turns++) await settled();
}
const states = async (tenant = "acme", from = office): Promise<(readonly [state: string, attempts: number, nextAt: number | null])[]> =>
  (await from.deliveries(tenant)).map(({ state, attempts, nextAt }) => [state, attempts, nextAt]);

describe("an attempt", () => {
  test("is made when it is poked, signed with the webhook's own secret, and stored", async () => {
    await office.add("whk_1");
    office.webhooks.start();
    await office.tell();
    await until(() => door.posts.length === 1);
    const [post] = door.posts;
    expect(post?.url).toBe("https://example.com/whk_1");
    expect(JSON.parse(post?.body ?? "")).toMatchObject({ type: "dev.signalbox.approval.requested", source: "signalbox/r1", subject: "apr_1", signalboxtenant: "acme" });
    const [delivery] = await office.deliveries();
    expect(post?.headers["webhook-id"]).toBe(delivery?.deliveryId);
    expect(post?.headers["webhook-timestamp"]).toBe("1000000000");
    const signed = `${delivery?.deliveryId}.1000000000.${post?.body}`;
    expect(post?.headers["webhook-signature"]).toBe(`v1,${door.sign(Buffer.from("whk_1").toString("base64"), signed)}`);
    post?.answer(200);
    await until(async () => (await states())[0]?.[0] === "delivered");
    expect(await office.deliveries()).toMatchObject([{ attempts: 1, nextAt: null, endedAt: sentAt, lastStatus: 200, lastError: null }]);
    expect(office.outcomes).toEqual(["delivered"]);
    await office.clock.pass(86_400_000);
    expect(door.posts).toHaveLength(1);
    expect(office.clock.timers).toBe(0);
  });

  test("is made of what the webhook asked for, in its own tenant", async () => {
    await office.add("whk_1", "acme", { types: ["approval.approved"] });
    await office.add("whk_2");
    await office.add("whk_3", "other");
    door.answers = () => 200;
    office.webhooks.start();
    await office.tell();
    await office.tell(1, "acme", "approval.approved");
    await quiet();
    expect(door.paths.toSorted()).toEqual(["/whk_1", "/whk_2", "/whk_2"]);
    await office.tell(1, "other");
    await until(() => door.posts.length === 4);
    expect(JSON.parse(door.posts[3]?.body ?? "")).toMatchObject({ signalboxtenant: "other" });
    await until(async () => (await states("other"))[0]?.[0] === "delivered");
  });

  test("is not made before start", async () => {
    await office.add("whk_1");
    await office.tell();
    await quiet();
    expect(door.posts).toEqual([]);
    office.webhooks.start();
    await until(() => door.posts.length === 1);
  });

  test("without an answer is given up after 10 s", async () => {
    await office.add("whk_1");
    office.webhooks.start();
    await office.tell();
    await until(() => door.posts.length === 1);
    await office.clock.pass(9_999);
    await quiet();
    expect(await states()).toEqual([["pending", 0, sentAt]]);
    await office.clock.pass(1);
    await until(async () => (await states())[0]?.[1] === 1);
    expect(await office.deliveries()).toMatchObject([{ state: "pending", lastStatus: null, lastError: "no answer within 10 s" }]);
  });

  test("with a secret that cannot be opened is counted like any other, and nothing is sent", async () => {
    const elsewhere = office.seal.seal(["acme", "whk_2"], "whsec_AAAA");
    await office.add("whk_1", "acme", { sealedSecret: elsewhere });
    office.webhooks.start();
    await office.tell();
    await until(async () => (await states())[0]?.[1] === 1);
    expect(await office.deliveries()).toMatchObject([{ state: "pending", lastStatus: null, lastError: "the signing secret cannot be opened" }]);
    expect(door.posts).toEqual([]);
  });

  test("at which the door itself fails is counted, and the deliverer goes on", async () => {
    await office.add("whk_1");
    door.answers = () => {
      throw new TypeError("out of sockets");
    };
    office.webhooks.start();
    await office.tell();
    await until(async () => (await states())[0]?.[1] === 1);
    expect(await office.deliveries()).toMatchObject([{ lastError: "the attempt could not be made: out of sockets" }]);
    door.answers = () => 200;
    await office.clock.pass(5_500);
    await until(async () => (await states())[0]?.[0] === "delivered");
  });
});

describe("what the ledger says", () => {
  test("is old when an attempt ended while it was being read: that delivery is not made again", async () => {
    await office.add("whk_1");
    office.webhooks.start();
    await office.tell();
    await until(() => door.posts.length === 1);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let reads = 0;
    office.ledger.onDue = async (due) => {
      reads++;
      await held;
      return due;
    };
    office.webhooks.poke();
    await until(() => reads === 1);
    door.posts[0]?.answer(200);
    await until(async () => (await states())[0]?.[0] === "delivered");
    await quiet();
    release();
    await quiet();
    expect(door.posts).toHaveLength(1);
    expect(office.outcomes).toEqual(["delivered"]);
  });

  test("is not trusted where it would take one tenant's notice to another's webhook", async () => {
    await office.add("whk_1");
    const strange = await office.add("whk_1", "other");
    office.ledger.onDue = async (due) => due.map(({ delivery }) => ({ delivery, webhook: strange }));
    office.webhooks.start();
    await office.tell();
    await until(async () => (await states())[0]?.[1] === 1);
    expect(door.posts).toEqual([]);
    expect(await office.deliveries()).toMatchObject([{ state: "pending", lastError: "the delivery and its webhook do not belong together" }]);
  });
});

describe("retries", () => {
  test("come at the stored instants, under one id with a new timestamp, until the twelfth failed", async () => {
    await office.add("whk_1");
    door.answers = () => 500;
    office.webhooks.start();
    await office.tell();
    const waits: number[] = [];
    for (let attempt = 1; attempt < 12; attempt++) {
      await until(async () => (await states())[0]?.[1] === attempt);
      const at = (await states())[0]?.[2] ?? 0;
      waits.push(at - office.clock.now());
      await office.clock.pass(at - office.clock.now() - 1);
      await quiet();
      expect(door.posts).toHaveLength(attempt);
      await office.clock.pass(1);
    }
    await until(async () => (await states())[0]?.[0] === "dead");
    const nominal = [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600];
    for (const [at, wait] of waits.entries()) {
      expect(wait / 1_000).toBeGreaterThanOrEqual((nominal[at] ?? 0) * 0.9);
      expect(wait / 1_000).toBeLessThanOrEqual((nominal[at] ?? 0) * 1.1);
    }
    expect(new Set(door.posts.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(door.posts.map(({ headers }) => headers["webhook-timestamp"])).size).toBe(12);
    expect(new Set(door.posts.map(({ body }) => body)).size).toBe(1);
    expect(office.outcomes).toEqual([...Array<string>(11).fill("retry"), "dead"]);
    const [delivery] = await office.deliveries();
    expect(delivery).toMatchObject({ attempts: 12, nextAt: null, lastStatus: 500 });
    expect(office.logged).toEqual([
      [
        "warn",
        "a webhook delivery is dead and is not tried again",
        { tenant: "acme", webhook_id: "whk_1", delivery_id: delivery?.deliveryId, type: "approval.requested", approval_id: "apr_1", attempts: 12, reason: "answered 500" },
      ],
    ]);
  });

  test("410 ends them at once", async () => {
    await office.add("whk_1");
    door.answers = () => 410;
    office.webhooks.start();
    await office.tell();
    await until(async () => (await states())[0]?.[0] === "dead");
    await office.clock.pass(7_200_000);
    expect(door.posts).toHaveLength(1);
    expect(office.outcomes).toEqual(["dead"]);
  });

  test("Retry-After is waited for", async () => {
    await office.add("whk_1");
    office.webhooks.start();
    await office.tell();
    await until(() => door.posts.length === 1);
    door.posts[0]?.answer({ status: 429, retryAfter: "90" });
    await until(async () => (await states())[0]?.[1] === 1);
    expect(await states()).toEqual([["pending", 1, sentAt + 90_000]]);
    await office.clock.pass(89_999);
    await quiet();
    expect(door.posts).toHaveLength(1);
    await office.clock.pass(1);
    await until(() => door.posts.length === 2);
  });

  test("are not held up by an attempt of another webhook that hangs", async () => {
    await office.add("whk_1");
    await office.add("whk_2");
    door.answers = ({ url }) => (url.endsWith("whk_2") ? 500 : undefined);
    office.webhooks.start();
    await office.tell();
    await until(async () => (await office.deliveries()).some(({ attempts }) => attempts === 1));
    // The hanging one was due first; the look comes every second then, and not at the instant itself.
    await office.clock.pass(6_500);
    await until(() => door.paths.filter((path) => path === "/whk_2").length === 2);
    expect(door.paths.filter((path) => path === "/whk_1")).toHaveLength(1);
  });

  test("stop for a webhook that was removed, also in mid-attempt", async () => {
    const { webhookId } = await office.add("whk_1");
    office.webhooks.start();
    await office.tell();
    await until(() => door.posts.length === 1);
    await office.ledger.commit({ writes: [{ op: "remove_webhook", tenant: "acme", webhookId, at: sentAt }] });
    door.posts[0]?.answer(500);
    await quiet();
    expect(await states()).toEqual([["dead", 0, null]]);
    await office.clock.pass(7_200_000);
    expect(door.posts).toHaveLength(1);
  });
});

describe("many at once", () => {
  test("two of a webhook, six of a tenant, eight in all; as one ends the next begins", async () => {
    for (const name of ["whk_1", "whk_2", "whk_3", "whk_4"]) await office.add(name);
    await office.add("whk_5", "other");
    await office.add("whk_6", "third");
    office.webhooks.start();
    await office.tell(5);
    await office.tell(5, "other");
    await office.tell(5, "third");
    await quiet();
    expect(door.paths.filter((path) => /[1-4]$/.test(path))).toHaveLength(6);
    expect(door.posts).toHaveLength(8);
    for (const path of ["/whk_1", "/whk_2", "/whk_3", "/whk_4"]) expect(door.paths.filter((one) => one === path).length).toBeLessThanOrEqual(2);
    door.posts.find(({ url }) => url.endsWith("whk_5"))?.answer(200);
    await until(() => door.posts.length === 9);
    door.answers = () => 200;
    for (const post of door.posts) post.answer(200);
    await until(async () => (await states()).every(([state]) => state === "delivered"));
    await until(async () => (await states("third")).every(([state]) => state === "delivered"));
    // 4 webhooks × 5 notices, and 5 for each of the other tenants; each once.
    expect(new Set(door.posts.map(({ headers }) => headers["webhook-id"])).size).toBe(30);
    expect(door.posts).toHaveLength(30);
  });

  test("the backlog of a tenant whose receivers hang does not hide another tenant's notice", async () => {
    for (const name of ["whk_1", "whk_2"]) await office.add(name);
    await office.add("whk_3", "other");
    office.webhooks.start();
    await office.tell(600);
    await office.tell(600);
    await quiet();
    expect(door.posts).toHaveLength(4);
    await office.tell(1, "other");
    for (let seconds = 0; seconds < 4; seconds++) {
      await office.clock.pass(1_000);
      await quiet();
    }
    expect(door.paths.slice(4)).toEqual(["/whk_3"]);
    door.answers = () => 200;
    for (const post of door.posts) post.answer(200);
    await quiet();
    // Nothing of the backlog is lost, nor counted as tried.
    const backlog = await office.deliveries();
    expect(backlog.every(({ state, attempts, nextAt }) => (state === "delivered" ? attempts === 1 : attempts === 0 && nextAt !== null))).toBe(true);
  });
});

describe("trouble with the ledger", () => {
  test("what cannot be stored is kept and stored later; meanwhile the receiver is not asked again", async () => {
    await office.add("whk_1");
    office.webhooks.start();
    await office.tell();
    await until(() => door.posts.length === 1);
    office.ledger.full = true;
    door.posts[0]?.answer(200);
    await until(() => office.ledger.refused === 1);
    await office.clock.pass(60_000);
    expect(office.ledger.refused).toBe(61);
    expect(door.posts).toHaveLength(1);
    expect(office.logged).toMatchObject([["error", "what came of a webhook delivery cannot be stored yet", {}]]);
    office.ledger.full = false;
    await office.clock.pass(1_000);
    await until(async () => (await states())[0]?.[0] === "delivered");
    expect(door.posts).toHaveLength(1);
    expect(office.outcomes).toEqual(["delivered"]);
  });

  test("a ledger that cannot be read is asked again every second, and told of once", async () => {
    await office.add("whk_1");
    office.ledger.unreadable = true;
    office.webhooks.start();
    await office.tell();
    await quiet();
    await office.clock.pass(30_000);
    expect(office.logged).toMatchObject([["error", "webhook deliveries wait, the ledger cannot be read", {}]]);
    office.ledger.unreadable = false;
    await office.clock.pass(1_000);
    await until(() => door.posts.length === 1);
    await quiet();
    expect(office.logged.map(([level, message]) => [level, message]).slice(1)).toEqual([["info", "webhook deliveries go on"]]);
  });
});

describe("a restart", () => {
  test("goes on with the retry at its stored instant", async () => {
    await office.add("whk_1");
    door.answers = () => 500;
    office.webhooks.start();
    await office.tell();
    await until(async () => (await states())[0]?.[1] === 1);
    await office.clock.pass(6_000);
    await until(async () => (await states())[0]?.[1] === 2);
    const at = (await states())[0]?.[2] ?? 0;
    await office.kill();
    await office.clock.pass(2_000);
    later = new PostOffice(door, office);
    later.webhooks.start();
    await quiet();
    expect(door.posts).toHaveLength(2);
    await later.clock.pass(at - later.clock.now() - 1);
    await quiet();
    expect(door.posts).toHaveLength(2);
    door.answers = () => 204;
    await later.clock.pass(1);
    await until(async () => (await states("acme", later))[0]?.[0] === "delivered");
    expect(await states("acme", later)).toEqual([["delivered", 3, null]]);
    expect(new Set(door.posts.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  });

  test("finds what became due while it was down, at once", async () => {
    await office.add("whk_1");
    await office.tell();
    await office.kill();
    await office.clock.pass(86_400_000);
    later = new PostOffice(door, office);
    later.webhooks.start();
    await until(() => door.posts.length === 1);
  });

  test("a stop ends what is under way without counting it; it is made again under the same id", async () => {
    await office.add("whk_1");
    office.webhooks.start();
    await office.tell();
    await until(() => door.posts.length === 1);
    await office.webhooks.stop();
    expect(door.posts[0]?.signal.aborted).toBe(true);
    expect(await states()).toEqual([["pending", 0, sentAt]]);
    office.webhooks.poke();
    office.webhooks.start();
    await quiet();
    expect(door.posts).toHaveLength(1);
    expect(office.clock.timers).toBe(0);
    await office.kill();
    later = new PostOffice(door, office);
    later.webhooks.start();
    await until(() => door.posts.length === 2);
    expect(door.posts[1]?.headers["webhook-id"]).toBe(door.posts[0]?.headers["webhook-id"]);
  });

  test("a stop does not wait for a ledger that cannot write", async () => {
    await office.add("whk_1");
    office.webhooks.start();
    await office.tell();
    await until(() => door.posts.length === 1);
    office.ledger.full = true;
    door.posts[0]?.answer(200);
    await until(() => office.ledger.refused === 1);
    await office.webhooks.stop();
    expect(office.clock.timers).toBe(0);
    office.ledger.full = false;
    expect(await states()).toEqual([["pending", 0, sentAt]]);
  });
});
