// Appends audit records to this process's lane: gives each its seq and hash, and moves the heads with the transaction.
import type { DatabaseSync } from "node:sqlite";
import type { AuditDraft } from "../../ledger/audit.ts";
import {
  auditValues,
  canonicalText,
  firstPrevHash,
  headMac,
  linkHash,
  type AuditHead,
  type Hmac,
} from "../../ledger/audit-chain.ts";
import { auditColumnNames, auditRowColumns } from "./audit-rows.ts";
import type { HeadKeeper } from "./write-group.ts";
import type { AuditAppender } from "./writers.ts";

export interface AuditStoreOptions {
  readonly db: DatabaseSync;
  readonly hmac: Hmac;
  /** The name of this process's lane in every tenant's chain. */
  readonly lane: string;
  /** The lane's last record as the anchor knows it. */
  readonly anchored: (tenant: string) => AuditHead | undefined;
  /** Called after a transaction that moved a head. */
  readonly moved: () => void;
  readonly onError: (error: Error) => void;
}

export interface AuditStore extends AuditAppender, HeadKeeper {}

interface ChainEnd {
  readonly seq: number;
  readonly hash: string;
}

/**
 * Where a lane goes on: behind the furthest of its last record, its head and its anchor. After tampering this leaves
 * the hole in the chain for good, where going on from the last record would close it.
 */
function chainEndReader({ db, hmac, lane, anchored, onError }: AuditStoreOptions) {
  const lastRecord = db.prepare("SELECT seq, hash FROM audit WHERE tenant = ? AND lane = ? ORDER BY seq DESC LIMIT 1");
  const storedHead = db.prepare("SELECT seq, hash, mac FROM audit_heads WHERE tenant = ? AND lane = ?");
  return (tenant: string): ChainEnd => {
    const last = lastRecord.get(tenant, lane) as ChainEnd | undefined;
    const head = storedHead.get(tenant, lane) as (ChainEnd & { mac: string }) | undefined;
    const headHolds = head !== undefined && headMac(hmac, { ...head, tenant, lane }) === head.mac;
    const candidates = [last, headHolds ? head : undefined, anchored(tenant)];
    let end: ChainEnd = { seq: 0, hash: firstPrevHash };
    for (const candidate of candidates) {
      if (candidate !== undefined && candidate.seq > end.seq) end = { seq: candidate.seq, hash: candidate.hash };
    }
    if (end.seq !== (last?.seq ?? 0) || end.seq !== (headHolds ? head.seq : 0)) {
      onError(
        new Error(`The audit of tenant ${tenant}, lane ${lane}, was changed outside of Signalbox. Verify the audit.`),
      );
    }
    return end;
  };
}

export function auditStore(options: AuditStoreOptions): AuditStore {
  const { db, hmac, lane } = options;
  const chainEnd = chainEndReader(options);
  const insertRecord = db.prepare(
    `INSERT INTO audit (${auditRowColumns}) VALUES (${auditColumnNames.map(() => "?").join(", ")})`,
  );
  const upsertHead = db.prepare(
    `INSERT INTO audit_heads (tenant, lane, seq, hash, mac) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (tenant, lane) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, mac = excluded.mac`,
  );
  const ends = new Map<string, ChainEnd>();
  /** The moves of the open transaction, so that they can be taken back one by one. */
  const moves: { readonly tenant: string; readonly before: ChainEnd }[] = [];

  const undoTo = (mark: number): void => {
    while (moves.length > mark) {
      const move = moves.pop();
      if (move !== undefined) ends.set(move.tenant, move.before);
    }
  };

  return {
    append(draft: AuditDraft) {
      const before = ends.get(draft.tenant) ?? chainEnd(draft.tenant);
      const seq = before.seq + 1;
      const values = auditValues(draft, lane, seq);
      const hash = linkHash(hmac, before.hash, canonicalText(values));
      values.push(before.hash, hash);
      insertRecord.run(...values);
      ends.set(draft.tenant, { seq, hash });
      moves.push({ tenant: draft.tenant, before });
    },
    mark: () => moves.length,
    undoTo,
    writeHeads() {
      for (const tenant of new Set(moves.map((move) => move.tenant))) {
        const { seq, hash } = ends.get(tenant) ?? chainEnd(tenant);
        upsertHead.run(tenant, lane, seq, hash, headMac(hmac, { tenant, lane, seq, hash }));
      }
    },
    committed() {
      if (moves.length > 0) options.moved();
      moves.length = 0;
    },
    rolledBack: () => undoTo(0),
  };
}
