// The routes of a person's word on many calls, and of making an ended call once more.
import type { Answer } from "../answer.ts";
import { replayRequest, replayBody, resolveManyBody, resolveManyRequest } from "../schemas/executions.ts";
import { execution, resolvedMany } from "../schemas/answers/executions.ts";
import { resolvedManyJson } from "../views/executions.ts";
import { executionIdParam, idIn } from "./execution-id.ts";
import { invokeAnswer, invokeErrors } from "./executions.ts";
import { json, rateHeaders, type Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

async function resolveMany({ service, asked, body }: Ask): Promise<Answer> {
  return { status: 200, text: resolvedManyJson(await service.resolveMany(asked, resolveManyRequest(body))) };
}

async function replay({ service, asked, params, body, message }: Ask): Promise<Answer> {
  const how = replayRequest(body, message);
  return invokeAnswer(await service.replay(asked, idIn(params), how), how.mode, asked.requestId);
}

const resolveManyOperation: Operation = {
  id: "resolveExecutions",
  tag: "executions",
  summary: "Say how many calls ended whose end nobody knows",
  description:
    "Each is resolved and audited by itself; one that cannot be is told beside the others. `dry_run` counts and shows what is known of them, and resolves none. " +
    "What is left over stands in `remaining`: send the same again.",
  bodySchema: resolveManyBody,
  example: { filter: { tool: "bank.pay", older_than_ms: 3_600_000 }, verdict: "fail", comment: "the bank was down", dry_run: true },
  answers: { 200: json("What became of them, or would", resolvedMany) },
};

const replayOperation: Operation = {
  id: "replayExecution",
  tag: "executions",
  summary: "Make an ended call once more",
  description:
    "A new call with the old one's tool, version and arguments as they were sent, through every stage and under the rights of whoever asks; " +
    "its `context.causation_id` names the old one. A call that may have had its effect is replayed only with `acknowledge_may_have_executed`.",
  params: executionIdParam,
  bodySchema: replayBody,
  example: { mode: "async" },
  answers: {
    200: json("The new call has ended", execution, "Idempotency-Replayed", ...rateHeaders),
    202: json("The new call is stored and goes on", execution, "Idempotency-Replayed", "Location", ...rateHeaders),
  },
  errors: ["execution_not_found", ...invokeErrors],
  tellsFailedCalls: true,
};

export const settlingRoutes: readonly GuardedRoute[] = [
  { method: "POST", path: "/v1/executions::resolve", scope: "approvals:decide", body: "json", handle: resolveMany, operation: resolveManyOperation },
  { method: "POST", path: "/v1/executions/:id/replay", scope: "tools:invoke", body: "optional", handle: replay, operation: replayOperation },
];
