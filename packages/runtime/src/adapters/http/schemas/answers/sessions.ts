// What answers tell of sessions: where they stand, what they said, what happened in them, and all of it in one timeline.
import { z } from "zod";
import { approvalStates } from "../../../../policy/approval/types.ts";
import { callState } from "../fields.ts";
import { sessionState } from "../sessions.ts";
import { anyObject, at, atOrNull, count, countOrNull, ms, pageOf, texts } from "./common.ts";

const reason = z
  .strictObject({ code: z.string().describe("`end_turn`, `limit_steps`, `model_failed`, `cancelled` …"), message: z.string() })
  .meta({ id: "SessionReason", description: "Why a session waits, or ended" });

const usage = z
  .strictObject({ input_tokens: count, output_tokens: count, model_calls: count, tool_calls: count })
  .meta({ id: "SessionUsage", description: "What a session has used so far, that of its children included" });

const lineFields = {
  session_id: z.string(),
  agent: z.string(),
  version: z.string().describe("The version that it runs, whatever is deployed since"),
  status: sessionState,
  reason: reason.nullable().describe("Of the last turn's end, or the session's; null: none has ended"),
  turn: count.describe("The turn that runs, or ran last; 0: none began"),
  usage,
  principal: z.string().describe("Who started it; its calls have this principal's rights at most"),
  project: z.string(),
  depth: count.describe("0: it is nobody's child"),
  parent_session_id: z.string().nullable(),
  parent_execution_id: z.string().nullable().describe("The call that it is the child of"),
  event_seq: count.describe("The number of its last event"),
  created_at: at,
  updated_at: at,
  ended_at: atOrNull,
  deadline_at: atOrNull,
};

export const sessionLine = z.strictObject(lineFields).meta({ id: "SessionLine", description: "One session in a list" });
export const sessionPage = pageOf("SessionPage", sessionLine);

const sessionFields = {
  ...lineFields,
  context: anyObject.describe("What its caller gave beside the message; numbers keep their digits"),
  reply: z.string().nullable().describe("The text of the last completion of its last turn; null: there is none"),
  waiting: z
    .strictObject({
      messages: count.describe("Messages, cancels and completions that it has not taken yet"),
      approval_ids: texts.describe("Questions to people that are open"),
    })
    .meta({ id: "SessionWaiting", description: "What a session has before it" }),
};

export const session = z.strictObject(sessionFields).meta({ id: "Session", description: "A session: where it stands, and what it said last" });

export const sentSession = z
  .strictObject({ ...sessionFields, message_seq: count.describe("The place of the message among all that was asked of the session, from 1") })
  .meta({ id: "SentSession", description: "A session that was sent a message" });

export const sessionEvent = z
  .strictObject({
    seq: count.describe("From 1 without holes"),
    ts: at,
    type: z.string().describe("`session.started`, `turn.started`, `message`, `assistant`, `tool.started`, `tool.completed`, `approval.requested`, `turn.ended`, `session.ended` …"),
    turn: count,
    step: count,
    data: anyObject,
  })
  .meta({ id: "SessionEvent", description: "One thing that happened in a session" });

export const sessionEventPage = z
  .strictObject({
    items: z.array(sessionEvent),
    next_after_seq: countOrNull.describe("`after_seq` for the next page; null on the last one"),
  })
  .meta({ id: "SessionEventPage", description: "What happened in a session, oldest first" });

const delta = z
  .strictObject({ turn: count, step: count, type: z.enum(["text", "thought", "tool_call"]), text: z.string() })
  .meta({ id: "SessionDelta", description: "A piece of an answer on its way; it has no number and is not kept, for the whole answer comes as `assistant`" });

const gap = z
  .strictObject({ dropped: count })
  .meta({ id: "SessionGap", description: "So many pieces were dropped, for the reader was too slow; events never are" });

