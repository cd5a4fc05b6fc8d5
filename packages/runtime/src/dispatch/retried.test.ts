// Retries and breakers in the hub: who waits for an instant, whom that hides, and what a tool that is down is spared.
import { errorBody, type Result, type WorkerMessage } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { HandHub, believe, register, result, started } from "../../../../test/support/hand-hub.ts";
import { identityOf } from "../../../../test/support/calls.ts";
import { pinnedRetry } from "../call/retry.ts";
import type { CallIdentity } from "../call/types.ts";
import type { ResultCheck, ToolFacts } from "./types.ts";

const anybody = { identities: [], imageDigests: [] };

/** Believes workers as the corridor's check does: a tool that asks to come again is down. */
const check: ResultCheck = (call, sent, workerId) => ({
  ...believe(call, sent, workerId),
  ...(sent.error === undefined ? {} : { error: errorBody("tool_error", sent.error.message, {}, sent.error.retryable), toolIsDown: sent.error.retryable }),
});

const plain: ToolFacts = { check, integrity: anybody };
const fragile: ToolFacts = { ...plain, breaker: { failures: 2, coolDownMs: 10_000 } };

const failed = (callId: string, fence = 1, retryable = true): Result => ({
  type: "result",
  callId,
  fence,
  status: "failed",
  error: { code: "busy", message: "not now", retryable },
  usage: { durationMs: 1 },
});

function retrying(delayMs: number, attempts = 3): string | null {
  return pinnedRetry({ attempts, strategy: "fixed", initialMs: delayMs, factor: 2, maxMs: delayMs, timeouts: false }, "read_only");
}

class Retries extends HandHub {
  enter(callId: string, facts: ToolFacts, changes: Partial<CallIdentity> = {}): void {
    const identity = identityOf({ callId, admittedAt: this.now, ...changes });
    this.hub.admit({ identity, edited: null, facts, clearance: this.clearance() }, this.now);
    this.store();
  }

  fail(session: number, callId: string, fence = 1, retryable = true): void {
    this.say(session, failed(callId, fence, retryable));
    this.store();
  }

  breaker(): string {
    return this.hub.breaker({ tenant: "acme", toolTenant: "acme", tool: "pay", version: "1.0.0" }, this.now).state;
  }
}

describe("a call that waits for its next attempt", () => {
  test("goes at its stored instant, not a millisecond sooner, and its old lease counts no more", () => {
    const hub = new Retries();
    const w1 = hub.connect("w1");
    hub.enter("c1", plain, { retryJson: retrying(4_000) });
    hub.fail(w1, "c1");
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "result_ack c1#1 stored"]);
    const { notBefore } = hub.call("c1");
    hub.pass(notBefore - hub.now - 1);
    hub.beat(w1);
    expect(hub.sent(w1)).toEqual(["heartbeat_ack"]);
    hub.pass(1);
    hub.store();
    expect(hub.sent(w1)).toEqual(["invoke c1#2"]);
    hub.say(w1, result("c1"));
    hub.store();
    expect(hub.orders("stray")).toHaveLength(1);
    hub.say(w1, result("c1", 2));
    hub.store();
    expect(hub.orders("tell").map(({ call }) => [call.state, call.attempt])).toEqual([["succeeded", 2]]);
  });

  test("hides nobody, however many wait before the others", () => {
    const hub = new Retries({ queueDepthPerTenantMax: 500 });
    const w1 = hub.connect("w1", { capacity: 1 });
    for (let n = 0; n < 100; n++) {
      hub.enter(`c${n}`, plain, { retryJson: retrying(20_000) });
      hub.fail(w1, `c${n}`);
    }
    hub.sent(w1);
    hub.enter("fresh", plain);
    expect(hub.sent(w1)).toEqual(["invoke fresh#1"]);
    hub.enter("next", plain);
    hub.say(w1, result("fresh"));
    hub.store();
    expect(hub.sent(w1)).toEqual(["result_ack fresh#1 stored", "invoke next#1"]);
  });

  test("RTY-08: a restart finds its instant and neither waits anew nor goes at once", () => {
    const before = new Retries();
    const w1 = before.connect("w1");
    before.enter("c1", plain, { retryJson: retrying(6_000) });
    before.fail(w1, "c1");
    const row = before.call("c1");
    const hub = new Retries();
    hub.now = before.now + 2_000;
    const again = hub.connect("w1", { incarnation: "i2" });
    hub.hub.restore(row, plain, hub.now);
    hub.store();
    expect(hub.sent(again)).toEqual(["registered"]);
    hub.pass(row.notBefore - hub.now - 1);
    hub.store();
    expect(hub.sent(again)).toEqual([]);
    hub.pass(1);
    hub.store();
    expect(hub.sent(again)).toEqual(["invoke c1#2"]);
  });

  test("is still ended by a cancel at once", () => {
    const hub = new Retries();
    const w1 = hub.connect("w1");
    hub.enter("c1", plain, { retryJson: retrying(6_000) });
    hub.fail(w1, "c1");
    hub.happen("c1", { type: "cancel", by: "user:ann" });
    hub.store();
    expect(hub.orders("tell").map(({ call }) => call.state)).toEqual(["cancelled"]);
    hub.pass(10_000);
    hub.store();
    expect(hub.hub.openCount()).toBe(0);
  });
});

