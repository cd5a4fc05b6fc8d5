// The shared ledger: the ledger port, and what replicas share beside it, on one PostgreSQL database.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "@signalbox/protocol";
import { isTerminal, type Call } from "../../call/types.ts";
import type { AuditFilter } from "../../ledger/audit.ts";
import type { AuditHead, Hmac } from "../../ledger/audit-chain.ts";
import {
  LedgerUnavailable,
  type ApprovalFilter,
  type CallCount,
  type CallFilter,
  type CommitOutcome,
  type PolicyFilter,
  type Unit,
} from "../../ledger/port.ts";
import type { Beat, ClaimQuery, SharedLedger, Wake } from "../../ledger/shared.ts";
import { atMost, SessionLedger, type StoredSessions } from "../../ledger/session-reads.ts";
import type { DeliveryState } from "../../ledger/webhooks.ts";
import type { WorkspacePlace, WorkspaceQuery } from "../../ledger/workspace.ts";
import type { ToolQuery } from "../../registry/types.ts";
import type { UsageQuery } from "../../schedule/types.ts";
import { Anchor } from "../sqlite/anchor.ts";
import { hmacWith } from "../sqlite/audit-key.ts";
import { planUnit } from "../sqlite/unit-plan.ts";
import { agentReads } from "./agent-store.ts";
import { approvalReads } from "./approval-reads.ts";
import { AuditLane } from "./audit-lane.ts";
import { auditLister } from "./audit-list.ts";
import { auditVerifier } from "./audit-verify.ts";
import { BatchWriter, type Queued } from "./batch-writer.ts";
import { callCounts } from "./call-counts.ts";
import { callLister } from "./call-list.ts";
import { callReads } from "./call-reads.ts";
import { claimer } from "./claim.ts";
import { otherClaims } from "./claim-others.ts";
import { fleetOf } from "./fleet.ts";
import { GroupCommit, type CommitStats } from "./group-commit.ts";
import { limitReads } from "./limit-store.ts";
import { openStore } from "./open.ts";
import { policyReads } from "./policy-reads.ts";
import { ReadPool } from "./pool.ts";
import { registryReads } from "./registry-reads.ts";
import { retention } from "./retention.ts";
import { sessionReads } from "./session-store.ts";
import { asLedgerError } from "./store-errors.ts";
import { streamReads } from "./stream-store.ts";
import { tenancyReads } from "./tenancy-reads.ts";
import { applyTogether } from "./together.ts";
import { trailReads } from "./trail-reads.ts";
import { usageReads } from "./usage-store.ts";
import { WakeLine, type Heard } from "./wakes.ts";
import { webhookReads } from "./webhook-reads.ts";
import { workspaceReads } from "./workspace-store.ts";
import { Writer } from "./writer.ts";
import { unitWriter } from "./writers.ts";

export interface PostgresLedgerOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Keys the audit chain; at least 32 bytes, the same for all replicas, kept outside the database. */
  readonly auditKey: Buffer;
  /** The audit lane of this process: its replica's name, which only one process uses at a time. */
  readonly lane: string;
  /** The file of the audit's anchor; in this replica's data folder, away from the database. */
  readonly anchorPath: string;
  /** Wall clock, ms since 1970. */
  readonly now: () => number;
  /** Hears of trouble that no caller waits for. */
  readonly onError?: (error: Error) => void;
  readonly onCommit?: (commit: { readonly units: number; readonly ms: number }) => void;
  readonly inlineResultBytesMax?: number;
  readonly lazyWriteMs?: number;
  readonly readConnectionsMax?: number;
  /** How long a commit without an answer is asked after before it is told as an unavailable ledger. */
  readonly doubtMsMax?: number;
  /** Calls that wait keep the tag that they come with, in place of one from this ledger: for copies of another ledger. */
  readonly keepTags?: boolean;
  /** How often it is tried whether wake-ups come through. */
  readonly probeWakesEveryMs?: number;
}

/** Units per transaction: more would make the first of them wait for the last without saving a measurable part of the fsync. */
const batchUnitsMax = 256;
const waitingUnitsMax = 50_000;
const readConnections = 6;
const doubtMs = 5_000;
const probeWakesMs = 15_000;
const probeWakesMsMax = 5_000;

