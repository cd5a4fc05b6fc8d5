// The story of a session for people: every answer, call and question in its place, with times, who decided, and what was used.
import type { SessionTimeline } from "@signalbox/client";
import colors from "picocolors";
import { expect, test } from "vitest";
import { sessionStory } from "./session-story.ts";

const paint = colors.createColors(false);
const now = Date.UTC(2026, 0, 31, 12, 5);
const at = (clock: string): string => `2026-01-31T${clock}Z`;

const line: SessionTimeline["session"] = {
  session_id: "sess_1",
  agent: "support",
  version: "1.0.0",
  status: "awaiting_input",
  reason: { code: "end_turn", message: "the model has ended its turn" },
  turn: 1,
  usage: { input_tokens: 120, output_tokens: 30, model_calls: 2, tool_calls: 1 },
  principal: "user:ann",
  project: "default",
  depth: 0,
  parent_session_id: null,
  parent_execution_id: null,
  event_seq: 8,
  created_at: at("12:00:00.000"),
  updated_at: at("12:00:09.500"),
  ended_at: null,
  deadline_at: null,
};

const event = (seq: number, clock: string, type: string, step: number, data: Readonly<Record<string, unknown>> = {}): SessionTimeline["events"][number] => ({ seq, ts: at(clock), type, turn: 1, step, data });

const paid: SessionTimeline = {
  session: line,
  history: [
    { type: "user", turn: 1, step: 0, user: { by: "user:ann", message_seq: 1, text: "pay acme\nby today" } },
    {
      type: "assistant",
      turn: 1,
      step: 1,
      assistant: { text: "I pay.", thought: "", calls: [{ provider_id: "a", name: "charge", arguments: '{"amount":1500}' }], stop: "tool_use", input_tokens: 50, output_tokens: 10 },
    },
    {
      type: "results",
      turn: 1,
      step: 1,
      results: {
        results: [{ index: 0, execution_id: "exec_1", name: "charge", told: "row", status: "succeeded", text: '{"status":"processed"}', is_error: false, error_code: null, edited_by: "user:fay", duration_ms: 12 }],
        settled: [0],
      },
    },
    { type: "assistant", turn: 1, step: 2, assistant: { text: "It is paid.", thought: "", calls: [], stop: "end_turn", input_tokens: 70, output_tokens: 20 } },
  ],
  calls: [
    {
      execution_id: "exec_1",
      turn: 1,
      step: 1,
      index: 0,
      tool: "payments.charge",
      version: "1.0.0",
      status: "succeeded",
      error_code: null,
      approval_id: "apr_1",
      created_at: at("12:00:02.000"),
      dispatched_at: at("12:00:08.000"),
      started_at: at("12:00:08.001"),
      settled_at: at("12:00:08.020"),
      queued_ms: 3,
      start_ms: 1,
      duration_ms: 12,
    },
  ],
  approvals: [
    {
      approval_id: "apr_1",
      kind: "call",
      status: "approved",
      execution_id: "exec_1",
      tool: "payments.charge",
      reason: "a person must look",
      outcome: "approved",
      closed_by: "user:fay",
      opened_at: at("12:00:02.000"),
      expires_at: at("13:00:02.000"),
      closed_at: at("12:00:07.000"),
    },
  ],
  events: [
    event(1, "12:00:00.000", "session.started", 0),
    event(2, "12:00:01.000", "turn.started", 0),
    event(3, "12:00:01.000", "message", 0, { by: "user:ann", text: "pay acme\nby today" }),
    event(4, "12:00:01.900", "assistant", 1),
    event(8, "12:00:09.500", "assistant", 2),
    event(9, "12:00:09.500", "turn.ended", 0, { end: "ended", code: "end_turn", message: "the model has ended its turn" }),
  ],
  children: [],
  cut: false,
};

