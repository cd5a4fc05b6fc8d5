// Runs a batch: hands its calls to the one pipeline in their order, hears their ends, stops them when somebody cancels, and tells all of it.
import { limits, makeId, parseJson, SignalboxError } from "@signalbox/protocol";
import { isParked, isTerminal, type Call } from "../../call/types.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";
import type { AgentVersion } from "../../registry/agents/types.ts";
import { Batch } from "../../session/batch/batch.ts";
import { cancelledResult } from "../../session/turn/told.ts";
import type { BatchEvent, BatchOutcome, CancelScope, KnownCall } from "../../session/batch/types.ts";
import type { PreparedCall, Request } from "../../session/turn/types.ts";
import type { Projected } from "../../session/projection.ts";
import type { Session, SessionEvent, SessionReason, ToldResult } from "../../session/types.ts";
import type { Asked } from "../../tenancy/types.ts";
import { waitKey } from "../driver.ts";
import { invokeFrom, storable } from "../invoke.ts";
import { waitAtMost } from "../waiters.ts";
import { sessionTimes, type SessionPorts } from "./ports.ts";
import { contextWith } from "./projecting.ts";
import type { NewEvent } from "./row.ts";
import { Suspended } from "./suspended.ts";
import { toldOfRefusal, toldOfRow } from "./told.ts";

export type RunToolsRequest = Extract<Request, { readonly type: "RunTools" }>;

/** What the batch needs of the session that it belongs to. */
export interface BatchHost {
  readonly ports: SessionPorts;
  readonly session: Session;
  readonly agent: AgentVersion;
  /** Stores and tells these; the batch does not wait for it. */
  tell(events: readonly NewEvent[]): void;
  /** Cancels that concern this batch are told to `hear`, those that came before too. */
  onCancel(hear: (scope: CancelScope, at: number) => void): void;
  /** What a tool of this name is given of the session; undefined: it did not ask. @throws SignalboxError ledger_unavailable */
  projectionFor(tool: string | null): Promise<readonly Projected[] | undefined>;
  /** Aborts when this replica lets go of the session. */
  readonly leaving: AbortSignal;
}

export interface BatchResult extends BatchOutcome {
  readonly stop: SessionReason | null;
  /** In which something ran that waited for nobody. */
  readonly activeMs: number;
}

type Happening =
  | { readonly type: "ended"; readonly index: number; readonly result: ToldResult; readonly at: number; readonly row: Call | null }
  | { readonly type: "parked" | "unparked"; readonly index: number; readonly row: Call }
  | { readonly type: "broken"; readonly error: unknown }
  | { readonly type: "cancel"; readonly scope: CancelScope; readonly at: number }
  | { readonly type: "look" };

/** Events of a session's stream that are read at once, from its end back to the beginning of the batch's step. */
const eventsAtOnce = 100;
/** Whoever waits for a call looks at its row this often, whatever it was told. */
const lookMs = 5_000;
/** Refusals that are not the tool's or the caller's: the machinery could not. Nobody is told of them; the batch is tried again. */
const machinery = new Set(["draining", "ledger_unavailable", "internal"]);

export class BatchRun {
  readonly #host: BatchHost;
  readonly #request: RunToolsRequest;
  readonly #caller: Asked;
  /** Questions to people that were told. */
  readonly #asked = new Set<string>();
  /** Questions that an earlier stretch died before it told, by the call that they are about. */
  readonly #untold = new Map<string, NewEvent>();
  #batch: Batch;
  readonly #happened: Happening[] = [];
  #wake: () => void = () => {};
  readonly #stopped = new Set<number>();
  readonly #given = new AbortController();
  #stop: SessionReason | null = null;
  #activeMs = 0;
  #activeSince: number;
  #timeUsedUp = false;

  private constructor(host: BatchHost, request: RunToolsRequest) {
    const { ports, session, agent } = host;
    this.#host = host;
    this.#request = request;
    this.#caller = askedFor(ports, session);
    this.#batch = Batch.start(request.calls, agent.spec.limits.concurrentCallsMax, sessionTimes.cancelGraceMs);
    this.#activeSince = ports.clock.monotonic();
  }

