// Lists audit records, the last recorded first, along the lanes themselves: an index by time would cost every call.
import type { AuditFilter, AuditRecord } from "../../ledger/audit.ts";
import type { AuditValue } from "../../ledger/audit-chain.ts";
import type { Ledger, Page } from "../../ledger/port.ts";
import { auditColumnNames, auditRecordOf, auditRowColumns } from "../sqlite/audit-rows.ts";
import { conditions, readCursor, writeCursor } from "../sqlite/paging.ts";
import type { Db, SqlRow } from "./db.ts";

/** One lane's records that match, from `below` downwards. */
interface LaneWalk {
  readonly lane: string;
  /** The walk goes on below this seq. */
  below: number;
  readonly found: AuditRecord[];
}

async function lanesOf(db: Db, tenant: string): Promise<LaneWalk[]> {
  // From lane to lane along the key, and in each to its last record.
  const lanes = await db.rows<{ lane: string; last: number }>(
    `WITH RECURSIVE lanes(lane) AS (
        (SELECT max(lane) FROM audit WHERE tenant = ?)
        UNION ALL SELECT (SELECT max(a.lane) FROM audit AS a WHERE a.tenant = ? AND a.lane < l.lane) FROM lanes AS l WHERE l.lane IS NOT NULL
      )
      SELECT lane, (SELECT max(seq) FROM audit WHERE tenant = ? AND lane = l.lane) AS last FROM lanes AS l WHERE lane IS NOT NULL`,
    [tenant, tenant, tenant],
  );
  return lanes.map(({ lane, last }) => ({ lane, below: last + 1, found: [] }));
}

/** A lane that is not in the cursor began after the first page: it is not part of this list. */
function resumed(walks: readonly LaneWalk[], cursor: string): LaneWalk[] {
  const key = readCursor(cursor);
  const below = new Map<unknown, unknown>();
  for (let at = 0; at + 1 < key.length; at += 2) below.set(key[at], key[at + 1]);
  return walks.flatMap((walk) => {
    const from = below.get(walk.lane);
    return typeof from === "number" && Number.isSafeInteger(from) ? [{ ...walk, below: from }] : [];
  });
}

export function recordOfRow(row: SqlRow): AuditRecord {
  return auditRecordOf(auditColumnNames.map((name) => (row[name] ?? null) as AuditValue));
}

export function auditLister(db: Db): Ledger["listAudit"] {
  const ofLane = async (walk: LaneWalk, filter: AuditFilter, count: number): Promise<void> => {
    const where = conditions()
      .equal("tenant", filter.tenant)
      .equal("lane", walk.lane)
      .equal("execution_id", filter.executionId)
      .equal("principal", filter.principal)
      .equal("action", filter.action)
      .range("ts", filter.from, filter.to)
      .range("seq", undefined, walk.below);
    const sql = `SELECT ${auditRowColumns} FROM audit WHERE ${where.sql()} ORDER BY seq DESC LIMIT ?`;
    walk.found.push(...(await db.rows(sql, [...where.values(), count])).map(recordOfRow));
  };

  return async (filter, limit, cursor) => {
    const lanes = await lanesOf(db, filter.tenant);
    const walks = cursor === undefined ? lanes : resumed(lanes, cursor);
    for (const walk of walks) await ofLane(walk, filter, limit + 1);
    return merged(walks, limit);
  };
}

/** The lanes' next records by time; inside a lane the order is that of the chain, whatever its clock did. */
function merged(walks: readonly LaneWalk[], limit: number): Page<AuditRecord> {
  const items: AuditRecord[] = [];
  const nextOf = (): LaneWalk | undefined => {
    let best: LaneWalk | undefined;
    for (const walk of walks) {
      const record = walk.found[0];
      if (record !== undefined && record.ts > (best?.found[0]?.ts ?? Number.NEGATIVE_INFINITY)) best = walk;
    }
    return best;
  };
  for (let walk = nextOf(); walk !== undefined && items.length < limit; walk = nextOf()) {
    const record = walk.found.shift();
    if (record === undefined) break;
    items.push(record);
    walk.below = record.seq;
  }
  const more = walks.some((walk) => walk.found.length > 0);
  return { items, next: more ? writeCursor(walks.flatMap(({ lane, below }) => [lane, below])) : undefined };
}
