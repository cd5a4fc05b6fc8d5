// The way of a call from the door to its admission: resolve, authorize, validate, decide, reserve, admit, and the wait for its end.
import { canonicalJson, errorBody, fieldFault, limits, SignalboxError, utf8Bytes, type ErrorCode } from "@signalbox/protocol";
import type { EditedArgs } from "../call/machine.ts";
import { isParked, isTerminal, type Call, type CallIdentity, type Decision } from "../call/types.ts";
import type { Hub } from "../dispatch/hub.ts";
import { LedgerUnavailable, type GuardedWrite, type Ledger } from "../ledger/port.ts";
import { agentOf } from "../policy/agent.ts";
import type { Judgement } from "../policy/decide.ts";
import { missingPermissions } from "../policy/permission.ts";
import type { ToolVersion } from "../registry/types.ts";
import type { Asked, InvokeAnswer, InvokeRequest } from "../service.ts";
import type { Directory } from "../tenancy/directory.ts";
import type { Approvals } from "./approvals.ts";
import { chooseBox } from "./boxes.ts";
import { checkFiles, filesText, resolveFiles } from "./files.ts";
import type { ContentStore } from "./files-ports.ts";
import { disabledDetails, unresolvedError } from "./catalog-errors.ts";
import type { Driver } from "./driver.ts";
import { waitKey } from "./driver.ts";
import {
  begin,
  count,
  countGuards,
  countsOf,
  decisionOf,
  denialOf,
  hear,
  hearCounted,
  isOver,
  judge,
  lackOf,
  missingFor,
  type Asking,
  type Deliberating,
  type GovernorPorts,
} from "./governor.ts";
import type { Charge, Limits } from "./limits.ts";
import type { Locks } from "./locks.ts";
import { allowanceOf, unheldObligation } from "./obligations.ts";
import { openingOf } from "./opening.ts";
import { allowed, fingerprintOf, freshId, identityOf, type Passage, type SessionOrigin } from "./identity.ts";
import { placeOf } from "./place.ts";
import type { Chance, Hash, Meters } from "./ports.ts";
import type { Refusals } from "./refusals.ts";
import { admitOrAnswer, cacheKeyOf } from "./result-cache.ts";
import { offError } from "./switches.ts";
import { waitAtMost } from "./waiters.ts";

export interface InvokePorts extends GovernorPorts {
  readonly hub: Hub;
  readonly driver: Driver;
  readonly ledger: Ledger;
  readonly directory: Directory;
  readonly approvals: Approvals;
  readonly limits: Limits;
  readonly store: ContentStore;
  /** Calls whose rules count calls are decided and admitted one at a time for each caller and tool. */
  readonly counting: Locks;
  readonly refusals: Refusals;
  readonly chance: Chance;
  readonly hash: Hash;
  readonly meters: Meters;
  /** Aborts when the runtime drains: whoever waits gets the id instead. */
  readonly draining: AbortSignal;
}

export async function invoke(ports: InvokePorts, asked: Asked, request: InvokeRequest): Promise<InvokeAnswer> {
  await ports.refusals.requireScope(asked.principal, "tools:invoke", asked.requestId);
  return invokeFrom(ports, asked, request, undefined);
}

/** The same way for a session's call: it brings its id and its place, and its agent's part in the rules. */
export async function invokeFrom(ports: InvokePorts, asked: Asked, request: InvokeRequest, origin: SessionOrigin | undefined): Promise<InvokeAnswer> {
  const since = ports.clock.monotonic();
  const project = await placeOf(ports, asked, request);
  const { version, disabled } = await resolveVersion(ports, asked, request, project);
  const canonicalInput = canonicalJson(request.input);
  const inputHash = ports.hash(canonicalInput);
  const files = request.files === undefined ? [] : checkFiles(request.files, ports.hash);
  const passage: Passage = {
    asked,
    request,
    project,
    tool: origin === undefined ? ports.catalog.ready(version) : ports.agents.bind(origin.agent, ports.catalog.ready(version)),
    inputJson: JSON.stringify(request.input),
    inputHash,
    fingerprint: fingerprintOf(ports.hash, request, canonicalInput, filesText(files)),
    files,
    origin,
  };
  const asking = await authorize(ports, passage);
  if (disabled) await denyDisabled(ports, passage);
  await denyOff(ports, passage);
  const begun = begin(ports, asking, freshId(ports, "dec"));
  if (isOver(begun)) await deny(ports, passage, judge(ports, begun));
  const { edited, args } = await validate(ports, passage);
  const heard = hear(ports, begun, args, passage.tool);
  if (isOver(heard)) await deny(ports, passage, judge(ports, heard));
  return reserve(ports, passage, { heard, edited, args, since });
}