  /** @throws Suspended when everything that is left waits for people, or the replica leaves; LedgerUnavailable */
  static async run(host: BatchHost, request: RunToolsRequest): Promise<BatchResult> {
    const run = new BatchRun(host, request);
    try {
      return await run.#go();
    } finally {
      run.#given.abort();
    }
  }

  async #go(): Promise<BatchResult> {
    const { leaving } = this.#host;
    await this.#takeUp();
    this.#host.onCancel((scope, at) => this.#push({ type: "cancel", scope, at }));
    const left = (): void => this.#push({ type: "look" });
    leaving.addEventListener("abort", left, { once: true });
    try {
      for (;;) {
        this.#startAll();
        this.#tell();
        const outcome = this.#batch.outcome();
        if (outcome !== undefined) return { ...outcome, stop: this.#stop, activeMs: this.#active() };
        if (leaving.aborted) throw new Suspended("leaving", this.#active());
        if (this.#happened.length === 0 && this.#batch.waitsForPeople && this.#batch.tickAt === null) throw new Suspended("people", this.#active());
        await this.#wait();
        for (let next = this.#happened.shift(); next !== undefined; next = this.#happened.shift()) await this.#hear(next);
        this.#batch.tick(this.#host.ports.clock.now());
      }
    } finally {
      leaving.removeEventListener("abort", left);
    }
  }

  /** What an earlier stretch submitted has rows: they are gone on with, never made anew. */
  async #takeUp(): Promise<void> {
    const { ports, session, agent } = this.#host;
    const { calls } = this.#request;
    const rows = await Promise.all(calls.map(({ callId, settled }) => (settled === null ? ports.ledger.getCall(session.tenant, callId) : Promise.resolve(undefined))));
    const said = await this.#saidBefore();
    const known = calls.map((call, index): KnownCall => {
      const row = rows[index];
      const before = said(call);
      if (row === undefined) return { state: "unsubmitted", ...before };
      if (isTerminal(row.state)) return { state: "ended", result: toldOfRow(call, row), settledAt: row.settledAt ?? 0, ...before };
      return { state: "open", parked: isParked(row), ...before };
    });
    this.#batch = Batch.resume(calls, known, agent.spec.limits.concurrentCallsMax, sessionTimes.cancelGraceMs);
    for (const [index, row] of rows.entries()) {
      const call = calls[index];
      if (row === undefined || call === undefined) continue;
      const parked = isParked(row);
      const question = parked || row.approvalId !== null ? this.#question(index, row, parked ? row.state : "awaiting_approval") : undefined;
      if (question !== undefined) this.#untold.set(row.callId, question);
      if (isTerminal(row.state)) await this.#judge(row);
      else this.#watch(call, parkedAs(row));
    }
  }

  /** What an earlier stretch told of these calls; it is not told twice. */
  async #saidBefore(): Promise<(call: PreparedCall) => Pick<KnownCall, "saidStarted" | "told">> {
    const { ports, session } = this.#host;
    const { tenant, sessionId, eventSeq, turn } = session;
    const started = new Set<string>();
    const told = new Map<string, { readonly at: number; readonly data: ToldData }>();
    const isOurs = (event: SessionEvent): boolean => event.turn === turn && event.step === this.#request.step;
    for (let end = eventSeq, more = true; end > 0 && more; ) {
      const from = Math.max(0, end - eventsAtOnce);
      const events = await storable(ports.ledger.sessionEvents(tenant, sessionId, from, end - from));
      for (const { type, at, dataJson } of events.filter(isOurs)) {
        const data = JSON.parse(dataJson) as ToldData;
        if (type === "tool.started") started.add(data.execution_id);
        if (type === "tool.completed") told.set(data.execution_id, { at, data });
        if (type === "approval.requested") this.#asked.add(`${data.execution_id} ${data.approval_id}`);
      }
      // Messages that came during the step stand between its events, and nothing of another step does.
      more = events.slice(0, 1).every((event) => isOurs(event) || event.type === "message");
      end = from;
    }
    return (call) => {
      const before = told.get(call.callId);
      return { saidStarted: started.has(call.callId), ...(before === undefined ? {} : { told: { result: resultOf(call, before.data), at: before.at } }) };
    };
  }

  #startAll(): void {
    for (let ready = this.#batch.next(); ready.length > 0; ready = this.#batch.next()) {
      for (const index of ready) {
        const call = this.#request.calls[index];
        if (call !== undefined && this.#batch.started(index)) void this.#submit(call);
      }
    }
  }

  async #submit(call: PreparedCall): Promise<void> {
    const { ports, session, agent } = this.#host;
    const { turn } = session;
    try {
      const { index, callId } = call;
      const origin = { callId, sessionId: session.sessionId, turn, step: this.#request.step, index, agent, cancelled: () => this.#stopped.has(index) };
      const projected = await this.#host.projectionFor(call.tool);
      await invokeFrom(ports, this.#caller, requestOf({ call, session, agent, projected }, ports.clock.now()), origin);
      if (this.#stopped.has(index)) this.#stopCall(call);
      this.#watch(call);
    } catch (error) {
      this.#refused(call, error);
    }
  }

  /** A denial has a row, and the row is what is told; other refusals have none. */
  #refused(call: PreparedCall, error: unknown): void {
    const { clock } = this.#host.ports;
    if (!(error instanceof SignalboxError) || machinery.has(error.code)) return this.#push({ type: "broken", error });
    if (error.executionId === call.callId) return this.#watch(call);
    const { code, message, details, retryable } = error;
    const body = { code, message, retryable, ...(details === undefined ? {} : { details }) };
    const result = code === "cancelled" ? cancelledResult(call) : toldOfRefusal(call, body as Parameters<typeof toldOfRefusal>[1]);
    this.#push({ type: "ended", index: call.index, result, at: clock.now(), row: null });
  }

  /** Hears the call's end, or that it parked, from whichever replica has it. */
  #watch(call: PreparedCall, known = ""): void {
    void this.#watched(call, known).catch((error: unknown) => this.#push({ type: "broken", error }));
  }

  /** @param known how it was parked when the batch took it up */
  async #watched(call: PreparedCall, known: string): Promise<void> {
    const { ports, session } = this.#host;
    const { tenant } = session;
    let before = known;
    while (!this.#given.signal.aborted) {
      const { told, stop } = ports.driver.waiters.listen(waitKey(tenant, call.callId));
      try {
        const row = await storable(ports.ledger.getCall(tenant, call.callId));
        if (row !== undefined && isTerminal(row.state)) {
          return this.#push({ type: "ended", index: call.index, result: toldOfRow(call, row), at: row.settledAt ?? ports.clock.now(), row });
        }
        const parked = row === undefined ? "" : parkedAs(row);
        if (parked !== before && row !== undefined) this.#push({ type: parked === "" ? "unparked" : "parked", index: call.index, row });
        before = parked;
        await waitAtMost(told, lookMs, ports.clock, [this.#given.signal]);
      } finally {
        stop();
      }
    }
  }

  async #hear(happening: Happening): Promise<void> {
    switch (happening.type) {
      case "ended": {
        const { index, result, at, row } = happening;
        // A row that settled before its grace was over may be heard of after it.
        this.#batch.settled(index, result, at);
        if (row !== null) await this.#judge(row);
        return;
      }
      case "unparked":
        return this.#batch.unparked(happening.index);
      case "parked": {
        const { index, row } = happening;
        this.#batch.parked(index);
        const question = this.#question(index, row, row.state);
        if (question !== undefined) this.#host.tell([question]);
        return;
      }
      case "cancel":
        return this.#cancel(happening.scope, happening.at);
      case "broken":
        throw happening.error instanceof SignalboxError ? new LedgerUnavailable(happening.error.message) : happening.error;
      case "look":
        return;
    }
  }

  /** What is told of the people that are asked about a call; undefined where it was told before. */
  #question(index: number, { callId, approvalId }: Call, status: string): NewEvent | undefined {
    const name = `${callId} ${approvalId ?? undefined}`;
    if (this.#asked.has(name)) return undefined;
    this.#asked.add(name);
    return this.#event("approval.requested", { index, execution_id: callId, status, ...(approvalId === null ? {} : { approval_id: approvalId }) });
  }

  #cancel(scope: CancelScope, at: number): void {
    const order = this.#batch.cancel(scope, at);
    for (const index of order.stop) {
      this.#stopped.add(index);
      const call = this.#request.calls[index];
      if (call !== undefined) this.#stopCall(call);
    }
  }

