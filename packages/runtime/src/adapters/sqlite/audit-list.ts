// Lists audit records, the last recorded first, along the lanes themselves: an index by time would cost every call.
import { setImmediate } from "node:timers/promises";
import type { SQLInputValue } from "node:sqlite";
import type { AuditFilter, AuditRecord } from "../../ledger/audit.ts";
import type { AuditValue } from "../../ledger/audit-chain.ts";
import type { Page } from "../../ledger/port.ts";
import { auditRowColumns, auditRecordOf } from "./audit-rows.ts";
import { conditions, readCursor, writeCursor } from "./paging.ts";
import type { Prepared } from "./reads.ts";

/** Rows that a filter looks at in one turn of the event loop. */
const rowsPerTurnMax = 1_000;

/** One lane's records that match, from `below` downwards. */
interface LaneWalk {
  readonly lane: string;
  /** The walk goes on below this seq. */
  below: number;
  readonly found: AuditRecord[];
  ended: boolean;
}

function lanesOf(prepared: Prepared, tenant: string): LaneWalk[] {
  const next = prepared("SELECT max(lane) AS lane FROM audit WHERE tenant = ? AND lane < ?");
  const newest = prepared("SELECT max(lane) AS lane FROM audit WHERE tenant = ?");
  const last = prepared("SELECT max(seq) AS seq FROM audit WHERE tenant = ? AND lane = ?");
  const walks: LaneWalk[] = [];
  let lane = newest.get(tenant)?.["lane"];
  while (typeof lane === "string") {
    walks.push({ lane, below: Number(last.get(tenant, lane)?.["seq"]) + 1, found: [], ended: false });
    lane = next.get(tenant, lane)?.["lane"];
  }
  return walks;
}

/** A lane that is not in the cursor began after the first page: it is not part of this list. */
function resumed(walks: readonly LaneWalk[], cursor: string): LaneWalk[] {
  const key = readCursor(cursor);
  const below = new Map<unknown, unknown>();
  for (let at = 0; at + 1 < key.length; at += 2) below.set(key[at], key[at + 1]);
  return walks.flatMap((walk) => {
    const from = below.get(walk.lane);
    return typeof from === "number" ? [{ ...walk, below: from }] : [];
  });
}

function matching(filter: AuditFilter) {
  return conditions()
    .equal("principal", filter.principal)
    .equal("action", filter.action)
    .range("ts", filter.from, filter.to);
}

export function auditLister(prepared: Prepared) {
  const rows = (sql: string, values: readonly SQLInputValue[]): AuditRecord[] => {
    const statement = prepared(sql);
    statement.setReturnArrays(true);
    return (statement.all(...values) as unknown as AuditValue[][]).map(auditRecordOf);
  };
  const lane = "audit WHERE tenant = ? AND lane = ? AND seq < ?";

  /** Finds up to `count` more records, or looks at so many rows as one turn allows. */
  const look = (walk: LaneWalk, filter: AuditFilter, count: number): void => {
    const matches = matching(filter);
    const at = [filter.tenant, walk.lane, walk.below];
    if (matches.values().length === 0) {
      walk.found.push(...rows(`SELECT ${auditRowColumns} FROM ${lane} ORDER BY seq DESC LIMIT ?`, [...at, count]));
      walk.ended = true;
      return;
    }
    const turn = prepared(
      `SELECT min(seq) AS seq, count(*) AS rows FROM (SELECT seq FROM ${lane} ORDER BY seq DESC LIMIT ${rowsPerTurnMax}) AS turn`,
    ).get(...at);
    const down = Number(turn?.["seq"]);
    const sql = `SELECT ${auditRowColumns} FROM ${lane} AND seq >= ? AND ${matches.sql()} ORDER BY seq DESC LIMIT ?`;
    walk.found.push(...rows(sql, [...at, down, ...matches.values(), count]));
    walk.below = down;
    walk.ended = Number(turn?.["rows"]) < rowsPerTurnMax;
  };

  /** What is recorded of one execution: few records, which have an index. */
  const ofExecution = (walk: LaneWalk, filter: AuditFilter, executionId: string): void => {
    const matches = matching(filter).equal("tenant", filter.tenant).equal("execution_id", executionId);
    const all = rows(`SELECT ${auditRowColumns} FROM audit WHERE ${matches.sql()}`, matches.values());
    walk.found.push(...all.filter((record) => record.lane === walk.lane && record.seq < walk.below));
    walk.found.sort((a, b) => b.seq - a.seq);
  };

  const ofLane = async (walk: LaneWalk, filter: AuditFilter, count: number): Promise<void> => {
    const from = walk.below;
    while (!walk.ended && walk.found.length < count) {
      look(walk, filter, count);
      if (!walk.ended) await setImmediate();
    }
    walk.below = from;
  };

  return async (filter: AuditFilter, limit: number, cursor?: string): Promise<Page<AuditRecord>> => {
    const lanes = lanesOf(prepared, filter.tenant);
    const walks = cursor === undefined ? lanes : resumed(lanes, cursor);
    for (const walk of walks) {
      if (filter.executionId === undefined) await ofLane(walk, filter, limit + 1);
      else ofExecution(walk, filter, filter.executionId);
    }
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