async function resolveVersion(ports: InvokePorts, asked: Asked, request: InvokeRequest, project: string): Promise<Found> {
  const { principal, requestId } = asked;
  const { tenant } = principal;
  const wish = request.version ?? "";
  const first = await storable(ports.catalog.resolve(tenant, request.tool, wish, undefined, project));
  if (first.ok) return { version: first.version, disabled: false };
  if (first.reason === "disabled") return { version: first.version, disabled: true };
  // Only now, off the fast path: near names, of those tools alone that the caller may learn of.
  const granted = await storable(ports.directory.permissionsOf(principal, project, ports.clock.now()));
  const maySee = (tool: string): boolean => missingPermissions(granted, [`tool:invoke:${tool}`]).length === 0;
  const found = await storable(ports.catalog.resolve(tenant, request.tool, wish, maySee, project));
  if (found.ok) return { version: found.version, disabled: false };
  const error = unresolvedError(request, found);
  return ports.refusals.refuse(principal, requestId, error, { project, tool: request.tool, details: error.details ?? {} });
}

interface Found {
  readonly version: ToolVersion;
  /** It is there, and the project may not use it: a denial like one by grants, once the caller's grants are known. */
  readonly disabled: boolean;
}

/** required ⊆ granted; what is missing makes a denied row, audited, and a 403 that carries its id. */
async function authorize(ports: InvokePorts, passage: Passage): Promise<Asking> {
  const began = ports.clock.monotonic();
  const { asked, project, tool, request } = passage;
  const { principal } = asked;
  const { tenant, name } = principal;
  const holdings = await storable(holdingsFor(ports, passage));
  if (holdings === undefined) {
    const message = `no key of ${name} is valid any more`;
    const decision: Decision = { id: freshId(ports, "dec"), outcome: "deny", reason: message, rules: [], spentMicros: 0 };
    return denied(ports, passage, decision, { code: "forbidden", message, details: { reason: "principal_gone" }, reason: "principal_gone" });
  }
  const asking: Asking = { tenant, project, principal: name, holdings, tool, context: request.context ?? {} };
  const missing = missingFor(asking);
  if (missing.length === 0) return asking;
  const spentMicros = Math.round((ports.clock.monotonic() - began) * 1000);
  const message = lackOf(asking, missing);
  const decision: Decision = { id: freshId(ports, "dec"), outcome: "deny", reason: message, rules: [], spentMicros };
  return denied(ports, passage, decision, { code: "forbidden", message, details: { missing }, reason: "missing_grant" });
}

/** Whoever started a session need not be there while it works; what they hold today counts. */
function holdingsFor(ports: InvokePorts, { asked: { principal }, project, origin }: Passage) {
  const now = ports.clock.now();
  if (origin === undefined) return ports.directory.holdingsOf(principal, project, now);
  return ports.directory.holdingsByName(principal.tenant, principal.name, project, now);
}

async function denyDisabled(ports: InvokePorts, passage: Passage): Promise<never> {
  const { tool } = passage.tool.version;
  const { project } = passage;
  const message = `${tool} is disabled in the project ${project}; an administrator can enable it: signalbox tools enable ${tool} --project ${project}`;
  const decision: Decision = { id: freshId(ports, "dec"), outcome: "deny", reason: message, rules: [], spentMicros: 0 };
  return denied(ports, passage, decision, { code: "forbidden", message, details: disabledDetails(project), reason: "tool_disabled" });
}