/** Everything that works on one database. @param writer has its lane already: what is said about its anchor is said by who may write it */
function assemble(writer: Writer, hmac: Hmac, heads: readonly AuditHead[], options: PostgresLedgerOptions) {
  const { url, lane, now } = options;
  const onError = options.onError ?? (() => undefined);
  const pool = new ReadPool(url, `signalbox ${lane}`.slice(0, 60), options.readConnectionsMax ?? readConnections);
  const known = new Map(heads.map((head) => [JSON.stringify([head.tenant, head.lane]), head]));
  const isNewcomer = !heads.some((head) => head.lane === lane);
  const anchor = new Anchor({ path: options.anchorPath, hmac, heads: () => [...known.values()], isNewcomer, onError });
  const audit = new AuditLane({ hmac, lane, anchored: (tenant) => anchor.head(tenant, lane), onError });
  writer.onConnected = () => audit.forget();
  const writing = { inlineResultBytesMax: options.inlineResultBytesMax ?? limits.inlineResultBytesMax, keepTags: options.keepTags ?? false };
  const units = unitWriter(writing);
  const batches = new BatchWriter({
    writer,
    units,
    lane: audit,
    together: applyTogether(units, writing),
    onHeads(moved) {
      for (const head of moved) known.set(JSON.stringify([head.tenant, head.lane]), head);
      if (moved.length > 0) anchor.touch();
    },
    doubtMsMax: options.doubtMsMax ?? doubtMs,
    sleep: (ms) => sleep(ms),
    now,
  });
  const commits = new GroupCommit<Queued>({
    write: (items) => batches.write(items),
    ...(options.onCommit === undefined ? {} : { onCommit: options.onCommit }),
    onLazyFailure: onError,
    batchUnitsMax,
    waitingUnitsMax,
    lazyWriteMs: options.lazyWriteMs ?? limits.lazyWriteMs,
  });
  return { pool, anchor, writer, commits, ...readsOf(pool), verifyAudit: auditVerifier((work) => pool.snapshot(work), options.anchorPath, hmac) };
}

function readsOf(pool: ReadPool) {
  return {
    calls: callReads(pool),
    listCalls: callLister(pool),
    trail: trailReads(pool),
    tenancy: tenancyReads(pool),
    registry: registryReads(pool),
    policies: policyReads(pool),
    counts: callCounts(pool),
    approvals: approvalReads(pool),
    streams: streamReads(pool),
    workspaces: workspaceReads(pool),
    sessions: { ...agentReads(pool), ...sessionReads(pool) } satisfies StoredSessions,
    retention: retention(pool),
    limits: limitReads(pool),
    usage: usageReads(pool),
    webhooks: webhookReads(pool),
    listAudit: auditLister(pool),
    fleet: fleetOf(pool),
    claim: claimer(pool),
    claims: otherClaims(pool),
  };
}

function wakeLine({ url, lane, onError, probeWakesEveryMs }: PostgresLedgerOptions): WakeLine {
  const probeEveryMs = probeWakesEveryMs ?? probeWakesMs;
  const probeMsMax = Math.min(probeWakesMsMax, probeEveryMs);
  return new WakeLine({ url, name: `signalbox wakes ${lane}`.slice(0, 60), onError: onError ?? (() => undefined), probeEveryMs, probeMsMax });
}

export class PostgresLedger extends SessionLedger implements SharedLedger {
  readonly #parts: ReturnType<typeof assemble>;
  readonly #wakes: WakeLine;
  #closing: Promise<void> | undefined;

  private constructor(parts: ReturnType<typeof assemble>, wakes: WakeLine) {
    super();
    this.#parts = parts;
    this.#wakes = wakes;
  }

  /** @throws LedgerUnavailable when the server cannot be reached, the schema is a newer one, or the lane is another process's */
  static async open(options: PostgresLedgerOptions): Promise<PostgresLedger> {
    const hmac = hmacWith(options.auditKey);
    const { url, lane, now } = options;
    const heads = await openStore(url, hmac, now());
    const writer = new Writer({ url, lane, now, writer: randomBytes(12).toString("hex") });
    try {
      await writer.ready();
      return new PostgresLedger(assemble(writer, hmac, heads, options), wakeLine(options));
    } catch (error) {
      await writer.close();
      throw asLedgerError(error);
    }
  }

  /** What was committed since the start. */
  stats(): CommitStats {
    return this.#parts.commits.stats();
  }

  /** Writes a new audit anchor over the present records; for an operator who has looked into a missing or edited one. */
  renewAnchor(): void {
    this.#parts.anchor.renew();
  }

  commit(unit: Unit): Promise<CommitOutcome> {
    let planned: Queued["planned"];
    try {
      planned = planUnit(unit);
    } catch (error) {
      return Promise.reject(asLedgerError(error));
    }
    // Not an async function: its promise would be another one than the one that a lazy unit's failure is taken from.
    return this.#parts.commits.commit({ planned, unit }, unit.lazy === true);
  }

  async flush(): Promise<void> {
    await this.#parts.commits.flush();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#parts.commits.close();
    await this.#wakes.close();
    await this.#parts.anchor.close();
    await this.#parts.writer.close();
    await this.#parts.pool.close();
  }

