// When a cancel is done with: with the effect that heard it, but one of the turn only with the turn.
import { expect, test } from "vitest";
import { HandClock } from "../../../../../test/support/hand-clock.ts";
import type { InboxEntry, Session, Wish } from "../../session/types.ts";
import type { Ledger } from "../../ledger/port.ts";
import { Cancels } from "./cancels.ts";
import { Wishes } from "./wishes.ts";

type Scope = Extract<Wish, { type: "cancel" }>["scope"];
const entry = (seq: number, scope: Scope): InboxEntry => ({ tenant: "acme", sessionId: "s", seq, at: 5, by: "user:ann", wish: { type: "cancel", scope, callId: null, reason: "" }, idempotencyKey: null });

/** An inbox that answers when it is let. */
class Inbox {
  readonly entries: InboxEntry[] = [];
  reads = 0;
  inbox(_tenant: string, _sessionId: string, afterSeq: number): Promise<readonly InboxEntry[]> {
    this.reads += 1;
    return Promise.resolve(this.entries.filter(({ seq }) => seq > afterSeq));
  }
}

function open(): { readonly inbox: Inbox; readonly wishes: Wishes; readonly cancels: Cancels } {
  const inbox = new Inbox();
  const wishes = new Wishes(inbox as unknown as Ledger, { tenant: "acme", sessionId: "s", inboxTaken: 0 } as Session);
  return { inbox, wishes, cancels: new Cancels(wishes, 0, new HandClock(1)) };
}

test("a cancel of the turn that came as the answer did is heard by the next effect, also by whoever takes the session up", async () => {
  const { inbox, wishes, cancels } = open();
  inbox.entries.push(entry(1, "batch"), entry(2, "turn"), entry(3, "call"));
  await wishes.look();
  expect(cancels.done("goes_on")).toBe(1);
  const heard: number[] = [];
  cancels.during(({ seq }) => void heard.push(seq));
  expect(heard).toEqual([2]);
  expect(cancels.ofTurn?.seq).toBe(2);
  expect(cancels.done("is_over")).toBe(2);
  expect(cancels.ofTurn).toBeUndefined();
});

test("a cancel of a batch is done with when the effect is, whether it meant anything or not", async () => {
  const { inbox, wishes, cancels } = open();
  inbox.entries.push(entry(1, "batch"), entry(2, "call"));
  await wishes.look();
  expect(cancels.done("goes_on")).toBe(2);
  const heard: number[] = [];
  cancels.during(({ seq }) => void heard.push(seq));
  expect(heard).toEqual([]);
});

test.each([0, 1, 2, 3, 4, 5, 6])("what is put in %i turns after a reading began is read by whoever looks then", async (turns) => {
  const { inbox, wishes } = open();
  void wishes.look();
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
  inbox.entries.push(entry(1, "turn"));
  await wishes.look();
  expect(wishes.seen).toBe(1);
});
