// One request on its way through the door: its name, who it comes from, whether its caller is still there, and its log line.
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Asked } from "../../service.ts";
import type { Principal } from "../../tenancy/types.ts";
import { CallerGone } from "./body.ts";
import type { DoorLog } from "./log.ts";
import { requestIdOf } from "./request-id.ts";
import { writtenPath } from "./routes/table.ts";

export interface Passage {
  readonly requestId: string;
  /** As the route table writes it, never the path that was sent: ids and names in it are the tenant's own. Empty: no route. */
  readonly route: string;
  readonly startedAtMs: number;
  readonly gone: AbortController;
  principal: Principal | undefined;
  answeredAtMs: number | undefined;
  executionId: string | undefined;
  code: string | undefined;
}

declare module "fastify" {
  interface FastifyRequest {
    passage: Passage | null;
  }
}

export function beginPassage(
  log: DoorLog,
  newRequestId: () => string,
  request: FastifyRequest,
  reply: FastifyReply,
): Passage {
  const passage: Passage = {
    requestId: requestIdOf(request.headers["x-request-id"], newRequestId),
    route: request.is404 ? "" : writtenPath({ path: request.routeOptions.url ?? "" }),
    startedAtMs: performance.now(),
    gone: new AbortController(),
    principal: undefined,
    answeredAtMs: undefined,
    executionId: undefined,
    code: undefined,
  };
  request.passage = passage;
  // "close" comes after every answer, and instead of one when the caller goes away.
  reply.raw.once("close", () => {
    const answered = reply.raw.writableFinished;
    if (!answered) passage.gone.abort(new CallerGone("the caller closed the connection"));
    log.info(lineOf(passage, request.method, answered ? reply.statusCode : undefined), "request");
  });
  return passage;
}

/** `ms` ends where the answer is handed to the socket; how fast the caller reads is not ours. */
function lineOf(passage: Passage, method: string, status: number | undefined): object {
  const { requestId, principal, route, executionId, code, startedAtMs, answeredAtMs = performance.now() } = passage;
  return {
    request_id: requestId,
    tenant: principal?.tenant,
    principal: principal?.name,
    method,
    route,
    execution_id: executionId,
    status,
    code,
    caller_gone: status === undefined ? true : undefined,
    ms: Math.round((answeredAtMs - startedAtMs) * 100) / 100,
  };
}

export function passageOf(request: FastifyRequest): Passage {
  if (request.passage === null) throw new Error("every request has a passage");
  return request.passage;
}

export function askedBy({ principal, requestId, gone }: Passage): Asked {
  if (principal === undefined) throw new Error("a guarded route has a principal");
  return { principal, requestId, signal: gone.signal };
}