  /** Runs what reads; a failing store and a closed one look the same to the caller. */
  async #read<T>(read: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new LedgerUnavailable("The ledger is closed.");
    try {
      return await read();
    } catch (error) {
      throw asLedgerError(error);
    }
  }

  protected override ask<T>(look: (stored: StoredSessions) => T | Promise<T>): Promise<T> {
    return this.#read(async () => look(this.#parts.sessions));
  }

  /** Through the connection that writes: a server that has become read-only does not pass. */
  probe() {
    return this.#read(async () => {
      await this.#parts.writer.ready();
      const at = String(Date.now());
      const sql = "INSERT INTO meta (name, value) VALUES ('probed_at', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING value";
      const [row] = await this.#parts.pool.rows<{ value: string }>(sql, [at]);
      if (row?.value !== at) throw new LedgerUnavailable("The ledger does not give back what was written.");
    });
  }

  getCall(tenant: string, callId: string) {
    return this.#read(() => this.#parts.calls.getCall(tenant, callId));
  }

  getCallByKey(tenant: string, project: string, idempotencyKey: string) {
    return this.#read(() => this.#parts.calls.getCallByKey(tenant, project, idempotencyKey));
  }

  cachedResult(tenant: string, cacheKey: string, settledFrom: number) {
    return this.#read(() => this.#parts.calls.cachedResult(tenant, cacheKey, settledFrom));
  }

  listCalls(filter: CallFilter, limit: number, cursor?: string) {
    return this.#read(async () => this.#parts.listCalls(filter, atMost(limit), cursor));
  }

  async *openCalls(): AsyncIterable<Call> {
    for (const { tenant, callId } of await this.#read(() => this.#parts.calls.openCallKeys())) {
      const call = await this.getCall(tenant, callId);
      // It may have been settled since.
      if (call !== undefined && !isTerminal(call.state)) yield call;
    }
  }

  attempts(tenant: string, callId: string) {
    return this.#read(() => this.#parts.trail.attempts(tenant, callId));
  }

  lateResults(tenant: string, callId: string) {
    return this.#read(() => this.#parts.trail.lateResults(tenant, callId));
  }

  events(tenant: string, callId: string, afterSeq: number, limit: number) {
    return this.#read(async () => this.#parts.trail.events(tenant, callId, afterSeq, atMost(limit)));
  }

  outbox(afterId: number, limit: number) {
    return this.#read(async () => this.#parts.trail.outbox(afterId, atMost(limit)));
  }

  countOpen(tenant: string) {
    return this.#read(() => this.#parts.calls.countOpen(tenant));
  }

  tenants() {
    return this.#read(() => this.#parts.tenancy.tenants());
  }

  tenant(tenant: string) {
    return this.#read(() => this.#parts.tenancy.tenant(tenant));
  }

  projects(tenant: string) {
    return this.#read(() => this.#parts.tenancy.projects(tenant));
  }

  keyByHash(hash: string) {
    return this.#read(() => this.#parts.tenancy.keyByHash(hash));
  }

  keys(tenant: string) {
    return this.#read(() => this.#parts.tenancy.keys(tenant));
  }

  grants(tenant: string) {
    return this.#read(() => this.#parts.tenancy.grants(tenant));
  }

  tool(tenant: string, tool: string) {
    return this.#read(() => this.#parts.registry.tool(tenant, tool));
  }

  toolVersion(tenant: string, tool: string, version: string) {
    return this.#read(() => this.#parts.registry.toolVersion(tenant, tool, version));
  }

  toolVersions(tenant: string, tool: string) {
    return this.#read(() => this.#parts.registry.toolVersions(tenant, tool));
  }

  listTools(tenant: string, limit: number, cursor?: string, query?: ToolQuery) {
    return this.#read(async () => this.#parts.registry.listTools(tenant, atMost(limit), cursor, query));
  }

  activations(tenant: string, tool: string, limit: number) {
    return this.#read(async () => this.#parts.registry.activations(tenant, tool, atMost(limit)));
  }

  toolPins(tenant: string) {
    return this.#read(() => this.#parts.registry.toolPins(tenant));
  }

  projectTools(tenant: string) {
    return this.#read(() => this.#parts.registry.projectTools(tenant));
  }

  freezes() {
    return this.#read(() => this.#parts.registry.freezes());
  }

  policies() {
    return this.#read(() => this.#parts.policies.policies());
  }

  policy(tenant: string, name: string, version: string) {
    return this.#read(() => this.#parts.policies.policy(tenant, name, version));
  }

  listPolicies(filter: PolicyFilter, limit: number, cursor?: string) {
    return this.#read(async () => this.#parts.policies.listPolicies(filter, atMost(limit), cursor));
  }

  policyDefaults() {
    return this.#read(() => this.#parts.policies.policyDefaults());
  }

  countCalls(of: CallCount) {
    return this.#read(() => this.#parts.counts.countCalls(of));
  }

  approval(tenant: string, approvalId: string) {
    return this.#read(() => this.#parts.approvals.approval(tenant, approvalId));
  }

  listApprovals(filter: ApprovalFilter, limit: number, cursor?: string) {
    return this.#read(async () => this.#parts.approvals.listApprovals(filter, atMost(limit), cursor));
  }

  dueApprovals(until: number, limit: number) {
    return this.#read(async () => this.#parts.approvals.dueApprovals(until, atMost(limit)));
  }

  nextApprovalAt() {
    return this.#read(() => this.#parts.approvals.nextApprovalAt());
  }

  streamChunks(tenant: string, callId: string, afterSeq: number, limit: number) {
    return this.#read(() => this.#parts.streams.streamChunks(tenant, callId, afterSeq, limit));
  }

  lastStreamSeq(tenant: string, callId: string) {
    return this.#read(() => this.#parts.streams.lastStreamSeq(tenant, callId));
  }

  limits(tenant?: string) {
    return this.#read(() => this.#parts.limits.limits(tenant));
  }

  usage(query: UsageQuery, limit: number, cursor?: string) {
    return this.#read(async () => this.#parts.usage.usage(query, atMost(limit), cursor));
  }

  workspaceFile(place: WorkspacePlace) {
    return this.#read(() => this.#parts.workspaces.workspaceFile(place));
  }

  workspaceFiles(query: WorkspaceQuery, limit: number) {
    return this.#read(() => this.#parts.workspaces.workspaceFiles(query, limit));
  }

  webhooks(tenant: string) {
    return this.#read(() => this.#parts.webhooks.webhooks(tenant));
  }

  dueDeliveries(until: number, limit: number) {
    return this.#read(async () => this.#parts.webhooks.dueDeliveries(until, atMost(limit)));
  }

  nextDeliveryAt() {
    return this.#read(() => this.#parts.webhooks.nextDeliveryAt());
  }

  listDeliveries(
    tenant: string,
    filter: { readonly webhookId?: string; readonly state?: DeliveryState },
    limit: number,
    cursor?: string,
  ) {
    return this.#read(async () => this.#parts.webhooks.listDeliveries(tenant, filter, atMost(limit), cursor));
  }

  trim(tenant: string, before: number, limit: number) {
    return this.#read(async () => this.#parts.retention.trim(tenant, before, atMost(limit)));
  }

  wantedContent(tenant: string) {
    return this.#read(() => this.#parts.retention.wantedContent(tenant));
  }

  listAudit(filter: AuditFilter, limit: number, cursor?: string) {
    return this.#read(async () => this.#parts.listAudit(filter, atMost(limit), cursor));
  }

  verifyAudit(tenant?: string) {
    return this.#read(() => this.#parts.verifyAudit(tenant));
  }

  beat(beat: Beat) {
    return this.#read(() => this.#parts.fleet.beat(beat));
  }

  leave(replica: string) {
    return this.#read(() => this.#parts.fleet.leave(replica));
  }

  hold(role: string, replica: string, ms: number) {
    return this.#read(() => this.#parts.fleet.hold(role, replica, ms));
  }

  claim(query: ClaimQuery) {
    return this.#read(() => this.#parts.claim(query));
  }

  claimOne(tenant: string, callId: string, replica: string) {
    return this.#read(() => this.#parts.claims.claimOne(tenant, callId, replica));
  }

  claimDue(query: Parameters<SharedLedger["claimDue"]>[0]) {
    return this.#read(async () => this.#parts.claims.claimDue({ ...query, limit: atMost(query.limit) }));
  }

  claimHeld(query: Parameters<SharedLedger["claimHeld"]>[0]) {
    return this.#read(() => this.#parts.claims.claimHeld(query));
  }

  release(replica: string, calls: Parameters<SharedLedger["release"]>[1]) {
    return this.#read(() => this.#parts.claims.release(replica, calls));
  }

  statesOf(calls: Parameters<SharedLedger["statesOf"]>[0]) {
    return this.#read(() => this.#parts.claims.statesOf(calls));
  }

  queuedWith(replica: string) {
    return this.#read(() => this.#parts.claims.queuedWith(replica));
  }

  wake(wakes: readonly Wake[]): void {
    this.#wakes.wake(wakes);
  }

  onWake(hear: (heard: Heard) => void): void {
    this.#wakes.onWake(hear);
  }
}