describe("RTY-07: a tool that is down", () => {
  function broken(): { hub: Retries; w1: number } {
    const hub = new Retries();
    const w1 = hub.connect("w1");
    for (const callId of ["c1", "c2"]) {
      hub.enter(callId, fragile, { sideEffectClass: "non_idempotent_write" });
      hub.fail(w1, callId);
    }
    hub.sent(w1);
    return { hub, w1 };
  }

  test("opens its breaker, is counted, and is not asked by whoever comes", () => {
    const { hub } = broken();
    expect(hub.breaker()).toBe("open");
    expect(hub.orders("breaker")).toEqual([{ type: "breaker", tool: "pay", version: "1.0.0", to: "open" }]);
    expect(hub.hub.breaker({ tenant: "acme", toolTenant: "acme", tool: "pay", version: "1.0.0" }, hub.now).againMs).toBe(10_000);
    // What one tenant does with a shared tool takes it from nobody else.
    expect(hub.hub.breaker({ tenant: "globex", toolTenant: "acme", tool: "pay", version: "1.0.0" }, hub.now).againMs).toBeNull();
  });

  test("whoever is in the queue already ends at once, before a worker hears of it", () => {
    const hub = new Retries();
    const w1 = hub.connect("w1", { capacity: 1 });
    for (const callId of ["c1", "c2", "c3", "c4"]) hub.enter(callId, fragile);
    hub.fail(w1, "c1");
    hub.fail(w1, "c2");
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "result_ack c1#1 stored", "invoke c2#1", "result_ack c2#1 stored"]);
    expect(hub.orders("tell").map(({ call: { callId, state, error } }) => [callId, state, error?.code])).toEqual([
      ["c1", "failed", "tool_error"],
      ["c2", "failed", "tool_error"],
      ["c3", "failed", "breaker_open"],
      ["c4", "failed", "breaker_open"],
    ]);
  });

  test("the failure that opens it is not tried again", () => {
    const hub = new Retries();
    const w1 = hub.connect("w1");
    hub.enter("c1", fragile, { retryJson: retrying(100, 5) });
    hub.fail(w1, "c1");
    hub.pass(200);
    hub.store();
    hub.fail(w1, "c1", 2);
    expect(hub.orders("tell").map(({ call }) => [call.state, call.attempt, call.error?.code])).toEqual([["failed", 2, "tool_error"]]);
    expect(hub.breaker()).toBe("open");
  });

  test("after the cool-down one call tries it; its success opens the door to all", () => {
    const { hub, w1 } = broken();
    hub.pass(10_000);
    hub.beat(w1);
    expect(hub.breaker()).toBe("half_open");
    for (const callId of ["p", "q"]) hub.enter(callId, fragile);
    expect(hub.sent(w1)).toEqual(["heartbeat_ack", "invoke p#1"]);
    expect(hub.orders("tell").map(({ call }) => [call.callId, call.error?.code])).toEqual([["c1", "tool_error"], ["c2", "tool_error"], ["q", "breaker_open"]]);
    hub.say(w1, started("p"));
    hub.say(w1, result("p"));
    hub.store();
    expect(hub.breaker()).toBe("closed");
    expect(hub.orders("breaker").map(({ to }) => to)).toEqual(["open", "closed"]);
    hub.enter("r", fragile);
    expect(hub.sent(w1)).toEqual(["result_ack p#1 stored", "invoke r#1"]);
  });

  test("its failure closes the door again", () => {
    const { hub, w1 } = broken();
    hub.pass(10_000);
    hub.beat(w1);
    hub.enter("p", fragile);
    hub.fail(w1, "p");
    expect(hub.breaker()).toBe("open");
    hub.pass(9_999);
    expect(hub.breaker()).toBe("open");
  });

  test("a probe that was cancelled leaves its turn to the next call", () => {
    const { hub, w1 } = broken();
    hub.pass(10_000);
    hub.beat(w1);
    hub.enter("p", fragile, { sideEffectClass: "non_idempotent_write" });
    hub.happen("p", { type: "cancel", by: "user:ann" });
    hub.store();
    hub.enter("q", fragile);
    expect(hub.sent(w1).slice(-1)).toEqual(["invoke q#1"]);
  });

  test("a no is an answer, and a tool without a breaker is always asked", () => {
    const hub = new Retries();
    const w1 = hub.connect("w1");
    for (const callId of ["c1", "c2", "c3"]) {
      hub.enter(callId, fragile);
      hub.fail(w1, callId, 1, false);
    }
    for (const callId of ["d1", "d2", "d3"]) {
      hub.enter(callId, plain);
      hub.fail(w1, callId);
    }
    expect(hub.breaker()).toBe("closed");
  });

  test("lost leases count", () => {
    const hub = new Retries();
    const w1 = hub.connect("w1");
    for (const callId of ["c1", "c2"]) {
      hub.enter(callId, fragile, { sideEffectClass: "non_idempotent_write" });
      hub.say(w1, { type: "accepted", callId, fence: 1 });
      hub.say(w1, started(callId));
    }
    hub.hub.disconnect(w1);
    hub.pass(16_000);
    expect([hub.call("c1").state, hub.call("c2").state, hub.breaker()]).toEqual(["indeterminate", "indeterminate", "open"]);
  });
});

