// What answers tell of calls: the record, its attempts, its events.
import { limits } from "@signalbox/protocol";
import { z } from "zod";
import { callEventTypes, routingOutcomes } from "../../../../call/types.ts";
import { callState, sideEffectClass } from "../fields.ts";
import { anyObject, at, atOrNull, count, countOrNull, hash, ms, pageOf } from "./common.ts";
import { callError } from "./call-error.ts";
import { decision } from "./policies.ts";

const resources = z
  .strictObject({
    cpu_ms: ms.nullable(),
    peak_memory_bytes: countOrNull,
    egress_bytes: countOrNull,
  })
  .meta({ id: "Resources", description: "What a call used; null: not measured" });

export const executionBlock = z
  .strictObject({
    sandbox: z
      .string()
      .nullable()
      .describe("The backend of its box; `application` for a worker of an application; null: none of ours"),
    worker: z.string().nullable().describe("Id of the worker of the last attempt"),
    attempt: count.describe("Attempts so far; 0: none began"),
    warm: z.boolean().nullable().describe("Whether the box, or the application, stood ready; null: not known"),
    queued_ms: ms.nullable().describe("From admission to a slot"),
    start_ms: ms.nullable().describe("From the slot to running code"),
    duration_ms: ms.nullable().describe("Running code"),
    resources,
    truncated: z
      .partialRecord(z.enum(["stdout", "stderr"]), z.literal(true))
      .describe("Outputs of which only the beginning was passed on"),
    cache: z.enum(["hit", "miss"]).nullable().describe("Whether an earlier result answered it; null: its tool or its rules keep it out of the cache"),
    cached_from: z.string().nullable().describe("The call whose result this is; null: it ran itself"),
    decision_id: z.string().describe("Names the decision in the audit"),
    limits: z.strictObject({
      timeout_ms: count.describe("Time to run"),
      max_output_bytes: count.describe("Size of the result"),
    }),
    ill_formed_text_replaced: z
      .literal(true)
      .optional()
      .describe("Text in the result was no Unicode and was replaced by U+FFFD"),
    routing_outcome: z.enum(routingOutcomes).optional().describe("Why nobody did it, or nobody knows"),
  })
  .meta({ id: "ExecutionBlock", description: "Where and how long a call ran; times in ms" });

const edited = z
  .strictObject({
    by: z.string().describe("Who changed the arguments"),
    args: z.unknown().optional().describe("The arguments that run; not in lists"),
    original_args: z.unknown().optional().describe("The arguments as they were sent"),
    note: z.string().optional().describe("The same for a model, of a call that ran"),
  })
  .meta({ id: "EditedArguments", description: "That a person changed the arguments, and into what" });

const recordFields = {
  execution_id: z.string(),
  tool: z.string(),
  version: z.string().describe("The exact version that runs"),
  status: callState.describe("`indeterminate`: it may have happened, and waits for a person's word"),
  project: z.string(),
  principal: z.string().describe("Who made the call"),
  side_effect_class: sideEffectClass,
  idempotency_key: z.string().nullable(),
  created_at: at,
  settled_at: atOrNull.describe("When it ended"),
  cancel_requested_at: atOrNull,
  approval_id: z.string().nullable().describe("The last question that people were asked about it"),
  input_hash: hash.describe("SHA-256 of the canonical arguments"),
  output_hash: hash.nullable().describe("SHA-256 of the canonical result"),
  request_id: z.string().describe("The request that made it"),
  error: callError.optional(),
  execution: executionBlock,
  output: z.unknown().optional().describe("The result, of a call that succeeded; numbers keep their digits"),
  policy: decision.describe("What the rules decided"),
  approved: z
    .strictObject({ by: z.array(z.string()), at })
    .optional()
    .describe("Who let it go on; by nobody, where a timeout did"),
  edited: edited.optional(),
};

export const execution = z.strictObject(recordFields).meta({ id: "Execution", description: "A call's record" });

const attempt = z
  .strictObject({
    attempt: count,
    fence: count.describe("Number of its lease"),
    worker: z.string(),
    dispatched_at: at,
    accepted_at: atOrNull,
    started_at: atOrNull,
    ended_at: atOrNull,
    end_reason: z.string().nullable().describe("`succeeded`, `failed`, `lease_expired` …"),
    error: callError.nullable(),
    duration_ms: ms.nullable(),
  })
  .meta({ id: "Attempt", description: "A try in which code may have run" });

const lateResult = z
  .strictObject({
    fence: count.describe("Number of the lease that was lost"),
    at,
    worker: z.string(),
    status: z.enum(["succeeded", "failed", "cancelled"]),
    output: z.unknown(),
    error: z.unknown(),
  })
  .meta({ id: "LateResult", description: "A result that came when its lease was lost; kept as evidence" });

export const executionDetail = z
  .strictObject({
    ...recordFields,
    decision: decision
      .omit({ decision: true, obligations: true })
      .extend({ id: z.string(), outcome: decision.shape.decision })
      .describe("The decision under its id in the audit"),
    attempts: z.array(attempt),
    late_results: z.array(lateResult),
  })
  .meta({ id: "ExecutionDetail", description: "A call's record with its attempts and late results" });

const lastOutput = z
  .strictObject({
    lines: z.array(z.strictObject({ channel: z.enum(["stdout", "stderr", "partial", "log", "progress"]), text: z.string() })).describe("Of the last attempt, oldest first"),
    cut: z.boolean().describe("More was said before: follow the call"),
    missing: z
      .enum(["lost", "elsewhere"])
      .nullable()
      .describe("`lost`: something among it or behind it is not kept. `elsewhere`: another replica may not have written the rest yet; ask again"),
  })
  .meta({ id: "LastOutput", description: `What a call said last: at most ${limits.lastOutputLinesMax} lines and ${limits.lastOutputBytesMax} bytes of text. No line and nothing missing: it said nothing that was kept` });

const unknownEnd = z
  .strictObject({
    execution_id: z.string(),
    tool: z.string(),
    version: z.string(),
    project: z.string(),
    principal: z.string(),
    side_effect_class: sideEffectClass,
    created_at: at,
    routing_outcome: z.string().nullable().describe("How it was lost"),
    may_have_executed: z.boolean(),
    attempts: z.array(attempt),
    late_results: z.array(lateResult),
    last_output: lastOutput,
  })
  .meta({ id: "UnknownEnd", description: "What is known of a call whose end is not" });

export const resolvedMany = z
  .strictObject({
    dry_run: z.boolean(),
    matched: count,
    shown: z.array(unknownEnd).describe("Of a dry run: the first of them"),
    resolved: z.array(z.strictObject({ execution_id: z.string(), status: callState })),
    failed: z.array(z.strictObject({ execution_id: z.string(), code: z.string(), message: z.string() })),
    remaining: count.describe("That match and were left: send the same again"),
    more: z.boolean().describe("There may be others that were not looked at"),
  })
  .meta({ id: "ResolvedMany", description: "What a word on many calls came to" });

export const executionPage = pageOf("ExecutionPage", execution);

const event = z
  .strictObject({
    seq: count.describe("From 1 without holes"),
    ts: at,
    type: z.enum(callEventTypes),
    data: anyObject.describe("Hashes, sizes and names; never inputs or outputs"),
  })
  .meta({ id: "ExecutionEvent", description: "One change of a call" });

export const eventPage = z
  .strictObject({
    items: z.array(event),
    next_after_seq: countOrNull.describe("`after_seq` for the next page; null on the last one"),
  })
  .meta({ id: "ExecutionEventPage", description: "Changes of a call, oldest first" });
