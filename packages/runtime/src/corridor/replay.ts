// A call that has ended is made once more: as a new call, through every stage, under the rights of whoever asks.
import { isSafe, limits, parseJson, SignalboxError } from "@signalbox/protocol";
import { isTerminal, type Call } from "../call/types.ts";
import type { Asked, InvokeAnswer, InvokeRequest, ReplayRequest } from "../service.ts";
import { maySee, notFound } from "./executions.ts";
import { invoke, storable, type InvokePorts } from "./invoke.ts";
import { hasScope } from "./refusals.ts";

/**
 * The new call names the old one in `context.causation_id`.
 * @throws SignalboxError conflict: it is open, or may have had its effect and nobody said that they know
 */
export async function replay(ports: InvokePorts, asked: Asked, executionId: string, how: ReplayRequest): Promise<InvokeAnswer> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "tools:invoke", requestId);
  const row = await storable(ports.ledger.getCall(principal.tenant, executionId));
  if (row?.principal !== principal.name || !hasScope(principal, "tools:invoke")) await ports.refusals.requireScope(principal, "calls:read", requestId);
  if (row === undefined || !maySee(asked, row.project)) throw notFound();
  if (!isTerminal(row.state)) throw refused(row, `the call is ${row.state}; only one that has ended can be replayed`, {});
  if (row.inputJson === null) throw refused(row, "the call was denied, and its arguments were not kept; make it anew", {});
  if (mayHaveExecuted(row) && how.acknowledgeMayHaveExecuted !== true) {
    const message = "the call may have had its effect, and would have it again; say acknowledge_may_have_executed: true, if that is meant";
    throw refused(row, message, { may_have_executed: true });
  }
  return invoke(ports, asked, requestOf(row, row.inputJson, how));
}

function mayHaveExecuted({ sideEffectClass, mayHaveRun, state, error }: Call): boolean {
  if (isSafe(sideEffectClass)) return false;
  return mayHaveRun || state === "succeeded" || error?.details?.["may_have_executed"] === true;
}

function refused({ callId, state }: Call, message: string, details: Readonly<Record<string, unknown>>): SignalboxError {
  return new SignalboxError("conflict", message, { executionId: callId, details: { status: state, ...details } });
}

/** As the door read it when it came: long numbers keep their digits. */
function inputOf(text: string): unknown {
  const parsed = parseJson(text, { depthMax: limits.jsonDepthMax, numbers: "finite", duplicateKeys: "refuse", at: [] });
  if (!parsed.ok) throw new Error("stored arguments are no JSON");
  return parsed.value;
}

/** As it was sent: what people made of its arguments was their word on that call, and not on this one. */
function requestOf(row: Call, inputJson: string, how: ReplayRequest): InvokeRequest {
  const files = (JSON.parse(row.filesJson) as readonly { readonly path: string; readonly digest: string }[]).map(({ path, digest }) => ({ path, ref: digest }));
  const context = JSON.parse(row.contextJson) as Readonly<Record<string, unknown>>;
  const { waitMs, idempotencyKey } = how;
  return {
    tool: row.tool,
    ...(row.requestedVersion === "" ? {} : { version: row.requestedVersion }),
    project: row.project,
    input: inputOf(inputJson),
    ...(files.length === 0 ? {} : { files }),
    context: { ...context, causation_id: row.callId },
    mode: how.mode,
    priority: row.priority,
    ...(waitMs === undefined ? {} : { waitMs }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}
