// What answers tell of audit, workers and the runtime's own state.
import { z } from "zod";
import { callStates } from "../../../../call/types.ts";
import { anyObject, at, count, hash, ms, pageOf, texts } from "./common.ts";

const auditRecord = z
  .strictObject({
    lane: z.string().describe("The writer's lane; `seq` counts inside, from 1 without holes"),
    seq: count,
    ts: at,
    tenant: z.string(),
    project: z.string(),
    principal: z.string(),
    on_behalf_of: z.string().optional(),
    action: z.string().describe("`call.settled`, `call.denied`, `key.created` …"),
    tool: z.string().optional(),
    version: z.string().optional(),
    manifest_digest: z.string().optional(),
    execution_id: z.string().optional(),
    call_id: z.string().optional(),
    attempt: count.optional(),
    input_hash: z.string().optional(),
    output_hash: z.string().optional(),
    status: z.string().optional(),
    error_code: z.string().optional(),
    sandbox: z.string().optional(),
    worker: z.string().optional(),
    egress: texts.optional(),
    secrets_used: texts.optional(),
    policy: z.strictObject({ decision: z.string(), ids: texts }).optional(),
    approval: z.strictObject({ by: texts, at }).optional(),
    cache: z.string().optional(),
    duration_ms: ms.optional(),
    resources: z.record(z.string(), z.number()).optional(),
    request_id: z.string().optional(),
    trace_id: z.string().optional(),
    details: anyObject.optional().describe("Facts of administrative acts"),
    prev_hash: hash.describe("64 zeros on the first record of a lane"),
    hash: hash.describe("HMAC-SHA-256 over the previous hash and the record"),
  })
  .meta({ id: "AuditRecord", description: "One link of the audit's chain; facts that it lacks are left out" });

export const auditPage = pageOf("AuditPage", auditRecord);

export const auditVerdict = z
  .strictObject({
    ok: z.boolean(),
    records: count,
    lanes: count,
    problems: z.array(
      z.strictObject({
        tenant: z.string(),
        lane: z.string(),
        seq: count.describe("The first one at which the chain does not hold"),
        kind: z.enum([
          "edited",
          "missing",
          "cut_tail",
          "head_missing",
          "head_edited",
          "anchor_ahead",
          "anchor_missing",
          "anchor_edited",
        ]),
        message: z.string(),
      }),
    ),
  })
  .meta({ id: "AuditVerdict", description: "Whether the chain holds" });

const worker = z
  .strictObject({
    worker_id: z.string(),
    incarnation: z.string().describe("One start of the process"),
    state: z.enum(["ready", "silent", "draining", "away"]),
    capacity: count.describe("Calls at once"),
    holding: count.describe("Calls that it has now"),
    handlers: z.array(z.strictObject({ tool: z.string(), version: z.string(), max_concurrency: count })),
    boxes: texts.describe("Kinds of boxes that it serves"),
    connected_at: at,
    last_heard_at: at,
  })
  .meta({ id: "Worker", description: "A process that runs calls" });

export const workerPage = pageOf("WorkerPage", worker);

const callCounts = Object.fromEntries(callStates.map((state) => [state, count.optional()]));

export const status = z
  .strictObject({
    version: z.string(),
    replica: z.string(),
    started_at: at,
    ready: z.boolean(),
    draining: z.boolean(),
    reasons: texts.describe("Why it is not ready"),
    calls: z.strictObject(callCounts).describe("Open calls by state"),
    workers: count,
  })
  .meta({ id: "RuntimeStatus", description: "The runtime's own state" });

export const health = z.strictObject({ status: z.literal("ok") }).meta({ id: "Health", description: "It answers" });

export const readiness = z
  .strictObject({ ready: z.boolean(), reasons: texts.describe("Why it is not ready") })
  .meta({ id: "Readiness", description: "Whether calls are taken" });