/** A privileged built-in that nobody has switched on; which one may hang on the input, read as far as it needs no schema. */
async function denyOff(ports: InvokePorts, passage: Passage): Promise<void> {
  const off = offError(ports.catalog.switches, passage.tool.version, passage.request.input);
  if (off === undefined) return;
  const { code, message, details = {} } = off;
  const decision: Decision = { id: freshId(ports, "dec"), outcome: "deny", reason: message, rules: [], spentMicros: 0 };
  await denied(ports, passage, decision, { code, message, details, reason: "tool_off" });
}

/** A rule, or a level's default, says no. */
async function deny(ports: InvokePorts, passage: Passage, judgement: Judgement): Promise<never> {
  const { decision, code, message, details } = denialOf(judgement);
  return denied(ports, passage, decision, { code, message, details, reason: code === "policy_error" ? "policy_error" : "policy" });
}

/** One commit: a terminal row with the hash of the arguments, audit, event. Nothing runs, and no key is bound. */
async function denied(
  ports: InvokePorts,
  passage: Passage,
  decision: Decision,
  no: { readonly code: ErrorCode; readonly message: string; readonly details: Readonly<Record<string, unknown>>; readonly reason: string },
): Promise<never> {
  const { code, message, reason } = no;
  // Whoever asks again under its key learns which call that was: a denial of today says nothing about it.
  const earlier = await reserved(ports, passage);
  const own = earlier !== undefined && earlier.fingerprint === passage.fingerprint && earlier.principal === passage.asked.principal.name;
  const details = own ? { ...no.details, earlier_execution_id: earlier.callId } : no.details;
  ports.meters.count("authorization_denied_total", { reason });
  const identity = identityOf(ports, passage, decision, allowed(passage));
  const call = await storable(ports.driver.deny(identity, errorBody(code, message, details)));
  throw new SignalboxError(code, message, { details, executionId: call.callId });
}

/** What admission needs to know of the stages before it. */
interface Judged {
  readonly heard: Deliberating;
  /** Nulls for optional fields, taken out or replaced by the default. */
  readonly edited: EditedArgs | null;
  /** As they would run. */
  readonly args: unknown;
  /** Monotonic instant at which the request was read. */
  readonly since: number;
}

/** A call on its last steps, and what it has paid. */
interface Charged extends Judged {
  readonly charge: Charge;
}

async function validate(ports: InvokePorts, passage: Passage): Promise<{ readonly edited: EditedArgs | null; readonly args: unknown }> {
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
    if (verdict.edits.length === 0) return { edited: null, args: passage.request.input };
    const edited = { argsJson: JSON.stringify(verdict.value), pointers: verdict.edits.map((edit) => edit.pointer) };
    return { edited, args: verdict.value };
  }
  const error = new SignalboxError("invalid_input", `the input does not match the input schema of ${tool}@${version}`, {
    details: { errors: verdict.errors },
  });
  return ports.refusals.refuse(principal, requestId, error, facts);
}

/** Where it runs, when that is in one of our boxes; found out before anything is stored. */
async function boxFor(ports: InvokePorts, passage: Passage, { obligations }: Judgement, args: unknown): Promise<Pick<CallIdentity, "sandbox" | "boxJson" | "filesJson">> {
  const { version } = passage.tool;
  if (version.spec.executor.type !== "sandbox") {
    if (passage.files.length === 0) return noBox;
    throw new SignalboxError("invalid_input", `${version.tool} runs in a worker of its application, and files are mounted in boxes only`, {
      details: { fields: [fieldFault("/files", "maxItems", "must be empty, for the tool runs in no box")] },
    });
  }
  try {
    const box = chooseBox({ version, obligations, args, lowered: ports.catalog.switches.lowered }, ports.hub.backends()) ?? noBox;
    const files = await resolveFiles(ports, passage.asked.principal.tenant, passage.files);
    return { ...box, filesJson: JSON.stringify(files) };
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    const facts = { project: passage.project, tool: version.tool, version: version.version, inputHash: passage.inputHash };
    return ports.refusals.refuse(passage.asked.principal, passage.asked.requestId, error, facts);
  }
}

const noBox = { sandbox: null, boxJson: null, filesJson: "[]" } as const;

