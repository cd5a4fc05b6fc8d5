// The journal's door under a clock by hand: done once, kept with what belongs to it, waited for, taken over, and lost.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { HandClock, settled } from "../../../../../test/support/hand-clock.ts";
import { MemoryJournal } from "../../../../../test/support/memory-journal.ts";
import { EffectFailure } from "./failure.ts";
import { LedgerEffects, type LedgerEffectsOptions } from "./ledger.ts";
import type { EffectEnvelope, Ran } from "./types.ts";

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

const envelope: EffectEnvelope = {
  scope: { tenant: "acme", sessionId: "sess_1", turn: 2, step: 3 },
  kind: "complete_model",
  subject: "scripted/demo",
  cause: null,
  key: "t2.e5",
  payload: { history_length: 4 },
};
const answer = (value: unknown, beside?: string): Ran<string> => ({ outcome: { kind: "complete_model", value }, ...(beside === undefined ? {} : { beside }) });

function world(more: Partial<LedgerEffectsOptions<string>> = {}) {
  const store = new MemoryJournal();
  const clock = new HandClock(1_000);
  const controller = (own: Partial<LedgerEffectsOptions<string>> = {}) =>
    new LedgerEffects<string>({ store, clock, hash, fence: 1, claimMs: 300, pollMs: 100, waitMsMax: 10_000, ...more, ...own });
  return { store, clock, controller };
}

async function failureOf(promise: Promise<unknown>): Promise<EffectFailure> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof EffectFailure) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

describe("done once", () => {
  test("the row says what was claimed and what came of it, and the writes beside are kept with it", async () => {
    const { store, controller } = world();
    expect(await controller().execute(envelope, async () => answer({ text: "hello" }, "snapshot 6"))).toEqual({ kind: "complete_model", value: { text: "hello" } });
    expect([...store.rows.values()]).toEqual([
      {
        tenant: "acme",
        sessionId: "sess_1",
        key: "t2.e5",
        kind: "complete_model",
        hash: hash(
          '{"cause":null,"key":"t2.e5","kind":"complete_model","payload":{"history_length":4},"scope":{"sessionId":"sess_1","step":3,"tenant":"acme","turn":2},"subject":"scripted/demo"}',
        ),
        envelopeJson:
          '{"cause":null,"key":"t2.e5","kind":"complete_model","payload":{"history_length":4},"scope":{"sessionId":"sess_1","step":3,"tenant":"acme","turn":2},"subject":"scripted/demo"}',
        state: "completed",
        fence: 1,
        claimedAt: 1_000,
        claimExpiresAt: 1_300,
        completedAt: 1_000,
        outcomeJson: '{"kind":"complete_model","value":{"text":"hello"}}',
      },
    ]);
    expect(store.beside).toEqual(["snapshot 6"]);
  });

  test("what is volatile may differ; the recorded outcome is answered and nothing is done", async () => {
    const { store, controller } = world();
    await controller().execute({ ...envelope, volatile: { attempt: 1 } }, async () => answer(1, "first"));
    const again = await controller().execute({ ...envelope, volatile: { attempt: 2, traceparent: "00-1" } }, () => Promise.reject(new Error("done twice")));
    expect(again).toEqual({ kind: "complete_model", value: 1 });
    expect(store.beside).toEqual(["first"]);
  });

  test("the first answer is what a replay answers with: undefined members are no data", async () => {
    const { controller } = world();
    const first = await controller().execute(envelope, async () => answer({ a: 1, b: undefined }));
    expect(Object.keys(first.value as object)).toEqual(["a"]);
  });
});

test("an outcome that is no JSON value is refused, and nothing is recorded", async () => {
  const { store, controller } = world();
  for (const value of [undefined, Number.NaN, () => 1]) {
    expect((await failureOf(controller().execute({ ...envelope, key: `t2.e${store.rows.size + 1}` }, async () => answer(value, "beside")))).code).toBe("effect_unserializable");
  }
  expect([...store.rows.values()].map(({ state }) => state)).toEqual(["claimed", "claimed", "claimed"]);
  expect(store.beside).toEqual([]);
});