  /** One that is on its way to the ledger is stopped there, or when it has come back. */
  #stopCall({ callId }: PreparedCall): void {
    const { ports, session } = this.#host;
    const { tenant, principal } = session;
    const stop = async (): Promise<void> => {
      const row = await ports.ledger.getCall(tenant, callId);
      if (row === undefined || isTerminal(row.state)) return;
      if (isParked(row)) await ports.driver.adopt(row);
      await ports.driver.wish(tenant, callId, { type: "cancel", by: principal });
    };
    stop().catch((error: unknown) => ports.log.warn({ reason: String(error), execution_id: callId }, "a cancelled call of a session could not be told to stop; its own deadline will"));
  }

  /** People may have said no in a way that ends the session, or have let the agent wait too long. */
  async #judge(row: Call): Promise<void> {
    if (this.#stop !== null || row.error === null || row.approvalId === null) return;
    const { code } = row.error;
    const { ports, agent } = this.#host;
    if (code === "approval_denied") {
      const all = await storable(ports.ledger.approval(row.tenant, row.approvalId));
      if (all?.approval.outcome !== "rejected" || all.approval.onReject !== "fail") return;
      this.#stop = { code: "approval_rejected", message: `${all.approval.closedBy ?? "somebody"} rejected a call of ${row.tool}, and the rule says that this ends the session` };
    } else if (code === "approval_expired" && (row.settledAt ?? 0) - row.admittedAt >= agent.spec.limits.approvalWaitMsMax) {
      this.#stop = { code: "limit_approval_wait", message: `nobody decided on a call of ${row.tool} in the time that the agent may wait` };
    } else return;
    this.#push({ type: "cancel", scope: { scope: "turn" }, at: ports.clock.now() });
  }

  #tell(): void {
    const events = this.#batch.takeEvents().flatMap((event) => {
      const told = this.#event(event.type, dataOf(event));
      // Between the call's beginning and its end, as if it had been told in time.
      return event.type === "tool.completed" ? [...this.#takeUntold(event.callId), told] : [told];
    });
    for (const callId of this.#untold.keys()) events.push(...this.#takeUntold(callId));
    if (events.length > 0) this.#host.tell(events);
  }

  #takeUntold(callId: string): readonly NewEvent[] {
    const question = this.#untold.get(callId);
    this.#untold.delete(callId);
    return question === undefined ? [] : [question];
  }

  #event(type: string, data: Readonly<Record<string, unknown>>): NewEvent {
    return { type, turn: this.#host.session.turn, step: this.#request.step, data };
  }

  #push(happening: Happening): void {
    this.#happened.push(happening);
    this.#wake();
  }

  /** Till something happens, a deadline of a cancel passes, or the time of the turn is used up. */
  async #wait(): Promise<void> {
    if (this.#happened.length > 0) return;
    const { clock } = this.#host.ports;
    const waiting = this.#batch.waitsForPeople;
    if (waiting) this.#pause();
    else this.#activeSince = Number.isNaN(this.#activeSince) ? clock.monotonic() : this.#activeSince;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const tickAt = this.#batch.tickAt;
    // Once its time was used up the batch has been cancelled: that is not done again.
    const timed = tickAt === null && !waiting && !this.#timeUsedUp;
    const never = Number.POSITIVE_INFINITY;
    const ms = tickAt !== null ? tickAt - clock.now() : timed ? this.#request.activeMsLeft - this.#active() : never;
    const takeBack = Number.isFinite(ms)
      ? clock.after(Math.min(Math.max(0, ms), timerMsMax), () => {
          if (timed && this.#active() >= this.#request.activeMsLeft) {
            this.#timeUsedUp = true;
            this.#push({ type: "cancel", scope: { scope: "batch" }, at: clock.now() });
          }
          resolve();
        })
      : (): void => {};
    await promise;
    takeBack();
  }

  #pause(): void {
    this.#activeMs = this.#active();
    this.#activeSince = Number.NaN;
  }

  #active(): number {
    return Number.isNaN(this.#activeSince) ? this.#activeMs : this.#activeMs + (this.#host.ports.clock.monotonic() - this.#activeSince);
  }
}