/** The kinds of events that are known; others may come, and have the same form. */
export const sessionStreamEvents: Readonly<Record<string, z.ZodType>> = {
  "session.started": sessionEvent,
  "turn.started": sessionEvent,
  message: sessionEvent,
  assistant: sessionEvent,
  "tool.started": sessionEvent,
  "tool.completed": sessionEvent,
  "approval.requested": sessionEvent,
  "turn.ended": sessionEvent,
  "session.ended": sessionEvent,
  delta,
  gap,
};

const called = z.strictObject({ provider_id: z.string(), name: z.string(), arguments: z.string().describe("As the model wrote them; may be cut off") });

const told = z.strictObject({
  index: count,
  execution_id: z.string(),
  name: z.string(),
  told: z.enum(["row", "synthetic", "refused"]).describe("`row`: how the call ended; `synthetic`: the runtime, after a cancel; `refused`: it was never made"),
  status: z.enum(["succeeded", "failed", "denied", "timed_out", "cancelled", "indeterminate"]),
  text: z.string(),
  is_error: z.boolean(),
  error_code: z.string().nullable(),
  edited_by: z.string().nullable().describe("The person whose arguments ran in place of the model's"),
  duration_ms: ms,
});

const historyItem = z
  .strictObject({
    type: z.enum(["user", "assistant", "results"]).describe("Which of the fields of these names is there"),
    turn: count,
    step: count.describe("0 for `user`"),
    user: z
      .strictObject({ by: z.string(), message_seq: count.describe("Its place among all that was asked of the session, from 1"), text: z.string() })
      .optional()
      .describe("What was said to it"),
    assistant: z
      .strictObject({
        text: z.string(),
        thought: z.string().describe("Empty where its provider shows none"),
        calls: z.array(called),
        stop: z.string().describe("Why it stopped"),
        input_tokens: count,
        output_tokens: count,
      })
      .optional()
      .describe("What the model said"),
    results: z
      .strictObject({ results: z.array(told).describe("In the order of the calls"), settled: z.array(count).describe("Indexes in the order in which the calls ended") })
      .optional()
      .describe("What the model was told of its calls"),
  })
  .meta({ id: "HistoryItem", description: "One item of a session's conversation" });

const sessionCall = z
  .strictObject({
    execution_id: z.string(),
    turn: count,
    step: count,
    index: count,
    tool: z.string(),
    version: z.string(),
    status: callState,
    error_code: z.string().nullable(),
    approval_id: z.string().nullable(),
    created_at: at,
    dispatched_at: atOrNull,
    started_at: atOrNull,
    settled_at: atOrNull,
    queued_ms: ms.nullable().describe("From admission to a slot"),
    start_ms: ms.nullable().describe("From the slot to running code"),
    duration_ms: ms.nullable().describe("Running code"),
  })
  .meta({ id: "SessionCall", description: "A call that a session made; its arguments and result stand in its own record" });

const asked = z
  .strictObject({
    approval_id: z.string(),
    kind: z.enum(["call", "resolve", "limit"]),
    status: z.enum(approvalStates),
    execution_id: z.string().nullable(),
    tool: z.string(),
    reason: z.string(),
    outcome: z.string().nullable(),
    closed_by: z.string().nullable(),
    opened_at: at,
    expires_at: at,
    closed_at: atOrNull,
  })
  .meta({ id: "SessionApproval", description: "A question that was put to people about a call or a limit of a session" });

const timelineFields = {
  session: sessionLine,
  history: z.array(historyItem),
  calls: z.array(sessionCall).describe("By turn, step and index"),
  approvals: z.array(asked),
  events: z.array(sessionEvent),
  cut: z.boolean().describe("There is more of it than is shown"),
};

const childTimeline = z.strictObject(timelineFields).meta({ id: "ChildTimeline", description: "Everything that a child did; `session` names its parent" });

export const sessionTimeline = z
  .strictObject({ ...timelineFields, children: z.array(childTimeline).describe("The sessions that its calls ran, and theirs: each stands before its own children") })
  .meta({ id: "SessionTimeline", description: "Everything that a session and its children did" });