describe("waiting", () => {
  const busy = () => {
    const made = world({ waitMsMax: 250 });
    const first = made.controller().execute(envelope, () => new Promise(() => undefined));
    // It never ends by itself; where its claim is taken it fails, which is no matter here.
    first.catch(() => undefined);
    return made;
  };
  const never = () => Promise.reject(new Error("done twice"));

  test("ends after its bound, while the other renews its claim", async () => {
    const { clock, controller } = busy();
    await settled();
    const failure = failureOf(controller().execute(envelope, never));
    const ended: number[] = [];
    void failure.then(() => ended.push(clock.now()));
    await settled();
    await clock.pass(249);
    expect(ended).toEqual([]);
    await clock.pass(1);
    expect(ended).toEqual([1_250]);
    expect((await failure).message).toBe("another has been at effect t2.e5 for more than 250 ms: try again later");
  });

  test("ends when the session is another's by then: with the lost lease, or with what that one recorded", async () => {
    const { store, clock, controller } = busy();
    await settled();
    const waiting = failureOf(controller().execute(envelope, never));
    await settled();
    store.fence = 2;
    let finish = (): void => undefined;
    const next = controller({ fence: 2 }).execute(envelope, () => new Promise((resolve) => void (finish = () => resolve(answer("theirs")))));
    await settled();
    await clock.pass(100);
    expect((await waiting).code).toBe("lease_lost");
    finish();
    await next;
    expect(await controller().execute(envelope, never)).toEqual({ kind: "complete_model", value: "theirs" });
  });
});

describe("renewal", () => {
  test("goes on three times in a claim while the effect is done, and no timer is left behind", async () => {
    const { store, clock, controller } = world();
    let finish = (): void => undefined;
    const going = controller().execute(envelope, () => new Promise((resolve) => void (finish = () => resolve(answer("late")))));
    await settled();
    await clock.pass(1_000);
    expect([...store.rows.values()].map(({ claimExpiresAt }) => claimExpiresAt)).toEqual([2_300]);
    finish();
    await going;
    expect(clock.timers).toBe(0);
  });

  test("a store that is away for a moment loses nothing; one that stays away loses the claim when its time is over", async () => {
    const { store, clock, controller } = world();
    const moment = controller().execute(envelope, (signal) => new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve(answer("never")));
    }));
    const failure = failureOf(moment);
    await settled();
    store.failures = 1;
    await clock.pass(350);
    expect([...store.rows.values()].map(({ claimExpiresAt }) => claimExpiresAt)).toEqual([1_600]);
    store.failures = 99;
    await clock.pass(400);
    expect((await failure).code).toBe("lease_lost");
    expect(clock.timers).toBe(0);
  });
});

describe("what ran threw", () => {
  test("nothing is recorded, the failure comes through as it is, and the same owner may try again at once", async () => {
    const { store, clock, controller } = world();
    const owner = controller();
    const broken = new EffectFailure("tool_surface_resolution_failed", "t2.e5", "the tools could not be read");
    expect(await failureOf(owner.execute(envelope, () => Promise.reject(broken)))).toBe(broken);
    expect([...store.rows.values()].map(({ state, outcomeJson }) => [state, outcomeJson])).toEqual([["claimed", null]]);
    await clock.pass(200);
    expect(await owner.execute(envelope, async () => answer(2))).toEqual({ kind: "complete_model", value: 2 });
    expect(clock.timers).toBe(0);
  });

  test("another owner under the same fence waits until the claim has run out", async () => {
    const { clock, controller } = world();
    await controller().execute(envelope, () => Promise.reject(new Error("broken"))).catch(() => undefined);
    const ran: number[] = [];
    const other = controller().execute(envelope, async () => {
      ran.push(clock.now());
      return answer(2);
    });
    await settled();
    await clock.pass(299);
    expect(ran).toEqual([]);
    await clock.pass(1);
    expect(ran).toEqual([1_300]);
    await other;
  });
});

test("a store that forgets is refused before anything is done", () => {
  const { store, controller } = world();
  store.durable = false;
  expect(() => controller()).toThrow(expect.objectContaining({ code: "effect_not_durable" }));
});