/** What people are asked about it; empty where nobody is. */
function parkedAs(row: Call): string {
  return isParked(row) ? `${row.state} ${row.approvalId}` : "";
}

/** A timer cannot wait longer; it looks and waits on. */
const timerMsMax = 6 * 3_600_000;

/** Whoever started the session: their rights are read again for every call, and no scope of a key is used up. */
function askedFor({ clock, chance }: SessionPorts, { tenant, project, principal, keyId }: Session): Asked {
  return { principal: { tenant, project, name: principal, keyId, scopes: new Set(), roles: [] }, requestId: makeId("req", clock.now(), chance.bytes(10)) };
}

interface Submitted {
  readonly call: PreparedCall;
  readonly session: Session;
  readonly agent: AgentVersion;
  readonly projected: readonly Projected[] | undefined;
}

function requestOf({ call, session, agent, projected }: Submitted, now: number): Parameters<typeof invokeFrom>[2] {
  const { context = {} } = JSON.parse(session.contextJson) as { readonly context?: Readonly<Record<string, unknown>> };
  const parsed = parseJson(call.argsJson ?? "{}", { depthMax: limits.jsonDepthMax, numbers: "finite", duplicateKeys: "refuse", at: [] });
  const place = { ...context, agent: agent.agent, agent_version: agent.version, session_id: session.sessionId };
  return {
    tool: call.tool ?? "",
    version: call.version ?? "",
    project: session.project,
    input: parsed.ok ? parsed.value : {},
    context: projected === undefined ? place : contextWith(place, projected),
    mode: "async",
    ...(session.deadlineAt === null ? {} : { deadlineMs: Math.max(1, session.deadlineAt - now) }),
  };
}