/** A key that is known answers with its call; a new one is bound in the admission's own commit. */
async function reserve(ports: InvokePorts, passage: Passage, judged: Judged): Promise<InvokeAnswer> {
  const existing = await reserved(ports, passage);
  if (existing !== undefined) return answerExisting(ports, passage, existing);
  admissible(ports, passage);
  const { tenant, name } = passage.asked.principal;
  const { tool, tenant: toolTenant } = passage.tool.version;
  const agent = agentOf(name, passage.request.context ?? {});
  const charge = ports.limits.charge({ tenant, project: passage.project, principal: name, agent, tool, toolTenant });
  try {
    const answer = await admitCharged(ports, passage, { ...judged, charge });
    return answer.replayed || charge.rate === null ? answer : { ...answer, rate: charge.rate };
  } finally {
    charge.settle();
  }
}

async function admitCharged(ports: InvokePorts, passage: Passage, judged: Charged): Promise<InvokeAnswer> {
  if (judged.heard.rules === undefined || judged.heard.rules.waiting.length === 0) {
    const answer = await admitAs(ports, passage, judged, []);
    if (answer === "recount") throw new Error("an admission that counts nothing was refused for its counts");
    return answer;
  }
  const { tenant, name } = passage.asked.principal;
  return ports.counting.run(`${tenant}\n${name}\n${passage.tool.version.tool}`, () => countAndAdmit(ports, passage, judged));
}

/** Recounts when calls were admitted in between; others of this process wait their turn, so it takes another one to lose. */
const countTriesMax = 20;

async function countAndAdmit(ports: InvokePorts, passage: Passage, judged: Charged): Promise<InvokeAnswer> {
  for (let tries = 0; tries < countTriesMax; tries++) {
    const needed = countsOf(judged.heard, passage.origin ?? { sessionId: "", turn: 0 }, ports.clock.now());
    const counted = await storable(count(ports.ledger, needed));
    const answer = await admitAs(ports, passage, { ...judged, heard: hearCounted(ports, judged.heard, counted) }, countGuards(counted));
    if (answer !== "recount") return answer;
  }
  throw new SignalboxError("conflict", "too many calls of this tool are being admitted at once; try again");
}

/** The last word of the rules, then one commit: queued (and dispatched, where a worker is free), or parked for people. */
async function admitAs(
  ports: InvokePorts,
  passage: Passage,
  { heard, edited, args, since, charge }: Charged,
  guards: readonly GuardedWrite[],
): Promise<InvokeAnswer | "recount"> {
  const judgement = judge(ports, heard);
  if (judgement.decision.outcome === "deny") await deny(ports, passage, judgement);
  await requireHeld(ports, passage, judgement);
  const box = await boxFor(ports, passage, judgement, args);
  const allowance = allowanceOf(judgement.obligations, allowed(passage));
  const decision = decisionOf(judgement);
  const identity = { ...identityOf(ports, passage, decision, allowance), ...box, cacheKey: cacheKeyFor(ports, passage, decision, edited, args) };
  const { told, stop } = ports.driver.waiters.listen(waitKey(identity.tenant, identity.callId));
  try {
    const admission = { identity, edited, facts: passage.tool.facts, clearance: heard.clearance };
    const opening = openingOf(ports, identity, edited, judgement, passage.origin?.agent.spec.limits.approvalWaitMsMax);
    requireUncancelled(passage);
    const outcome = await storable(
      opening === null
        ? admitOrAnswer(ports, guards.length === 0 ? admission : { ...admission, beside: { guards, writes: [] } }, {
            cacheTtlMs: passage.tool.version.spec.cacheTtlMs,
            since,
            admissible: () => admissible(ports, passage),
          })
        : ports.driver.park({
            ...admission,
            approvalId: opening.approvalId,
            asked: opening.asked,
            beside: { guards: [...guards, ...opening.guards], writes: opening.writes },
          }),
    );
    if (!outcome.applied) {
      const winner = await reserved(ports, passage);
      // At once: it may be long till the winner ends.
      if (winner !== undefined) charge.settle();
      if (winner !== undefined) return await answerExisting(ports, passage, winner);
      if (guards.length > 0) return "recount";
      throw new SignalboxError("conflict", "another request with this idempotency key is being admitted; try again");
    }
    charge.keep(identity.admittedAt);
    if (opening !== null) ports.approvals.opened(opening.expiresAt);
    return await follow(ports, passage, identity, { told, replayed: false, parked: opening !== null });
  } finally {
    stop();
  }
}

