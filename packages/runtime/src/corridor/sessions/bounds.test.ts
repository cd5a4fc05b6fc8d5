// What a session takes, keeps and shows at most, each bound met at its edge.
import { afterEach, expect, test } from "vitest";
import { refusal } from "../../../../../test/support/corridor.ts";
import { call, Sessions, talker } from "../../../../../test/support/sessions.ts";

let house: Sessions;
afterEach(() => house.close());

test("messageBytesMax: a message of 256 KiB is taken, as the first and later, and one byte more is not", async () => {
  house = await Sessions.withScript([{ text: "1" }, { text: "2" }]);
  const full = "é".repeat(131_072);
  const { session } = await house.start(full);
  await house.quiet();
  expect((await house.service.sendMessage(talker, session.sessionId, { text: full })).entry.seq).toBe(2);
  expect((await refusal(house.service.sendMessage(talker, session.sessionId, { text: `${full}.` }))).code).toBe("payload_too_large");
  expect((await refusal(house.service.startSession(talker, { agent: "helper", message: `${full}.` }))).code).toBe("payload_too_large");
});

test("contextBytesMax: a context of 15 KiB is taken, and one byte more is not", async () => {
  house = await Sessions.withScript([{ text: "hello" }]);
  // {"a":""} is eight bytes.
  const start = (chars: number) => house.service.startSession(talker, { agent: "helper", context: { a: "x".repeat(chars) } });
  expect((await start(15_352)).session.state).toBe("awaiting_input");
  expect((await refusal(start(15_353))).code).toBe("payload_too_large");
});

test("reasonCharsMax: a thousand characters of why somebody stops a session are kept", async () => {
  house = await Sessions.withScript([{ calls: [call({ amount: 5 })] }]);
  const { session } = await house.start("pay");
  await house.quiet();
  await house.service.cancelSession(talker, session.sessionId, { scope: "session", reason: "x".repeat(1_001) });
  const [, entry] = await house.ledger.inbox("acme", session.sessionId, 0, 10);
  expect(entry?.wish).toMatchObject({ type: "cancel", reason: "x".repeat(1_000) });
});

test("inboxWaitingMax: a hundred messages wait while a tool runs, and the next one is told to come later", async () => {
  house = await Sessions.withScript([{ calls: [call({ amount: 5 })] }, { text: "heard all" }]);
  house.worker("w1", { tools: { pay: 10 } });
  const { session } = await house.start("pay");
  await house.quiet();
  for (let count = 0; count < 100; count++) await house.service.sendMessage(talker, session.sessionId, { text: `${count}` });
  const refused = await refusal(house.service.sendMessage(talker, session.sessionId, { text: "one more" }));
  expect([refused.code, refused.details]).toEqual(["queue_full", { retry_after_s: 1 }]);
});

test("timelineItemsMax: of a session with more than a thousand events the first thousand are shown, and that it was cut", async () => {
  house = await Sessions.withScript(Array.from({ length: 251 }, (_, at) => ({ text: `${at}` })));
  const { session } = await house.start("0");
  // A turn without tools has four events, and there is one of the beginning.
  for (let turn = 1; turn < 250; turn++) {
    await house.settle();
    await house.service.sendMessage(talker, session.sessionId, { text: `${turn}` });
  }
  await house.quiet();
  expect((await house.session(session.sessionId)).eventSeq).toBe(1_001);
  const { events, history, cut } = await house.service.sessionTimeline(talker, session.sessionId);
  expect([events.length, events.at(-1)?.seq, history.length, cut]).toEqual([1_000, 1_000, 500, true]);
});

test("timelineChildrenMax: fifty children are shown, and that there are more", async () => {
  house = await Sessions.withScript([{ text: "hello" }]);
  const { session } = await house.start("hello");
  await house.quiet();
  const row = await house.session(session.sessionId);
  const child = async (at: number): Promise<void> => {
    const fresh = { ...row, sessionId: `sess_child_${at}`, parentSessionId: session.sessionId, parentCallId: `c${at}`, createdAt: row.createdAt + at, historyLength: 0, eventSeq: 0, inboxSeq: 0, inboxTaken: 0 };
    const { applied } = await house.ledger.commit({ writes: [{ op: "insert_session", row: fresh }] });
    expect(applied).toBe(true);
  };
  for (let at = 1; at <= 50; at++) await child(at);
  const whole = await house.service.sessionTimeline(talker, session.sessionId);
  expect([whole.children.length, whole.cut]).toEqual([50, false]);
  await child(51);
  const shown = await house.service.sessionTimeline(talker, session.sessionId);
  expect([shown.children.length, shown.cut]).toEqual([50, true]);
});

test("deltaCharsMax: a reader that does not read misses pieces of answers beyond 256 Ki characters, is told so, and gets every event", async () => {
  house = await Sessions.withScript(Array.from({ length: 5 }, () => ({ text: "x".repeat(60_000) })));
  const { session } = await house.start();
  const follower = await house.service.followSession(talker, session.sessionId, 0);
  for (let turn = 1; turn <= 5; turn++) {
    await house.service.sendMessage(talker, session.sessionId, { text: `${turn}` });
    await house.quiet();
  }
  let chars = 0;
  const gaps: number[] = [];
  const events: number[] = [];
  for (let told = await follower.next(0); told.length > 0; told = await follower.next(0))
    for (const one of told) {
      if (one.kind === "delta") chars += one.delta.text.length;
      else if (one.kind === "gap") gaps.push(one.dropped);
      else events.push(one.event.seq);
    }
  follower.close();
  // Four answers of 60 000 characters fit.
  expect([chars, gaps]).toEqual([240_000, [1]]);
  expect(events).toEqual(Array.from({ length: 21 }, (_, at) => at + 1));
});
