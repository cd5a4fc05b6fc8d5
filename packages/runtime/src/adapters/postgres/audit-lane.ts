// Appends audit records to this replica's lane: gives each its seq and hash, and moves the heads in the same transaction.
import type { AuditDraft } from "../../ledger/audit.ts";
import {
  auditFields,
  auditValues,
  canonicalText,
  firstPrevHash,
  headMac,
  linkHash,
  type AuditHead,
  type Hmac,
} from "../../ledger/audit-chain.ts";
import { auditColumnNames } from "../sqlite/audit-rows.ts";
import type { Db } from "./db.ts";
import { insertRecordsSql, recordsSql, type RecordColumn } from "./records.ts";

export interface AuditLaneOptions {
  readonly hmac: Hmac;
  /** The name of this replica's lane in every tenant's chain. */
  readonly lane: string;
  /** The lane's last record as the anchor knows it. */
  readonly anchored: (tenant: string) => AuditHead | undefined;
  readonly onError: (error: Error) => void;
}

interface ChainEnd {
  readonly seq: number;
  readonly hash: string;
}

/** Ends of chains that a transaction moved, by tenant. */
export type Moves = ReadonlyMap<string, ChainEnd>;

const columns: readonly RecordColumn[] = auditColumnNames.map((name, at) => {
  const kind = auditFields[at]?.[1];
  if (kind !== "number") return { name, type: "text" };
  return { name, type: name === "duration_ms" ? "double precision" : "bigint" };
});

const insertSql = insertRecordsSql("audit", columns);

const headColumns: readonly RecordColumn[] = [
  { name: "tenant", type: "text" },
  { name: "lane", type: "text" },
  { name: "seq", type: "bigint" },
  { name: "hash", type: "text" },
  { name: "mac", type: "text" },
];
const headsSql = insertRecordsSql(
  "audit_heads",
  headColumns,
  "ON CONFLICT (tenant, lane) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, mac = excluded.mac",
);

const endsSql = `SELECT r.tenant, a.seq AS last_seq, a.hash AS last_hash, h.seq AS head_seq, h.hash AS head_hash, h.mac AS head_mac
  FROM ${recordsSql([{ name: "tenant", type: "text" }])}
  LEFT JOIN LATERAL (SELECT seq, hash FROM audit WHERE tenant = r.tenant AND lane = ? ORDER BY seq DESC LIMIT 1) AS a ON TRUE
  LEFT JOIN audit_heads AS h ON h.tenant = r.tenant AND h.lane = ?`;

interface StoredEnds {
  readonly tenant: string;
  readonly last_seq: number | null;
  readonly last_hash: string | null;
  readonly head_seq: number | null;
  readonly head_hash: string | null;
  readonly head_mac: string | null;
}

export class AuditLane {
  readonly #options: AuditLaneOptions;
  readonly #ends = new Map<string, ChainEnd>();

  constructor(options: AuditLaneOptions) {
    this.#options = options;
  }

  /** What was known of the ends may be wrong by now; they are read again. */
  forget(): void {
    this.#ends.clear();
  }

  /** Writes the records, in this order. @returns the ends, for {@link keep} once the transaction is committed */
  async append(tx: Db, drafts: readonly AuditDraft[], moved: Moves): Promise<Moves> {
    const { hmac, lane } = this.#options;
    const ends = new Map(moved);
    await this.#load(tx, drafts, ends);
    const records: Record<string, unknown>[] = [];
    for (const draft of drafts) {
      const before = ends.get(draft.tenant) ?? { seq: 0, hash: firstPrevHash };
      const seq = before.seq + 1;
      const values = auditValues(draft, lane, seq);
      const hash = linkHash(hmac, before.hash, canonicalText(values));
      values.push(before.hash, hash);
      records.push(Object.fromEntries(columns.map(({ name }, at) => [name, values[at]])));
      ends.set(draft.tenant, { seq, hash });
    }
    const heads = [...new Set(drafts.map(({ tenant }) => tenant))].map((tenant) => {
      const { seq, hash } = ends.get(tenant) ?? { seq: 0, hash: firstPrevHash };
      return { tenant, lane, seq, hash, mac: headMac(hmac, { tenant, lane, seq, hash }) };
    });
    await Promise.all([tx.run(insertSql, [JSON.stringify(records)]), tx.run(headsSql, [JSON.stringify(heads)])]);
    return ends;
  }

  keep(moved: Moves): readonly AuditHead[] {
    const { lane } = this.#options;
    for (const [tenant, end] of moved) this.#ends.set(tenant, end);
    return [...moved].map(([tenant, end]) => ({ tenant, lane, ...end }));
  }

  /**
   * Where a chain goes on: behind the furthest of its last record, its head and its anchor. After tampering this leaves the hole in the
   * chain for good, where going on from the last record would close it.
   */
  async #load(tx: Db, drafts: readonly AuditDraft[], ends: Map<string, ChainEnd>): Promise<void> {
    const unknown = new Set<string>();
    for (const { tenant } of drafts) {
      const known = ends.get(tenant) ?? this.#ends.get(tenant);
      if (known === undefined) unknown.add(tenant);
      else ends.set(tenant, known);
    }
    if (unknown.size === 0) return;
    const { lane } = this.#options;
    const asked = JSON.stringify([...unknown].map((tenant) => ({ tenant })));
    for (const stored of await tx.rows<StoredEnds>(endsSql, [asked, lane, lane])) ends.set(stored.tenant, this.#endOf(stored));
  }

  #endOf(stored: StoredEnds): ChainEnd {
    const { hmac, lane, anchored, onError } = this.#options;
    const { tenant } = stored;
    const last = { seq: stored.last_seq ?? 0, hash: stored.last_hash ?? firstPrevHash };
    const head = { tenant, lane, seq: stored.head_seq ?? 0, hash: stored.head_hash ?? firstPrevHash };
    const headHolds = stored.head_mac !== null && headMac(hmac, head) === stored.head_mac;
    const candidates = [last, headHolds ? head : undefined, anchored(tenant)];
    let end: ChainEnd = { seq: 0, hash: firstPrevHash };
    for (const candidate of candidates) {
      if (candidate !== undefined && candidate.seq > end.seq) end = { seq: candidate.seq, hash: candidate.hash };
    }
    if (end.seq !== last.seq || end.seq !== (headHolds ? head.seq : 0)) {
      onError(new Error(`The audit of tenant ${tenant}, lane ${lane}, was changed outside of Signalbox. Verify the audit.`));
    }
    return end;
  }
}
