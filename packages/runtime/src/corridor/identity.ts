// What a call is from its admission on: its id, its fingerprint, and everything of it that never changes.
import { limits, makeId } from "@signalbox/protocol";
import { pinnedRetry } from "../call/retry.ts";
import type { CallIdentity, Decision } from "../call/types.ts";
import type { AgentVersion } from "../registry/agents/types.ts";
import type { Asked, InvokeRequest } from "../service.ts";
import type { ReadyTool } from "./catalog.ts";
import type { CheckedFile } from "./files.ts";
import type { Allowance } from "./obligations.ts";
import type { Chance, Clock, Hash } from "./ports.ts";

/** Which session makes a call, at which place of it. */
export interface SessionOrigin {
  readonly callId: string;
  readonly sessionId: string;
  readonly turn: number;
  readonly step: number;
  readonly index: number;
  readonly agent: AgentVersion;
  /** Whether somebody has cancelled it since. */
  cancelled(): boolean;
}

/** A request on its way, with what each stage has found. */
export interface Passage {
  readonly asked: Asked;
  readonly request: InvokeRequest;
  readonly project: string;
  readonly tool: ReadyTool;
  readonly inputJson: string;
  readonly inputHash: string;
  readonly fingerprint: string;
  readonly files: readonly CheckedFile[];
  /** Undefined: a caller of its own. */
  readonly origin: SessionOrigin | undefined;
}

interface IdentityPorts {
  readonly clock: Clock;
  readonly chance: Chance;
}

/** SHA-256 over canonical JSON of tool, version as requested, input as sent, and files where there are any. */
export function fingerprintOf(hash: Hash, request: InvokeRequest, canonicalInput: string, files: string | undefined): string {
  const tool = JSON.stringify(request.tool);
  const version = JSON.stringify(request.version ?? "");
  const named = files === undefined ? "" : `"files":${files},`;
  return hash(`{${named}"input":${canonicalInput},"tool":${tool},"version":${version}}`);
}

export function freshId(ports: IdentityPorts, prefix: "exec" | "dec"): string {
  return makeId(prefix, ports.clock.now(), ports.chance.bytes(10));
}

/** What the tool and the caller leave of time and size, before any rule. */
export function allowed({ request, tool }: Passage): Allowance {
  const { timeoutMs } = tool.version.spec;
  return {
    timeoutMs: Math.min(request.limits?.timeoutMs ?? timeoutMs, timeoutMs),
    resultBytesMax: Math.min(request.limits?.maxOutputBytes ?? limits.resultBytesMax, limits.resultBytesMax),
  };
}

export function identityOf(ports: IdentityPorts, passage: Passage, decision: Decision, allowance: Allowance): CallIdentity {
  const { request, asked, tool } = passage;
  const { spec } = tool.version;
  const now = ports.clock.now();
  const context = request.context ?? {};
  const place = passage.origin ?? { callId: freshId(ports, "exec"), sessionId: "", turn: 0, step: 0, index: 0 };
  return {
    tenant: asked.principal.tenant,
    callId: place.callId,
    project: passage.project,
    tool: tool.version.tool,
    toolTenant: tool.version.tenant,
    version: tool.version.version,
    requestedVersion: request.version ?? "",
    manifestDigest: tool.version.manifestDigest,
    executor: spec.executor.type,
    sandbox: null,
    boxJson: null,
    filesJson: "[]",
    sideEffectClass: spec.sideEffectClass,
    onIndeterminate: spec.onIndeterminate,
    principal: asked.principal.name,
    onBehalfOf: "",
    sessionId: place.sessionId,
    turn: place.turn,
    step: place.step,
    index: place.index,
    contextJson: JSON.stringify(context),
    traceparent: request.traceparent ?? "",
    requestId: asked.requestId,
    idempotencyKey: request.idempotencyKey ?? null,
    fingerprint: passage.fingerprint,
    inputHash: passage.inputHash,
    inputJson: passage.inputJson,
    priority: request.priority ?? "normal",
    decision,
    admittedAt: now,
    timeoutMs: allowance.timeoutMs,
    graceMs: spec.graceMs,
    resultBytesMax: allowance.resultBytesMax,
    totalDeadlineAt: request.deadlineMs === undefined ? null : now + request.deadlineMs,
    cacheKey: null,
    retryJson: pinnedRetry({ factor: 2, timeouts: false, ...spec.retry }, spec.sideEffectClass),
  };
}
