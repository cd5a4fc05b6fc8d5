// Verifies the chains of the audit, a few hundred rows at a time.
import { setImmediate } from "node:timers/promises";
import type { DatabaseSync } from "node:sqlite";
import type { AuditProblem, AuditVerdict } from "../../ledger/audit.ts";
import {
  auditFields,
  canonicalText,
  checkLane,
  type AuditHead,
  type AuditValue,
  type Hmac,
  type SignedHead,
} from "../../ledger/audit-chain.ts";
import { readAnchor } from "./anchor.ts";
import { auditRowColumns } from "./audit-rows.ts";

/** Rows per turn of the event loop while verifying. */
const rowsPerTurnMax = 500;
const problemsMax = 1_000;

interface Place {
  readonly tenant: string;
  readonly lane: string;
}

interface Lane extends Place {
  /** The last seq when the verification began; later records belong to the next one. */
  readonly last: number;
  readonly head: SignedHead | undefined;
  readonly anchored: AuditHead | undefined;
}

/** A forged row may hold an integer that no double can; it must be reported, not thrown at. */
function bigIntsAsNumbers<Row extends object>(row: Row): Row {
  const entries = Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]);
  return Object.fromEntries(entries) as Row;
}

/** Every lane that records, heads or the anchor know of, as of now. Runs in one go, so the three agree. */
function lanesNow(db: DatabaseSync, anchored: readonly AuditHead[], tenant: string | undefined): Lane[] {
  const nextLane = db.prepare(
    "SELECT tenant, lane FROM audit WHERE (tenant, lane) > (?, ?) ORDER BY tenant, lane LIMIT 1",
  );
  const lastSeq = db.prepare("SELECT max(seq) AS last FROM audit WHERE tenant = ? AND lane = ?");
  const storedHeads = db.prepare("SELECT tenant, lane, seq, hash, mac FROM audit_heads");
  lastSeq.setReadBigInts(true);
  storedHeads.setReadBigInts(true);
  const lanes = new Map<string, Lane>();
  const know = (place: Place, witness: Partial<Lane>): void => {
    if (tenant !== undefined && place.tenant !== tenant) return;
    const key = JSON.stringify([place.tenant, place.lane]);
    const known = lanes.get(key) ?? {
      tenant: place.tenant,
      lane: place.lane,
      last: 0,
      head: undefined,
      anchored: undefined,
    };
    lanes.set(key, { ...known, ...witness });
  };
  let place = nextLane.get("", "") as Place | undefined;
  while (place !== undefined) {
    know(place, { last: Number(lastSeq.get(place.tenant, place.lane)?.["last"] ?? 0) });
    place = nextLane.get(place.tenant, place.lane) as Place | undefined;
  }
  for (const row of storedHeads.all()) {
    const head = bigIntsAsNumbers(row) as unknown as SignedHead;
    know(head, { head });
  }
  for (const head of anchored) know(head, { anchored: head });
  return [...lanes.values()];
}

function anchorProblem(kind: "missing" | "edited"): AuditProblem {
  const message =
    kind === "missing" ? "the anchor file is missing" : "the anchor file was not written with the audit key";
  return { tenant: "", lane: "", seq: 0, kind: kind === "missing" ? "anchor_missing" : "anchor_edited", message };
}

export function auditVerifier(db: DatabaseSync, anchorPath: string, hmac: Hmac) {
  const rowsAfter = db.prepare(
    `SELECT ${auditRowColumns} FROM audit WHERE tenant = ? AND lane = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ${rowsPerTurnMax}`,
  );
  rowsAfter.setReturnArrays(true);
  rowsAfter.setReadBigInts(true);
  const facts = auditFields.length;
  const seqAt = auditFields.findIndex(([field]) => field === "seq");

  const verifyOne = async (lane: Lane) => {
    const check = checkLane(lane.tenant, lane.lane, lane, hmac);
    // Any integer may stand in a forged row, so the walk starts below all of them.
    let seq = Number.MIN_SAFE_INTEGER;
    while (seq < lane.last) {
      const rows = rowsAfter.all(lane.tenant, lane.lane, seq, lane.last) as unknown as (AuditValue | bigint)[][];
      if (rows.length === 0) break;
      for (const stored of rows) {
        const row = stored.map((value) => (typeof value === "bigint" ? Number(value) : value));
        seq = Number(row[seqAt]);
        const text = canonicalText(row.slice(0, facts));
        check.add({ seq, prevHash: String(row[facts]), hash: String(row[facts + 1]), text });
      }
      await setImmediate();
    }
    return check.finish();
  };

  return async (tenant?: string): Promise<AuditVerdict> => {
    const anchor = readAnchor(anchorPath, hmac);
    const problems: AuditProblem[] = anchor.kind === "valid" ? [] : [anchorProblem(anchor.kind)];
    const lanes = lanesNow(db, anchor.kind === "valid" ? anchor.heads : [], tenant);
    let records = 0;
    for (const lane of lanes) {
      const found = await verifyOne(lane);
      records += found.records;
      problems.push(...found.problems.slice(0, problemsMax - problems.length));
    }
    return { ok: problems.length === 0, records, lanes: lanes.length, problems };
  };
}
