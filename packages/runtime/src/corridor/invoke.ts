// The way of a call from the door to its admission: resolve, authorize, validate, decide, reserve, admit, and the wait for its end.
import { canonicalJson, errorBody, limits, makeId, SignalboxError, utf8Bytes } from "@signalbox/protocol";
import type { EditedArgs } from "../call/machine.ts";
import { isTerminal, type Call, type CallIdentity, type Decision } from "../call/types.ts";
import type { Hub } from "../dispatch/hub.ts";
import { LedgerUnavailable, type Ledger } from "../ledger/port.ts";
import { missingPermissions } from "../policy/permission.ts";
import type { Resolution } from "../registry/resolve.ts";
import type { ToolVersion } from "../registry/types.ts";
import type { Asked, InvokeAnswer, InvokeRequest } from "../service.ts";
import type { Directory } from "../tenancy/directory.ts";
import type { Catalog, ReadyTool } from "./catalog.ts";
import type { Driver } from "./driver.ts";
import { waitKey } from "./driver.ts";
import type { Chance, Clock, Hash, Meters } from "./ports.ts";
import type { Refusals } from "./refusals.ts";
import { waitAtMost } from "./waiters.ts";

export interface InvokePorts {
  readonly hub: Hub;
  readonly driver: Driver;
  readonly ledger: Ledger;
  readonly catalog: Catalog;
  readonly directory: Directory;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly hash: Hash;
  readonly meters: Meters;
  /** Aborts when the runtime drains: whoever waits gets the id instead. */
  readonly draining: AbortSignal;
}

/** A request on its way, with what each stage has found. */
interface Passage {
  readonly asked: Asked;
  readonly request: InvokeRequest;
  readonly project: string;
  readonly tool: ReadyTool;
  readonly inputJson: string;
  readonly inputHash: string;
  readonly fingerprint: string;
}

export async function invoke(ports: InvokePorts, asked: Asked, request: InvokeRequest): Promise<InvokeAnswer> {
  const since = ports.clock.monotonic();
  await ports.refusals.requireScope(asked.principal, "tools:invoke", asked.requestId);
  const project = await placeOf(ports, asked, request);
  const version = await resolveVersion(ports, asked, request, project);
  const canonicalInput = canonicalJson(request.input);
  const inputHash = ports.hash(canonicalInput);
  const passage: Passage = {
    asked,
    request,
    project,
    tool: ports.catalog.ready(version),
    inputJson: JSON.stringify(request.input),
    inputHash,
    fingerprint: fingerprintOf(ports.hash, request, canonicalInput),
  };
  const decision = await authorize(ports, passage);
  const edited = await validate(ports, passage);
  await requireBackend(ports, passage);
  return reserve(ports, passage, { decision, edited, since });
}

/** SHA-256 over canonical JSON of tool, version as requested and input as sent. */
function fingerprintOf(hash: Hash, request: InvokeRequest, canonicalInput: string): string {
  const tool = JSON.stringify(request.tool);
  const version = JSON.stringify(request.version ?? "");
  return hash(`{"input":${canonicalInput},"tool":${tool},"version":${version}}`);
}

/** The credential says which tenant; the request may only agree. */
async function placeOf(ports: InvokePorts, asked: Asked, request: InvokeRequest): Promise<string> {
  const { principal, requestId } = asked;
  if (request.tenant !== undefined && request.tenant !== principal.tenant) {
    const error = new SignalboxError("forbidden", "the key belongs to another tenant", { details: { field: "tenant" } });
    await ports.refusals.refuse(principal, requestId, error, { tool: request.tool, details: { field: "tenant" } });
  }
  if (request.project !== undefined && request.project !== principal.project && !principal.scopes.has("*")) {
    const error = new SignalboxError("forbidden", "the key belongs to another project", { details: { field: "project" } });
    await ports.refusals.refuse(principal, requestId, error, { tool: request.tool, details: { field: "project" } });
  }
  return request.project ?? principal.project;
}

async function resolveVersion(ports: InvokePorts, asked: Asked, request: InvokeRequest, project: string): Promise<ToolVersion> {
  const { principal, requestId } = asked;
  const first = await storable(ports.catalog.resolve(principal.tenant, request.tool, request.version ?? ""));
  if (first.ok) return first.version;
  // Only now, off the fast path: near names, of those tools alone that the caller may learn of.
  const granted = await storable(ports.directory.permissionsOf(principal, project, ports.clock.now()));
  const maySee = (tool: string): boolean => missingPermissions(granted, [`tool:invoke:${tool}`]).length === 0;
  const found = await storable(ports.catalog.resolve(principal.tenant, request.tool, request.version ?? "", maySee));
  if (found.ok) return found.version;
  const details: Record<string, unknown> = { tool: request.tool };
  if (request.version !== undefined) details["version"] = request.version;
  const error = unresolved(request, found, details);
  return ports.refusals.refuse(principal, requestId, error, { project, tool: request.tool, details });
}

