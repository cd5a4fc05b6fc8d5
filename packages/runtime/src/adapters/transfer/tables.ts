// Which tables are carried from one ledger to another, in the order in which they are written.

/** A value as both kinds of ledger keep it. */
export type Value = string | number | null | Uint8Array;

export type LedgerKind = "sqlite" | "postgres";

/** Every table by the columns that order it: so the same rows make the same lines, whichever ledger they lie in. */
export const carriedTables = {
  tenants: ["tenant"],
  projects: ["tenant", "project"],
  keys: ["tenant", "key_id"],
  grants: ["tenant", "grant_id"],
  limits: ["tenant", "set_by", "scope", "subject"],
  tools: ["tenant", "tool"],
  tool_versions: ["tenant", "tool", "version"],
  activations: ["id"],
  tool_pins: ["tenant", "tool"],
  project_tools: ["tenant", "project", "tool"],
  freezes: ["tenant", "tool"],
  policies: ["tenant", "name", "version"],
  policy_defaults: ["tenant", "project"],
  webhooks: ["tenant", "webhook_id"],
  notices: ["id"],
  deliveries: ["tenant", "delivery_id"],
  agents: ["tenant", "agent"],
  agent_versions: ["tenant", "agent", "version"],
  agent_changes: ["id"],
  workspace_files: ["tenant", "project", "path"],
  usage: ["tenant", "day", "project", "tool"],
  calls: ["tenant", "call_id"],
  blobs: ["tenant", "hash"],
  attempts: ["tenant", "call_id", "fence"],
  // Behind the calls: a ledger may note in a call's row where its events are.
  events: ["id"],
  late_results: ["tenant", "call_id", "fence"],
  stream_chunks: ["tenant", "call_id", "seq_from"],
  approvals: ["tenant", "approval_id"],
  votes: ["tenant", "approval_id", "voter", "round", "late", "decision"],
  sessions: ["tenant", "session_id"],
  session_history: ["tenant", "session_id", "place"],
  session_inbox: ["tenant", "session_id", "seq"],
  session_events: ["tenant", "session_id", "seq"],
  session_journal: ["tenant", "session_id", "effect_key"],
  host_events: ["tenant", "call_id", "ordinal", "type"],
  audit: ["tenant", "lane", "seq"],
  audit_heads: ["tenant", "lane"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type CarriedTable = keyof typeof carriedTables;

export const carriedNames = Object.keys(carriedTables) as readonly CarriedTable[];

/** What one kind of ledger keeps for itself: it is not carried, and made anew from what is. */
export interface OwnParts {
  readonly tables: readonly string[];
  readonly columns: Readonly<Partial<Record<CarriedTable, readonly string[]>>>;
}

/** The ledger works, and cannot be carried from or to as it is; says why. */
export class UnfitLedger extends Error {
  override readonly name = "UnfitLedger";
}

/** What is carried is written and read by one version: its own. @throws UnfitLedger */
export function checkSchema(stored: number, newest: number): void {
  if (stored === newest) return;
  const next = stored < newest ? "Bring it up with 'signalbox ledger migrate'." : "Use the version that wrote it, or a newer one.";
  throw new UnfitLedger(`The ledger has schema ${stored}, and this Signalbox exports schema ${newest}. ${next}`);
}

/** A ledger that is read from beginning to end, as it was at one instant. */
export interface LedgerDump {
  readonly kind: LedgerKind;
  readonly schemaVersion: number;
  /** The text of the file that guards the audit's heads; null where such a file belongs and is missing; undefined where none belongs. */
  readonly anchor: string | null | undefined;
  /** Replicas that live, and go on writing. */
  readonly living: number;
  columns(table: CarriedTable): Promise<readonly string[]>;
  count(table: CarriedTable): Promise<number>;
  /** In the order of the table; some rows at a time. */
  rows(table: CarriedTable, columns: readonly string[]): AsyncIterable<readonly (readonly Value[])[]>;
  close(): Promise<void>;
}

/** An empty ledger that is filled, wholly or not at all. */
export interface LedgerRestore {
  readonly kind: LedgerKind;
  /** Columns that it takes; the ones that it cannot do without are `needed`. */
  columns(table: CarriedTable): Promise<{ readonly all: readonly string[]; readonly needed: readonly string[] }>;
  write(table: CarriedTable, columns: readonly string[], rows: readonly (readonly Value[])[]): Promise<void>;
  /** Makes what is its own, and keeps all of it for good. */
  keep(): Promise<void>;
  /** Lets go of it; does nothing after {@link keep}. */
  close(): Promise<void>;
}

export const batchRowsMax = 500;
/** Rows are as long as what people send: what is held at once is bounded by this and one row. */
export const batchCharsMax = 1024 * 1024;

function charsOf(row: readonly Value[]): number {
  let chars = 0;
  for (const value of row) if (value !== null && typeof value !== "number") chars += value.length;
  return chars;
}

/** Gathers rows into lists that are not too long. */
export function* inBatches(rows: Iterable<readonly Value[]>): Generator<readonly (readonly Value[])[]> {
  let batch: (readonly Value[])[] = [];
  let chars = 0;
  for (const row of rows) {
    batch.push(row);
    chars += charsOf(row);
    if (batch.length < batchRowsMax && chars < batchCharsMax) continue;
    yield batch;
    batch = [];
    chars = 0;
  }
  if (batch.length > 0) yield batch;
}
