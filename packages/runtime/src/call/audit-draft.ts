// What an audit record says before it gets its place in the chain.

/** Everything a record says before it gets its place in the chain. Absent facts are left out, never null. */
export interface AuditDraft {
  readonly ts: number;
  readonly tenant: string;
  readonly project: string;
  readonly principal: string;
  readonly onBehalfOf?: string;
  /** `call.settled`, `call.denied`, `call.attempt_failed`, `call.parked`, `auth.refused`, `key.created`, `grant.revoked` … */
  readonly action: string;
  readonly tool?: string;
  readonly version?: string;
  readonly manifestDigest?: string;
  readonly executionId?: string;
  readonly callId?: string;
  readonly attempt?: number;
  readonly inputHash?: string;
  readonly outputHash?: string;
  readonly status?: string;
  readonly errorCode?: string;
  readonly sandbox?: string;
  readonly worker?: string;
  readonly egress?: readonly string[];
  readonly secretsUsed?: readonly string[];
  readonly policy?: { readonly decision: string; readonly ids: readonly string[] };
  readonly approval?: { readonly by: readonly string[]; readonly at: number };
  readonly cache?: string;
  readonly durationMs?: number;
  readonly resources?: Readonly<Record<string, number>>;
  readonly requestId?: string;
  readonly traceId?: string;
  /** Facts of administrative acts: the id of the key, grant or tool version concerned, scopes, reasons. */
  readonly details?: Readonly<Record<string, unknown>>;
}
