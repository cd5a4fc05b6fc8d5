// Verifies the chains of the audit in one snapshot, a few hundred rows at a time.
import type { AuditProblem, AuditVerdict } from "../../ledger/audit.ts";
import { auditFields, canonicalText, checkLane, type AuditHead, type AuditValue, type Hmac, type SignedHead } from "../../ledger/audit-chain.ts";
import { readAnchor } from "../sqlite/anchor.ts";
import { auditColumnNames, auditRowColumns } from "../sqlite/audit-rows.ts";
import type { Db } from "./db.ts";

const rowsPerReadMax = 500;
const problemsMax = 1_000;

interface Lane {
  readonly tenant: string;
  readonly lane: string;
  readonly head: SignedHead | undefined;
  readonly anchored: AuditHead | undefined;
}

/** Every lane that records, heads or the anchor know of. */
async function lanesNow(db: Db, anchored: readonly AuditHead[], tenant: string | undefined): Promise<Lane[]> {
  const lanes = new Map<string, Lane>();
  const know = (place: { readonly tenant: string; readonly lane: string }, witness: Partial<Lane>): void => {
    if (tenant !== undefined && place.tenant !== tenant) return;
    const key = JSON.stringify([place.tenant, place.lane]);
    const known = lanes.get(key) ?? { tenant: place.tenant, lane: place.lane, head: undefined, anchored: undefined };
    lanes.set(key, { ...known, ...witness });
  };
  const next = "SELECT tenant, lane FROM audit WHERE (tenant, lane) > (?, ?) ORDER BY tenant, lane LIMIT 1";
  let [place] = await db.rows<{ tenant: string; lane: string }>(next, ["", ""]);
  while (place !== undefined) {
    know(place, {});
    [place] = await db.rows<{ tenant: string; lane: string }>(next, [place.tenant, place.lane]);
  }
  for (const head of await db.rows<SignedHead>("SELECT tenant, lane, seq, hash, mac FROM audit_heads")) know(head, { head });
  for (const head of anchored) know(head, { anchored: head });
  return [...lanes.values()];
}

function anchorProblem(kind: "missing" | "edited"): AuditProblem {
  const message = kind === "missing" ? "the anchor file is missing" : "the anchor file was not written with the audit key";
  return { tenant: "", lane: "", seq: 0, kind: kind === "missing" ? "anchor_missing" : "anchor_edited", message };
}

async function verifyLane(db: Db, lane: Lane, hmac: Hmac) {
  const check = checkLane(lane.tenant, lane.lane, lane, hmac);
  const sql = `SELECT ${auditRowColumns} FROM audit WHERE tenant = ? AND lane = ? AND seq > ? ORDER BY seq LIMIT ${rowsPerReadMax}`;
  // Any integer may stand in a forged row, so the walk starts below all of them.
  for (let seq = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = await db.rows(sql, [lane.tenant, lane.lane, seq]);
    for (const row of rows) {
      const values = auditColumnNames.map((name) => (row[name] ?? null) as AuditValue);
      const facts = values.slice(0, auditFields.length);
      seq = Number(row["seq"]);
      check.add({ seq, prevHash: String(row["prev_hash"]), hash: String(row["hash"]), text: canonicalText(facts) });
    }
    if (rows.length < rowsPerReadMax) return check.finish();
  }
}

/** @param snapshot runs what it is given in one read-only snapshot of the database */
export function auditVerifier(
  snapshot: <T>(work: (db: Db) => Promise<T>) => Promise<T>,
  anchorPath: string,
  hmac: Hmac,
): (tenant?: string) => Promise<AuditVerdict> {
  return (tenant) => {
    // Before the snapshot is taken, so that it is never newer.
    const anchor = readAnchor(anchorPath, hmac);
    return snapshot(async (db) => {
      const problems: AuditProblem[] = anchor.kind === "valid" ? [] : [anchorProblem(anchor.kind)];
      const lanes = await lanesNow(db, anchor.kind === "valid" ? anchor.heads : [], tenant);
      let records = 0;
      for (const lane of lanes) {
        const found = await verifyLane(db, lane, hmac);
        records += found.records;
        problems.push(...found.problems.slice(0, problemsMax - problems.length));
      }
      return { ok: problems.length === 0, records, lanes: lanes.length, problems };
    });
  };
}