test("a turn with a call that a person changed and approved", () => {
  expect(sessionStory(paid, { now, paint, columns: undefined })).toBe(`sess_1  support@1.0.0  awaiting_input
reason      end_turn
started by  user:ann
project     default
started     2026-01-31T12:00:00.000Z (5 min ago)
turn        1
used        120 tokens in, 30 out; 2 completions, 1 call

turn 1  2026-01-31T12:00:01.000Z  8.5 s
  12:00:01.000  user:ann  pay acme
      by today
  12:00:01.900  step 1  50 tokens in, 10 out, tool_use
    I pay.
    charge  succeeded  payments.charge@1.0.0  exec_1  queued 3 ms, start 1 ms, code 12 ms
      {"amount":1500}
      approval apr_1  approved by user:fay at 12:00:07.000 (after 5.0 s): a person must look
      → {"status":"processed"}
      ran with the arguments of user:fay
  12:00:09.500  step 2  70 tokens in, 20 out, end_turn
    It is paid.
  12:00:09.500  the turn ended: end_turn
`);
});

test("what goes on, what was never made, what the runtime said after a cancel, limits, children and a cut are told as that", () => {
  const [user, first] = paid.history;
  if (user === undefined || first?.assistant === undefined) throw new Error("the example has a beginning");
  const result = { index: 0, name: "charge", told: "synthetic", status: "cancelled", text: "[Tool execution cancelled]\ntool call cancelled", is_error: true, error_code: "cancelled", edited_by: null, duration_ms: 0 } as const;
  const nothing = { history: [], calls: [], approvals: [], events: [], cut: false };
  const child = { ...nothing, session: { ...line, session_id: "sess_2", depth: 1, parent_session_id: "sess_1", parent_execution_id: "exec_1" } };
  const grandchild = { ...nothing, session: { ...line, session_id: "sess_3", depth: 2, parent_session_id: "sess_2", parent_execution_id: "exec_2" } };
  const story = sessionStory(
    {
      ...paid,
      session: { ...line, status: "cancelled", reason: { code: "cancelled", message: "cancelled by user:ann" } },
      history: [
        user,
        { ...first, assistant: { ...first.assistant, calls: [...first.assistant.calls, { provider_id: "b", name: "note", arguments: "" }] } },
        { type: "results", turn: 1, step: 1, results: { results: [{ ...result, execution_id: "exec_1" }], settled: [0] } },
      ],
      calls: paid.calls.map((call) => ({ ...call, status: "running", queued_ms: null, start_ms: null, duration_ms: null })),
      approvals: paid.approvals.map((one) => ({ ...one, execution_id: null, kind: "limit" as const, status: "pending", outcome: null, closed_by: null, closed_at: null, reason: "" })),
      children: [child, grandchild],
      cut: true,
    },
    { now, paint, columns: undefined },
  );
  for (const told of [
    "reason      cancelled by user:ann (cancelled)",
    "    charge  running (cancelled)  payments.charge@1.0.0  exec_1\n",
    "      → [Tool execution cancelled] tool call cancelled (said by the runtime after a cancel)",
    "    note  not made yet\n",
    "limits\n  approval apr_1  pending, asked at 12:00:02.000\n",
    "there is more than is shown:  signalbox sessions events sess_1",
    "child\n  sess_2  support@1.0.0  awaiting_input\n",
    "  child of    sess_1 (call exec_1)",
    "\n  child\n    sess_3  support@1.0.0  awaiting_input\n",
  ])
    expect(story).toContain(told);
});

test("long and wide lines are cut to the terminal, and nothing in them is obeyed", () => {
  const wide = { ...paid, history: paid.history.map((item) => (item.assistant !== undefined && item.step === 1 ? { ...item, assistant: { ...item.assistant, text: "\u001b[31mred", calls: [{ provider_id: "a", name: "charge", arguments: `{"payee":"${"漢".repeat(60)}"}` }] } } : item)) };
  const story = sessionStory(wide, { now, paint, columns: 40 });
  expect(story).toContain("    \\u001b[31mred\n");
  expect(story).toContain(`      {"payee":"${"漢".repeat(11)}…\n`);
  expect(story).not.toContain("\u001b");
});