function cacheKeyFor(ports: InvokePorts, passage: Passage, decision: Decision, edited: EditedArgs | null, args: unknown): string | null {
  const { version } = passage.tool;
  if (!version.spec.pure) return null;
  const argsHash = edited === null ? passage.inputHash : ports.hash(canonicalJson(args));
  return cacheKeyOf(ports.hash, version, { decision, argsHash, files: filesText(passage.files) ?? "" });
}

/** Rules may oblige a call to more than its executor can be held to: then it does not run. */
async function requireHeld(ports: InvokePorts, passage: Passage, { obligations }: Judgement): Promise<void> {
  const { version } = passage.tool;
  const unheld = unheldObligation(version, obligations);
  if (unheld === undefined) return;
  const { code, message, details, retryable } = unheld;
  const error = new SignalboxError(code, message, { retryable, ...(details === undefined ? {} : { details }) });
  const facts = { project: passage.project, tool: version.tool, version: version.version, inputHash: passage.inputHash };
  await ports.refusals.refuse(passage.asked.principal, passage.asked.requestId, error, facts);
}

async function reserved(ports: InvokePorts, passage: Passage): Promise<Call | undefined> {
  const { idempotencyKey } = passage.request;
  if (passage.origin !== undefined) return storable(ports.ledger.getCall(passage.asked.principal.tenant, passage.origin.callId));
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
    if (isParked(now)) return { call: now, progress: "parked", replayed: true };
    return await follow(ports, passage, now, { told, replayed: true, parked: false });
  } finally {
    stop();
  }
}

/** Rules may have been asked for long: a cancel that came meanwhile wins over what they say. */
function requireUncancelled({ origin }: Passage): void {
  if (origin?.cancelled() === true) throw new SignalboxError("cancelled", "the call was cancelled before it was admitted");
}

function admissible(ports: InvokePorts, passage: Passage): void {
  requireUncancelled(passage);
  if (ports.hub.draining) throw new SignalboxError("draining", "the runtime is shutting down; try again in a moment", { details: { retry_after_s: 1 } });
  ports.limits.requireRoom({ tenant: passage.asked.principal.tenant, project: passage.project });
}

/** Waits for the end as long as the caller wants to; the call goes on whoever waits. */
async function follow(
  ports: InvokePorts,
  passage: Passage,
  identity: Pick<CallIdentity, "tenant" | "callId">,
  { told, replayed, parked }: { readonly told: Promise<Call>; readonly replayed: boolean; readonly parked: boolean },
): Promise<InvokeAnswer> {
  const { request, asked } = passage;
  const { tenant, callId } = identity;
  if (request.mode === "sync" && !parked) {
    const waitMs = request.waitMs ?? limits.syncWaitMs;
    const call = await waitAtMost(told, waitMs, ports.clock, [asked.signal, ports.draining]);
    if (call !== undefined) return { call, progress: isTerminal(call.state) ? "settled" : "parked", replayed };
    if (asked.signal?.aborted === true && request.cancelOnDisconnect === true) {
      ports.driver.wishInPassing(tenant, callId, { type: "cancel", by: `${asked.principal.name} (went away)` });
    }
  }
  const live = ports.hub.find(tenant, callId);
  // What has ended or parked in memory alone is not told before it is stored; till then the ledger's row is the answer.
  const tellable = live !== undefined && !isTerminal(live.state) && live.state !== "indeterminate";
  const call = tellable ? live : await storable(ports.ledger.getCall(tenant, callId));
  if (call === undefined) throw new SignalboxError("internal", "an admitted call is missing from the ledger");
  return { call, progress: isTerminal(call.state) ? "settled" : isParked(call) ? "parked" : "waiting", replayed };
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
