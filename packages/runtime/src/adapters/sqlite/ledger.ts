// The embedded ledger: the ledger port on one SQLite file that this process has to itself.
import type { DatabaseSync } from "node:sqlite";
import { limits } from "@signalbox/protocol";
import { isTerminal, type Call } from "../../call/types.ts";
import type { AuditFilter } from "../../ledger/audit.ts";
import { headMac, type AuditHead, type Hmac } from "../../ledger/audit-chain.ts";
import {
  LedgerUnavailable,
  type ApprovalFilter,
  type CallCount,
  type CallFilter,
  type CommitOutcome,
  type Ledger,
  type PolicyFilter,
  type Unit,
} from "../../ledger/port.ts";
import { atMost, SessionLedger, type StoredSessions } from "../../ledger/session-reads.ts";
import type { DeliveryState } from "../../ledger/webhooks.ts";
import type { WorkspacePlace, WorkspaceQuery } from "../../ledger/workspace.ts";
import type { ToolQuery } from "../../registry/types.ts";
import type { UsageQuery } from "../../schedule/types.ts";
import { agentReads } from "./agent-store.ts";
import { approvalReads } from "./approval-reads.ts";
import { Anchor, anchorPathOf, readAnchor } from "./anchor.ts";
import { hmacWith } from "./audit-key.ts";
import { auditLister } from "./audit-list.ts";
import { auditVerifier } from "./audit-reads.ts";
import { auditStore } from "./audit-store.ts";
import { callCounts } from "./call-counts.ts";
import { callLister } from "./call-list.ts";
import { GroupCommit, type CommitStats } from "./group-commit.ts";
import { limitReads } from "./limit-store.ts";
import { openDatabase, type OpenDatabase } from "./open.ts";
import { policyReads } from "./policy-reads.ts";
import { callReads, statementCache, tenancyReads } from "./reads.ts";
import { trimmer, wantedContent } from "./retention.ts";
import { registryReads } from "./registry-reads.ts";
import { sessionLeases, sessionReads } from "./session-store.ts";
import { trailReads } from "./trail-reads.ts";
import { asLedgerError } from "./store-errors.ts";
import { streamReads } from "./stream-store.ts";
import { usageAdder, usageReads } from "./usage-store.ts";
import { webhookReads } from "./webhook-reads.ts";
import { groupWriter } from "./write-group.ts";
import { planUnit, type PlannedUnit } from "./unit-plan.ts";
import { workspaceReads } from "./workspace-store.ts";
import { unitWriter } from "./writers.ts";

export interface SqliteLedgerOptions {
  /** The database file; its folder is made when it is missing, and also holds the lock and the audit anchor. */
  readonly path: string;
  /** Keys the audit chain; at least 32 bytes, kept outside the folder. */
  readonly auditKey: Buffer;
  /** The audit lane of this process; a name that only one process uses at a time. */
  readonly lane: string;
  /** Wall clock, ms since 1970. */
  readonly now: () => number;
  /** Hears of trouble that no caller waits for. */
  readonly onError?: (error: Error) => void;
  readonly onCommit?: (commit: { readonly units: number; readonly ms: number }) => void;
  /** The database refuses to grow past this, as if the disk were full; unset, only the disk sets a bound. */
  readonly databaseBytesMax?: number;
  readonly inlineResultBytesMax?: number;
  readonly lazyWriteMs?: number;
}

/** Units per transaction: more would make the first of them wait for the last without saving a measurable part of the fsync. */
const groupUnitsMax = 256;
const waitingUnitsMax = 50_000;

