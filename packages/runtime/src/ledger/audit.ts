// An audit record and its keyed chain, as data; adapters store the rows, this file says what a link is.

import type { AuditDraft } from "../call/audit-draft.ts";

export type { AuditDraft };

export interface AuditRecord extends AuditDraft {
  /** The writer's lane (a replica's name); seq counts inside (tenant, lane), gap-free from 1. */
  readonly lane: string;
  readonly seq: number;
  /** Hex; 64 zeros on the first record of a lane. */
  readonly prevHash: string;
  /** Hex HMAC-SHA-256 over the previous hash and the canonical record. */
  readonly hash: string;
}

export interface AuditFilter {
  readonly tenant: string;
  readonly principal?: string;
  readonly action?: string;
  readonly executionId?: string;
  readonly from?: number;
  readonly to?: number;
}

export interface AuditProblem {
  readonly tenant: string;
  readonly lane: string;
  /** The first seq at which the chain does not hold. */
  readonly seq: number;
  readonly kind:
    | "edited"
    | "missing"
    | "cut_tail"
    | "head_missing"
    | "head_edited"
    | "anchor_ahead"
    /** These two concern the anchor as a whole; tenant and lane are empty, seq is 0. */
    | "anchor_missing"
    | "anchor_edited";
  readonly message: string;
}

export interface AuditVerdict {
  readonly ok: boolean;
  readonly records: number;
  readonly lanes: number;
  readonly problems: readonly AuditProblem[];
}