function unresolved(request: InvokeRequest, found: Exclude<Resolution, { ok: true }>, details: Record<string, unknown>): SignalboxError {
  if (found.reason === "bad_version") {
    return new SignalboxError("invalid_input", `"${request.version}" is neither a version nor a range like ^1.2.0`, {
      details: { ...details, fields: ["version"] },
    });
  }
  if (found.reason === "quarantined") {
    return new SignalboxError("integrity_violation", `${request.tool} is quarantined and does not run`, { details });
  }
  if (found.near.length > 0) details["did_you_mean"] = found.near;
  if (found.versions.length > 0) details["versions"] = found.versions;
  return new SignalboxError("tool_not_found", notFoundMessage(request), { details });
}

function notFoundMessage(request: InvokeRequest): string {
  return request.version === undefined
    ? `there is no tool ${request.tool}; 'signalbox tools list' shows those you may see`
    : `there is no version ${request.version} of ${request.tool}`;
}

/** required ⊆ granted; what is missing makes a denied row, audited, and a 403 that carries its id. */
async function authorize(ports: InvokePorts, passage: Passage): Promise<Decision> {
  const began = ports.clock.monotonic();
  const { principal } = passage.asked;
  const { spec, tool } = passage.tool.version;
  const granted = await storable(ports.directory.permissionsOf(principal, passage.project, ports.clock.now()));
  const missing = missingPermissions(granted, [`tool:invoke:${tool}`, ...spec.permissions]);
  const spentMicros = Math.round((ports.clock.monotonic() - began) * 1000);
  const id = freshId(ports, "dec");
  if (missing.length === 0) return { id, outcome: "allow", reason: "granted", rules: [], spentMicros };
  ports.meters.count("authorization_denied_total", { reason: "missing_grant" });
  const message = `${principal.name} has no grant for ${missing.join(", ")}`;
  const decision: Decision = { id, outcome: "deny", reason: message, rules: [], spentMicros };
  const error = errorBody("forbidden", message, { missing });
  const call = await storable(ports.driver.deny(identityOf(ports, passage, decision), error));
  throw new SignalboxError("forbidden", message, { details: { missing }, executionId: call.callId });
}

/** What admission needs to know of the stages before it. */
interface Judged {
  readonly decision: Decision;
  /** Nulls for optional fields, taken out or replaced by the default. */
  readonly edited: EditedArgs | null;
  /** Monotonic instant at which the request was read. */
  readonly since: number;
}

async function validate(ports: InvokePorts, passage: Passage): Promise<EditedArgs | null> {
  const { principal, requestId } = passage.asked;
  const { tool, version } = passage.tool.version;
  const facts = { project: passage.project, tool, version, inputHash: passage.inputHash };
  const bytes = utf8Bytes(passage.inputJson);
  if (bytes > limits.inputBytesMax) {
    const error = new SignalboxError("payload_too_large", `the input has ${bytes} bytes; the limit is ${limits.inputBytesMax}`);
    await ports.refusals.refuse(principal, requestId, error, facts);
  }
  const verdict = passage.tool.input.validateInput(passage.request.input);
  if (verdict.ok) {
    if (verdict.edits.length === 0) return null;
    return { argsJson: JSON.stringify(verdict.value), pointers: verdict.edits.map((edit) => edit.pointer) };
  }
  const error = new SignalboxError("invalid_input", `the input does not match the input schema of ${tool}@${version}`, {
    details: { errors: verdict.errors },
  });
  return ports.refusals.refuse(principal, requestId, error, facts);
}

/** A sandbox tool needs a backend of sufficient rank; none is registered here yet, and nothing weaker will do. */
async function requireBackend(ports: InvokePorts, passage: Passage): Promise<void> {
  const { spec, tool, version } = passage.tool.version;
  if (spec.executor.type !== "sandbox") return;
  const error = new SignalboxError("sandbox_unavailable", `no sandbox backend that may run ${tool}@${version} is registered`);
  await ports.refusals.refuse(passage.asked.principal, passage.asked.requestId, error, { project: passage.project, tool, version });
}

/** A key that is known answers with its call; a new one is bound in the admission's own commit. */
async function reserve(ports: InvokePorts, passage: Passage, judged: Judged): Promise<InvokeAnswer> {
  const existing = await reserved(ports, passage);
  if (existing !== undefined) return answerExisting(ports, passage, existing);
  admissible(ports, passage);
  const identity = identityOf(ports, passage, judged.decision);
  const key = waitKey(identity.tenant, identity.callId);
  const { told, stop } = ports.driver.waiters.listen(key);
  try {
    const outcome = await storable(ports.driver.admit(identity, judged.edited, passage.tool.check, judged.since));
    if (!outcome.applied) {
      const winner = await reserved(ports, passage);
      if (winner === undefined) throw new SignalboxError("conflict", "another request with this idempotency key is being admitted; try again");
      return await answerExisting(ports, passage, winner);
    }
    return await follow(ports, passage, identity, told, false);
  } finally {
    stop();
  }
}

async function reserved(ports: InvokePorts, passage: Passage): Promise<Call | undefined> {
  const { idempotencyKey } = passage.request;
  if (idempotencyKey === undefined) return undefined;
  return storable(ports.ledger.getCallByKey(passage.asked.principal.tenant, passage.project, idempotencyKey));
}

