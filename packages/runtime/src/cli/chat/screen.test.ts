// What a reader of a session sees: each word once, in whichever way it came, calls in short lines, ends with their reason.
import { expect, test } from "vitest";
import colors from "picocolors";
import { ChatScreen } from "./screen.ts";
import { LineSink } from "./sink.ts";
import type { ToldEvent, ToldPiece } from "./told.ts";

const plainPaint = colors.createColors(false);

let seq = 0;
const event = (type: string, data: Readonly<Record<string, unknown>>, step = 1): ToldEvent => ({ kind: "event", seq: ++seq, ts: "2026-01-31T12:00:00.000Z", type, turn: 1, step, data });
const piece = (text: string, step = 1, type: ToldPiece["type"] = "text"): ToldPiece => ({ kind: "delta", turn: 1, step, type, text });
const assistant = (text: string, step = 1, calls: readonly object[] = []): ToldEvent => event("assistant", { text, calls, stop: "end_turn" }, step);

function screen({ inMiddle = false, columns = 60, safe = true } = {}) {
  let out = "";
  const sink = { write: (text: string) => (out += text) };
  const shown = new ChatScreen(new LineSink({ words: sink, remarks: sink, shared: true }), { paint: plainPaint, columns: () => columns, safe }, inMiddle);
  return { shown, out: () => out };
}

test("pieces are shown as they come, and the whole answer behind them says nothing anew", () => {
  const { shown, out } = screen();
  shown.tell(piece("It is "));
  expect(out()).toBe("It is ");
  shown.tell(piece("shipped."));
  shown.tell(assistant("It is shipped."));
  expect(out()).toBe("It is shipped.\n");
});

test("without pieces the whole answer is shown; what pieces left out is shown behind them", () => {
  const { shown, out } = screen();
  shown.tell(assistant("Whole."));
  shown.tell(piece("It is ", 2));
  shown.tell(assistant("It is shipped.", 2));
  expect(out()).toBe("Whole.\nIt is shipped.\n");
});

test("after a lost connection no piece is shown until a step whose beginning was heard", () => {
  const { shown, out } = screen();
  shown.tell(piece("It is "));
  shown.lost();
  shown.tell(piece("pped."));
  shown.tell(assistant("It is shipped."));
  shown.tell(piece("Anything ", 2));
  shown.tell(piece("else?", 2));
  shown.tell(assistant("Anything else?", 2));
  expect(out()).toBe("It is shipped.\nAnything else?\n");
});

test("a gap is like a lost connection: the event tells the rest", () => {
  const { shown, out } = screen();
  shown.tell(piece("It "));
  shown.tell({ kind: "gap", dropped: 3 });
  shown.tell(piece("."));
  shown.tell(assistant("It is shipped."));
  expect(out()).toBe("It is shipped.\n");
});

test("who comes in the middle of a step gets it whole, once", () => {
  const { shown, out } = screen({ inMiddle: true });
  shown.tell(piece("pped."));
  shown.tell(assistant("It is shipped."));
  expect(out()).toBe("It is shipped.\n");
});

test("an answer that was begun anew is told as that", () => {
  const { shown, out } = screen();
  shown.tell(piece("Once "));
  shown.tell(assistant("Twice."));
  expect(out()).toBe("Once \n(that was begun anew)\nTwice.\n");
});

test("a character that is cut in two by its pieces is shown when it is whole", () => {
  const { shown, out } = screen();
  shown.tell(piece("a\ud83d"));
  expect(out()).toBe("a");
  shown.tell(piece("\ude00b"));
  shown.tell(assistant("a\ud83d\ude00b"));
  expect(out()).toBe("a😀b\n");
});

test("thoughts and the names of calls on their way are no words of the answer", () => {
  const { shown, out } = screen();
  shown.tell(piece("hm", 1, "thought"));
  shown.tell(piece("charge", 1, "tool_call"));
  shown.tell(assistant(""));
  expect(out()).toBe("");
});

test("calls are two short lines each, and wide text is cut where it fits", () => {
  const { shown, out } = screen({ columns: 44 });
  shown.tell(assistant("I pay.", 1, [{ name: "charge", arguments: '{"amount":500,"payee":"漢字漢字漢字漢字漢字漢字"}' }, { name: "note", arguments: "" }]));
  shown.tell(event("tool.started", { index: 0, execution_id: "exec_1", name: "charge" }));
  shown.tell(event("tool.started", { index: 1, execution_id: "exec_2", name: "note" }));
  shown.tell(event("tool.completed", { index: 1, execution_id: "exec_2", name: "note", status: "denied", told: "row", is_error: true, text: "[forbidden] no notes", duration_ms: 0 }));
  shown.tell(event("tool.completed", { index: 0, execution_id: "exec_1", name: "charge", status: "succeeded", told: "row", is_error: false, text: '{"status":"processed"}', duration_ms: 1_200, edited_by: "user:ann" }));
  expect(out().split("\n")).toEqual([
    "I pay.",
    '→ charge {"amount":500,"payee":"漢字漢字漢…',
    "→ note",
    "← note denied: [forbidden] no notes",
    "← charge succeeded in 1.2 s with arguments…",
    "",
  ]);
});

test("messages of others are shown, one's own are on the screen already", () => {
  const { shown, out } = screen();
  shown.wrote("where is it?");
  expect(shown.waits).toBe(true);
  shown.tell(event("message", { by: "user:ann", text: "where is it?" }));
  expect(shown.waits).toBe(false);
  shown.tell(event("message", { by: "user:bob", text: "and mine?" }));
  expect(out()).toBe("user:bob> and mine?\n");
});

test("a turn that ended well says nothing of it; every other end says why", () => {
  const { shown, out } = screen({ columns: 200 });
  shown.tell(event("turn.ended", { end: "ended", code: "end_turn", message: "the model has ended its turn" }));
  shown.tell(event("turn.ended", { end: "ended", code: "limit_steps", message: "20 steps are used up" }));
  shown.tell(event("turn.ended", { end: "cancelled", code: "cancelled", message: "cancelled by user:ann" }));
  shown.tell(event("session.ended", { status: "completed", code: "completed", message: "completed by user:ann" }));
  expect(out()).toBe("the turn ended: 20 steps are used up (limit_steps)\nthe turn ended: cancelled by user:ann\nthe session is completed: completed by user:ann\n");
});

test("a terminal obeys nothing that a model, a tool or a person writes; a program gets the words as they are", () => {
  const nasty = "\u001b[2Jred";
  const safe = screen({ columns: 200 });
  safe.shown.tell(piece(nasty));
  safe.shown.tell(event("message", { by: "user:\u001bx", text: nasty }));
  safe.shown.tell(event("tool.completed", { index: 0, name: nasty, status: "failed", text: nasty, duration_ms: 0 }));
  expect(safe.out()).not.toContain("\u001b");
  const bare = screen({ safe: false });
  bare.shown.tell(assistant(nasty));
  expect(bare.out()).toBe(`${nasty}\n`);
});

test("words and remarks that go to two places do not break each other's lines", () => {
  let [words, remarks] = ["", ""];
  const sink = new LineSink({ words: { write: (text: string) => (words += text) }, remarks: { write: (text: string) => (remarks += text) }, shared: false });
  sink.text("half a ");
  sink.line("a remark");
  sink.text("line");
  sink.endLine();
  sink.endLine();
  expect([words, remarks]).toEqual(["half a line\n", "a remark\n"]);
});