function prober(db: DatabaseSync, now: () => number) {
  const write = db.prepare(
    "INSERT INTO meta (name, value) VALUES ('probed_at', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  );
  const read = db.prepare("SELECT value FROM meta WHERE name = 'probed_at'");
  return (): void => {
    const at = String(now());
    write.run(at);
    if (read.get()?.["value"] !== at) throw new LedgerUnavailable("The ledger does not give back what was written.");
  };
}

/**
 * A key that fits neither a head nor the anchor is another key: records made with it could never be proven together with
 * the old ones. A head that does not fit while the anchor does is tampering, which `verifyAudit` tells, and keeps nobody
 * from starting.
 * @throws LedgerUnavailable
 */
function checkKeyFits(db: DatabaseSync, hmac: Hmac, path: string): void {
  const heads = db.prepare("SELECT tenant, lane, seq, hash, mac FROM audit_heads").all() as unknown as (AuditHead & {
    readonly mac: string;
  })[];
  if (heads.length === 0 || heads.some((head) => headMac(hmac, head) === head.mac)) return;
  if (readAnchor(anchorPathOf(path), hmac).kind !== "edited") return;
  throw new LedgerUnavailable(
    "The audit key is not the one that this ledger's audit was made with.",
    { next: "restore the right audit.key from your backup" },
  );
}

/** Everything that works on one open database. */
function assemble(db: DatabaseSync, hmac: Hmac, options: SqliteLedgerOptions) {
  const { lane, path, now } = options;
  const onError = options.onError ?? (() => undefined);
  const anchorPath = anchorPathOf(path);
  const headRows = db.prepare("SELECT tenant, lane, seq, hash FROM audit_heads");
  const heads = (): readonly AuditHead[] => headRows.all() as unknown as AuditHead[];
  const anchor = new Anchor({ path: anchorPath, hmac, heads, onError });
  const audit = auditStore({
    db,
    hmac,
    lane,
    anchored: (tenant) => anchor.head(tenant, lane),
    moved: () => anchor.touch(),
    onError,
  });
  const usage = usageAdder(db);
  const units = unitWriter(db, audit, usage, options.inlineResultBytesMax ?? limits.inlineResultBytesMax);
  const commits = new GroupCommit<PlannedUnit>({
    write: groupWriter(db, units, audit, usage),
    ...(options.onCommit === undefined ? {} : { onCommit: options.onCommit }),
    onLazyFailure: onError,
    groupUnitsMax,
    waitingUnitsMax,
    lazyWriteMs: options.lazyWriteMs ?? limits.lazyWriteMs,
  });
  const prepared = statementCache(db);
  return {
    anchor,
    commits,
    probe: prober(db, now),
    calls: callReads(prepared),
    listCalls: callLister(prepared),
    trail: trailReads(prepared),
    tenancy: tenancyReads(prepared),
    registry: registryReads(prepared),
    policies: policyReads(prepared),
    counts: callCounts(prepared),
    approvals: approvalReads(prepared),
    streams: streamReads(prepared),
    workspaces: workspaceReads(prepared),
    sessions: { ...agentReads(prepared), ...sessionReads(prepared), ...sessionLeases(db) } satisfies StoredSessions,
    trim: trimmer(db, prepared),
    wantedContent: (tenant: string) => wantedContent(prepared, tenant),
    limits: limitReads(prepared),
    usage: usageReads(prepared),
    webhooks: webhookReads(prepared),
    listAudit: auditLister(prepared),
    verifyAudit: auditVerifier(db, anchorPath, hmac),
  };
}

export class SqliteLedger extends SessionLedger implements Ledger {
  readonly #database: OpenDatabase;
  readonly #parts: ReturnType<typeof assemble>;
  #closing: Promise<void> | undefined;

  /** @throws LedgerUnavailable when the folder is in use, cannot be written, or holds a newer schema */
  constructor(options: SqliteLedgerOptions) {
    super();
    const hmac = hmacWith(options.auditKey);
    this.#database = openDatabase(options.path, options.now(), options.databaseBytesMax);
    try {
      checkKeyFits(this.#database.db, hmac, options.path);
      this.#parts = assemble(this.#database.db, hmac, options);
    } catch (error) {
      this.#database.close();
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
    let planned: PlannedUnit;
    try {
      planned = planUnit(unit);
    } catch (error) {
      return Promise.reject(asLedgerError(error));
    }
    // Not an async function: its promise would be another one than the one that a lazy unit's failure is taken from.
    return this.#parts.commits.commit(planned);
  }

  async flush(): Promise<void> {
    this.#parts.commits.flush();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#parts.commits.close();
    await this.#parts.anchor.close();
    this.#database.close();
  }

  /** Runs what reads; a failing store and a closed one look the same to the caller. */
  async #read<T>(read: () => T | Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new LedgerUnavailable("The ledger is closed.");
    try {
      return await read();
    } catch (error) {
      throw asLedgerError(error);
    }
  }

  protected override ask<T>(look: (stored: StoredSessions) => T | Promise<T>): Promise<T> {
    return this.#read(() => look(this.#parts.sessions));
  }

  probe() {
    return this.#read(() => this.#parts.probe());
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
    return this.#read(() => this.#parts.listCalls(filter, atMost(limit), cursor));
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
    return this.#read(() => this.#parts.trail.events(tenant, callId, afterSeq, atMost(limit)));
  }

  outbox(afterId: number, limit: number) {
    return this.#read(() => this.#parts.trail.outbox(afterId, atMost(limit)));
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
    return this.#read(() => this.#parts.registry.listTools(tenant, atMost(limit), cursor, query));
  }

  activations(tenant: string, tool: string, limit: number) {
    return this.#read(() => this.#parts.registry.activations(tenant, tool, atMost(limit)));
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
    return this.#read(() => this.#parts.policies.listPolicies(filter, atMost(limit), cursor));
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
    return this.#read(() => this.#parts.approvals.listApprovals(filter, atMost(limit), cursor));
  }

  dueApprovals(until: number, limit: number) {
    return this.#read(() => this.#parts.approvals.dueApprovals(until, atMost(limit)));
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
    return this.#read(() => this.#parts.usage.usage(query, atMost(limit), cursor));
  }

  workspaceFile(place: WorkspacePlace) {
    return this.#read(() => this.#parts.workspaces.workspaceFile(place));
  }

  workspaceFiles(query: WorkspaceQuery, limit: number) {
    return this.#read(() => this.#parts.workspaces.workspaceFiles(query, atMost(limit)));
  }

  webhooks(tenant: string) {
    return this.#read(() => this.#parts.webhooks.webhooks(tenant));
  }

  dueDeliveries(until: number, limit: number) {
    return this.#read(() => this.#parts.webhooks.dueDeliveries(until, atMost(limit)));
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
    return this.#read(() => this.#parts.webhooks.listDeliveries(tenant, filter, atMost(limit), cursor));
  }

  trim(tenant: string, before: number, limit: number) {
    return this.#read(() => this.#parts.trim(tenant, before, atMost(limit)));
  }

  wantedContent(tenant: string) {
    return this.#read(() => this.#parts.wantedContent(tenant));
  }

  listAudit(filter: AuditFilter, limit: number, cursor?: string) {
    return this.#read(() => this.#parts.listAudit(filter, atMost(limit), cursor));
  }

  verifyAudit(tenant?: string) {
    return this.#read(() => this.#parts.verifyAudit(tenant));
  }
}