async function answerExisting(ports: InvokePorts, passage: Passage, existing: Call): Promise<InvokeAnswer> {
  if (existing.fingerprint !== passage.fingerprint) {
    const error = new SignalboxError("idempotency_conflict", "this idempotency key belongs to a call with another tool, version or input", {
      details: { execution_id: existing.callId },
      executionId: existing.callId,
    });
    const { tool, version } = passage.tool.version;
    const facts = { project: passage.project, tool, version, inputHash: passage.inputHash, details: { execution_id: existing.callId } };
    await ports.refusals.refuse(passage.asked.principal, passage.asked.requestId, error, facts);
  }
  const { told, stop } = ports.driver.waiters.listen(waitKey(existing.tenant, existing.callId));
  try {
    // Read again now that we listen: the end may have come in between.
    const now = (await storable(ports.ledger.getCall(existing.tenant, existing.callId))) ?? existing;
    if (isTerminal(now.state)) return { call: now, progress: "settled", replayed: true };
    if (now.state === "indeterminate") return { call: now, progress: "parked", replayed: true };
    return await follow(ports, passage, now, told, true);
  } finally {
    stop();
  }
}

function admissible(ports: InvokePorts, passage: Passage): void {
  if (ports.hub.draining) throw new SignalboxError("draining", "the runtime is shutting down; try again in a moment", { details: { retry_after_s: 1 } });
  const { tenant } = passage.asked.principal;
  const limit = ports.hub.queueDepthMax;
  if (ports.hub.queueDepth(tenant) >= limit) {
    throw new SignalboxError("queue_full", `${limit} calls of this tenant are queued already; try again when some of them have ended`, {
      details: { limit, retry_after_s: 1 },
    });
  }
}

/** Waits for the end as long as the caller wants to; the call goes on whoever waits. */
async function follow(
  ports: InvokePorts,
  passage: Passage,
  identity: Pick<CallIdentity, "tenant" | "callId">,
  told: Promise<Call>,
  replayed: boolean,
): Promise<InvokeAnswer> {
  const { request, asked } = passage;
  const { tenant, callId } = identity;
  if (request.mode === "sync") {
    const waitMs = request.waitMs ?? limits.syncWaitMs;
    const call = await waitAtMost(told, waitMs, ports.clock, [asked.signal, ports.draining]);
    if (call !== undefined) return { call, progress: isTerminal(call.state) ? "settled" : "parked", replayed };
    if (asked.signal?.aborted === true && request.cancelOnDisconnect === true) {
      ports.driver.happen(tenant, callId, { type: "cancel", by: `${asked.principal.name} (went away)` });
    }
  }
  const live = ports.hub.find(tenant, callId);
  // What has ended or parked in memory alone is not told before it is stored; till then the ledger's row is the answer.
  const tellable = live !== undefined && !isTerminal(live.state) && live.state !== "indeterminate";
  const call = tellable ? live : await storable(ports.ledger.getCall(tenant, callId));
  if (call === undefined) throw new SignalboxError("internal", "an admitted call is missing from the ledger");
  const parked = call.state === "awaiting_approval" || call.state === "indeterminate";
  return { call, progress: isTerminal(call.state) ? "settled" : parked ? "parked" : "waiting", replayed };
}

/** A store that cannot write is the caller's 503; nothing was acknowledged. */
export async function storable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof LedgerUnavailable) throw unstored(error);
    throw error;
  }
}

export function unstored(cause?: unknown): SignalboxError {
  return new SignalboxError("ledger_unavailable", "the ledger cannot write at the moment; nothing was stored", {
    details: { retry_after_s: 1 },
    cause,
  });
}

function freshId(ports: InvokePorts, prefix: "exec" | "dec"): string {
  return makeId(prefix, ports.clock.now(), ports.chance.bytes(10));
}

function identityOf(ports: InvokePorts, passage: Passage, decision: Decision): CallIdentity {
  const { request, asked, tool } = passage;
  const { spec } = tool.version;
  const now = ports.clock.now();
  const context = request.context ?? {};
  return {
    tenant: asked.principal.tenant,
    callId: freshId(ports, "exec"),
    project: passage.project,
    tool: tool.version.tool,
    toolTenant: tool.version.tenant,
    version: tool.version.version,
    requestedVersion: request.version ?? "",
    manifestDigest: tool.version.manifestDigest,
    executor: spec.executor.type,
    sideEffectClass: spec.sideEffectClass,
    onIndeterminate: spec.onIndeterminate,
    principal: asked.principal.name,
    onBehalfOf: "",
    sessionId: "",
    turn: 0,
    step: 0,
    index: 0,
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
    timeoutMs: Math.min(request.limits?.timeoutMs ?? spec.timeoutMs, spec.timeoutMs),
    graceMs: spec.graceMs,
    resultBytesMax: Math.min(request.limits?.maxOutputBytes ?? limits.resultBytesMax, limits.resultBytesMax),
    totalDeadlineAt: request.deadlineMs === undefined ? null : now + request.deadlineMs,
  };
}