describe("WRK-08: a box that cannot be made", () => {
  const noBox = (callId: string, fence: number): WorkerMessage => ({ type: "nack", callId, fence, reason: "retry_elsewhere", code: "box_not_provisioned", message: "no space" });

  function boxes(...workers: readonly string[]): { hub: Retries; sessions: number[] } {
    const hub = new Retries();
    const sessions = workers.map((workerId, at) => {
      const session = 100 + at;
      hub.hub.connect(session, { tenant: "platform", principal: "service:boxes" }, hub.now);
      hub.say(session, { ...register(workerId, { tools: {} }), backends: ["native"] });
      return session;
    });
    return { hub, sessions };
  }

  test.each(["idempotent_write", "non_idempotent_write"] as const)("on one worker (%s) is made on another, in the same attempt; on neither is 503", (sideEffectClass) => {
    const { hub, sessions: [w1 = 0, w2 = 0] } = boxes("w1", "w2");
    hub.enter("c1", plain, { sandbox: "native", sideEffectClass });
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1"]);
    hub.say(w1, noBox("c1", 1));
    hub.store();
    expect(hub.sent(w2)).toEqual(["registered", "invoke c1#2"]);
    expect(hub.call("c1").attempt).toBe(1);
    hub.say(w2, noBox("c1", 2));
    hub.store();
    expect(hub.orders("tell").map(({ call: { state, error, attempt } }) => [state, error?.code, attempt])).toEqual([["failed", "sandbox_unavailable", 1]]);
  });
});