/** What the events of a batch hold, as far as a later stretch needs it. */
interface ToldData {
  readonly execution_id: string;
  readonly approval_id?: string;
  readonly status: ToldResult["status"];
  readonly told: ToldResult["told"];
  readonly text: string;
  readonly is_error: boolean;
  readonly error_code?: string;
  readonly edited_by?: string;
  readonly edited_args?: string;
  readonly duration_ms: number;
}

/** What was told once stays so, whatever the call's row says since. */
function resultOf(call: PreparedCall, data: ToldData): ToldResult {
  if (data.told === "synthetic") return cancelledResult(call);
  const { index, callId, providerId, name, metadata } = call;
  const { told, status, text } = data;
  return {
    index,
    callId,
    providerId,
    name,
    told,
    status,
    text,
    isError: data.is_error,
    errorCode: data.error_code ?? null,
    editedArgsJson: data.edited_args ?? null,
    editedBy: data.edited_by ?? null,
    durationMs: data.duration_ms,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function dataOf(event: BatchEvent): Readonly<Record<string, unknown>> {
  const { index, callId, name } = event;
  if (event.type === "tool.started") return { index, execution_id: callId, name };
  const { told, status, text, isError, errorCode, editedBy, editedArgsJson, durationMs } = event.result;
  return { index, execution_id: callId, name, status, told, is_error: isError, text, duration_ms: durationMs, ...(errorCode === null ? {} : { error_code: errorCode }), ...(editedBy === null ? {} : { edited_by: editedBy }), ...(editedArgsJson === null ? {} : { edited_args: editedArgsJson }) };
}
