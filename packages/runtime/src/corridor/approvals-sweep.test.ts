// The sweep: approvals end at their stored instants, whoever opened them, whatever else is being opened or fails at the time.
import { afterEach, beforeEach, expect, test } from "vitest";
import { sampleApproval } from "../../../../test/conformance/ledger-governance-rows.ts";
import { HandDriver } from "../../../../test/support/hand-driver.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import type { Approval } from "../policy/approval/types.ts";
import { Approvals, type ApprovalPorts } from "./approvals.ts";

const hourMs = 3_600_000;
let world: HandDriver;
let approvals: Approvals;
let start: number;

/** Asked about a session's limit: no call has to be there. */
function limitOf(approvalId: string, afterMs: number, more: Partial<Approval> = {}): Approval {
  const subject = { kind: "limit", callId: null, sessionId: "ses_1" } as const;
  return sampleApproval({ approvalId, subject, onTimeout: "deny", escalateTo: null, openedAt: start, expiresAt: start + afterMs, ...more });
}

async function stored(...rows: readonly Approval[]): Promise<void> {
  await world.ledger.commit({ writes: rows.map((row) => ({ op: "insert_approval", row }) as const) });
}

const stateOf = (approvalId: string): string | undefined => world.ledger.shelf.approval("acme", approvalId)?.approval.state;

beforeEach(() => {
  world = new HandDriver();
  start = world.clock.now();
  const { hub, clock, driver } = world;
  const log = (_fields: object, message: string): void => void world.logged.push(message);
  const ports = {
    hub,
    clock,
    driver,
    ledger: world.ledger.asLedger,
    chance: { bytes: (count: number) => new Uint8Array(count) },
    hash: (text: string) => `hash of ${text}`,
    meters: { count: () => undefined, observe: () => undefined, text: async () => "" },
    log: { info: log, warn: log, error: log },
    noticed: () => undefined,
  };
  // No call goes on here, so neither rules nor tools are asked.
  approvals = new Approvals(ports as unknown as ApprovalPorts);
});
afterEach(() => approvals.stop());

test("at start: what is over ends, what is not ends at its instant", async () => {
  await stored(limitOf("apr_1", -1), limitOf("apr_2", hourMs), limitOf("apr_3", 2 * hourMs));
  await approvals.sweep();
  expect(["apr_1", "apr_2", "apr_3"].map(stateOf)).toEqual(["expired", "pending", "pending"]);
  await world.clock.pass(hourMs - 1);
  expect(stateOf("apr_2")).toBe("pending");
  await world.clock.pass(1);
  expect(["apr_2", "apr_3"].map(stateOf)).toEqual(["expired", "pending"]);
  await world.clock.pass(hourMs);
  expect(stateOf("apr_3")).toBe("expired");
  expect(world.clock.timers).toBe(0);
});

test("one that is opened later and is over sooner is not missed", async () => {
  await stored(limitOf("apr_1", hourMs));
  await approvals.sweep();
  await stored(limitOf("apr_2", 1_000));
  approvals.opened(start + 1_000);
  await world.clock.pass(1_000);
  expect(["apr_1", "apr_2"].map(stateOf)).toEqual(["pending", "expired"]);
  await world.clock.pass(hourMs);
  expect(stateOf("apr_1")).toBe("expired");
});

test("nor one that is opened while the sweep still reads", async () => {
  const reading = Promise.withResolvers<void>();
  const read = world.ledger.nextApprovalAt.bind(world.ledger);
  world.ledger.nextApprovalAt = async () => {
    const next = await read();
    await reading.promise;
    return next;
  };
  const sweeping = approvals.sweep();
  await settled();
  await stored(limitOf("apr_1", 1_000));
  approvals.opened(start + 1_000);
  reading.resolve();
  await sweeping;
  await world.clock.pass(1_000);
  expect(stateOf("apr_1")).toBe("expired");
});

test("longer than a timer can wait", async () => {
  await stored(limitOf("apr_1", 30 * 24 * hourMs));
  await approvals.sweep();
  await world.clock.pass(30 * 24 * hourMs - 1);
  expect(stateOf("apr_1")).toBe("pending");
  await world.clock.pass(1);
  expect(stateOf("apr_1")).toBe("expired");
});

test("more of them than one look takes", async () => {
  await stored(...Array.from({ length: 250 }, (_, n) => limitOf(`apr_${n}`, -1)));
  await approvals.sweep();
  await world.clock.pass(0);
  await world.clock.pass(0);
  expect(world.ledger.shelf.pending()).toEqual([]);
});

test("an escalation is one close and one opening, and the next one has its time too", async () => {
  await stored(limitOf("apr_1", -1, { onTimeout: "escalate", escalateTo: "lead", timeoutMs: 60_000 }));
  await approvals.sweep();
  const [first, second] = [...world.ledger.shelf.approvals.values()];
  expect([first?.state, first?.escalatedTo === second?.approvalId]).toEqual(["escalated", true]);
  expect(second).toMatchObject({ state: "pending", routes: [{ route: "lead", quorum: 2 }], depth: 1, expiresAt: start + 60_000 });
  await world.clock.pass(60_000);
  expect(stateOf(second?.approvalId ?? "")).toBe("escalated");
});

test("one that cannot be read does not keep the others open, and is tried again every second", async () => {
  await stored(limitOf("apr_1", -2), limitOf("apr_2", -1));
  const read = world.ledger.approval.bind(world.ledger);
  let broken = true;
  world.ledger.approval = async (tenant, approvalId) => {
    if (broken && approvalId === "apr_1") throw new Error("the row is damaged");
    return read(tenant, approvalId);
  };
  await approvals.sweep();
  expect(["apr_1", "apr_2"].map(stateOf)).toEqual(["pending", "expired"]);
  await world.clock.pass(2_500);
  expect(world.logged).toEqual(Array.from({ length: 3 }, () => "an approval that is over could not be closed; it is tried again"));
  broken = false;
  await world.clock.pass(500);
  expect(stateOf("apr_1")).toBe("expired");
});

test("one that is never to be closed is tried once a second too, not all the time", async () => {
  await stored(limitOf("apr_1", -1));
  const commit = world.ledger.commit.bind(world.ledger);
  let tries = 0;
  world.ledger.commit = async (unit) => {
    if (!unit.writes.some(({ op }) => op === "update_approval")) return commit(unit);
    tries++;
    return { applied: false, write: 0 };
  };
  await approvals.sweep();
  await world.clock.pass(3_500);
  // Ten tries against other writers each time.
  expect(tries).toBe(40);
});

test("a store that cannot be read is asked again; a runtime that has stopped asks no more", async () => {
  await stored(limitOf("apr_1", -1));
  const read = world.ledger.dueApprovals.bind(world.ledger);
  world.ledger.dueApprovals = async () => Promise.reject(new Error("away"));
  await approvals.sweep();
  expect(world.logged).toEqual(["approvals that are over could not be read; it is tried again"]);
  world.ledger.dueApprovals = read;
  await world.clock.pass(1_000);
  expect(stateOf("apr_1")).toBe("expired");
  await stored(limitOf("apr_2", hourMs));
  approvals.dueBy(start + hourMs);
  approvals.stop();
  await world.clock.pass(2 * hourMs);
  expect([stateOf("apr_2"), world.clock.timers]).toEqual(["pending", 0]);
});
