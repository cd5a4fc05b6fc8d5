// The ledger's port: what every store of calls, attempts, events and audit must do; one conformance suite runs against each adapter.
import type { Attempt, Call, CallEvent, CallState, LateResult } from "../call/types.ts";
import type { Grant, Key, Project, Tenant } from "../tenancy/types.ts";
import type { ToolRecord, ToolVersion } from "../registry/types.ts";
import type { AuditDraft, AuditFilter, AuditRecord, AuditVerdict } from "./audit.ts";

/** Writes whose condition decides whether their unit happens at all; they stand first in a unit. */
export type GuardedWrite =
  /** Refused when (tenant, callId) or (tenant, project, idempotencyKey) exists. */
  | { readonly op: "insert_call"; readonly row: Call }
  /**
   * Refused unless the stored row still has this state and fence; a settled row is never expected. Afterwards the row's
   * CallProgress is stored, whole. `before`: the row as this writer handed it over last, renewals of its lease aside;
   * a ledger may then write only what differs from it.
   */
  | {
      readonly op: "update_call";
      readonly expect: { readonly state: CallState; readonly fence: number };
      readonly before?: Call;
      readonly row: Call;
    }
  | { readonly op: "insert_tenant"; readonly row: Tenant }
  | { readonly op: "insert_project"; readonly row: Project }
  | { readonly op: "insert_key"; readonly row: Key }
  /** Refused when the key is unknown in the tenant; revoking twice keeps the first instant. */
  | { readonly op: "revoke_key"; readonly tenant: string; readonly keyId: string; readonly at: number }
  | { readonly op: "insert_grant"; readonly row: Grant }
  | { readonly op: "revoke_grant"; readonly tenant: string; readonly grantId: string; readonly at: number }
  /** Refused when this (tenant, tool, version) exists: versions are immutable. Creates the tool's record when it is the first. */
  | { readonly op: "insert_tool_version"; readonly row: ToolVersion; readonly activate: boolean }
  /** Refused when the version is unknown. */
  | { readonly op: "activate_tool"; readonly tenant: string; readonly tool: string; readonly version: string };

export type PlainWrite =
  /** A lease is recorded once, when it has ended; while it runs, the call's row tells of it. A second end is an error. */
  | { readonly op: "end_attempt"; readonly row: Attempt }
  /**
   * Of a call that is there, numbered from 1 without a gap or a repeat, in a unit as in the ledger: anything else is an
   * error. A row that is written in the same unit counts them in `eventSeq`.
   */
  | { readonly op: "append_event"; readonly event: CallEvent }
  | { readonly op: "append_audit"; readonly draft: AuditDraft }
  | { readonly op: "keep_late_result"; readonly row: LateResult }
  /** Fence-guarded one by one; a lease that moved on is left alone. */
  | {
      readonly op: "renew_leases";
      readonly leases: readonly {
        readonly tenant: string;
        readonly callId: string;
        readonly fence: number;
        readonly leaseExpiresAt: number;
      }[];
    };

export type Write = GuardedWrite | PlainWrite;

/** Writes that happen together or not at all. Guarded writes first. The events that it tells of one call are one row of the outbox. */
export interface Unit {
  readonly writes: readonly Write[];
  /** A lazy unit rides with the next commit, or goes alone after `lazyWriteMs`; nobody waits for it. */
  readonly lazy?: boolean;
}

export type CommitOutcome =
  | { readonly applied: true }
  /** Somebody was first: the guard of this write (index into `writes`) did not hold; nothing of the unit was written. */
  | { readonly applied: false; readonly write: number };

export interface Page<T> {
  readonly items: readonly T[];
  /** Opaque; undefined on the last page. */
  readonly next: string | undefined;
}

export interface CallFilter {
  readonly tenant: string;
  readonly project?: string;
  readonly tool?: string;
  readonly state?: CallState;
  readonly principal?: string;
  readonly admittedFrom?: number;
  readonly admittedTo?: number;
}

export interface OutboxRow {
  readonly id: number;
  readonly tenant: string;
  readonly callId: string;
  readonly seqFrom: number;
  readonly seqTo: number;
}

/** What `commit` rejects with when the store cannot write (full disk, lost connection): nothing of the unit is stored. */
export class LedgerUnavailable extends Error {
  override readonly name = "LedgerUnavailable";
}

export interface Ledger {
  /** Units are applied in the order of these calls. Resolves after the fsync. Rejects with LedgerUnavailable. */
  commit(unit: Unit): Promise<CommitOutcome>;
  /** Writes what is waiting, lazy units included. */
  flush(): Promise<void>;
  close(): Promise<void>;
  /** Cheap write-and-read probe for readiness; rejects with LedgerUnavailable. */
  probe(): Promise<void>;

  getCall(tenant: string, callId: string): Promise<Call | undefined>;
  getCallByKey(tenant: string, project: string, idempotencyKey: string): Promise<Call | undefined>;
  /** Newest first; the cursor is stable under inserts. Rows come without inputJson and outputJson. */
  listCalls(filter: CallFilter, limit: number, cursor?: string): Promise<Page<Call>>;
  /** Every open call, in queue order (startTag, admittedAt), whole; for recovery. */
  openCalls(): AsyncIterable<Call>;
  /** By fence: the ended ones, and the running one as the call's row tells of it. */
  attempts(tenant: string, callId: string): Promise<readonly Attempt[]>;
  lateResults(tenant: string, callId: string): Promise<readonly LateResult[]>;
  events(tenant: string, callId: string, afterSeq: number, limit: number): Promise<readonly CallEvent[]>;
  /** In the order in which the units were written. */
  outbox(afterId: number, limit: number): Promise<readonly OutboxRow[]>;
  /** Open calls of a tenant by state; for limits and metrics. */
  countOpen(tenant: string): Promise<Readonly<Partial<Record<CallState, number>>>>;

  tenants(): Promise<readonly Tenant[]>;
  projects(tenant: string): Promise<readonly Project[]>;
  keyByHash(hash: string): Promise<Key | undefined>;
  keys(tenant: string): Promise<readonly Key[]>;
  grants(tenant: string): Promise<readonly Grant[]>;

  /** The tool's record in this tenant alone; the resolver asks again with `platform`. */
  tool(tenant: string, tool: string): Promise<ToolRecord | undefined>;
  toolVersion(tenant: string, tool: string, version: string): Promise<ToolVersion | undefined>;
  toolVersions(tenant: string, tool: string): Promise<readonly string[]>;
  listTools(tenant: string, limit: number, cursor?: string): Promise<Page<ToolRecord>>;

  /** Newest first. */
  listAudit(filter: AuditFilter, limit: number, cursor?: string): Promise<Page<AuditRecord>>;
  /** Walks every lane of the tenant (or of all tenants) and checks chain, keys and heads. */
  verifyAudit(tenant?: string): Promise<AuditVerdict>;
}
