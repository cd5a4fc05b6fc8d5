// Claims queued calls in fair order: the smallest eligible tags of the lanes that a replica serves, one claim at a time.
import type { Call } from "../../call/types.ts";
import type { Claimed, ClaimQuery } from "../../ledger/shared.ts";
import { callColumns, decode } from "../sqlite/columns.ts";
import { notSucceededSql } from "../sqlite/schema.ts";
import { storeNowSql } from "./clock.ts";
import { firstRow, type Db, type SqlRow } from "./db.ts";
import { CapRoom, pick, type Picked, type Waiting } from "./fair-pick.ts";
import { storedLane } from "./fair-tags.ts";
import { freeCallsOfTheDead } from "./fleet.ts";
import { alongIndexes, asRead, type ReadPool } from "./pool.ts";
import { byCall } from "./trail-writes.ts";

/** How far a claim looks past calls that a cap holds back. */
const lookAhead = 64;
/** Claims whose calls changed under their hands, before the next one has to do. */
const triesMax = 3;

const claimLock = 0x5167_6e64;

// One claim at a time: so its order is exact, and what caps count cannot change under it.
// A claim that a crash of the server takes back harms nobody: what rests on it is written under the guard of who has the call.
const begun = `${alongIndexes}; SET LOCAL enable_sort = off; SET LOCAL synchronous_commit = off; SELECT pg_advisory_xact_lock(${claimLock})`;

/** With nobody, not held back, of a tenant that may; takes `now` and the ids that are not wanted. */
const eligibleSql = `c.state = 'queued' AND c.replica IS NULL AND c.not_before <= ? AND c.call_id <> ALL (?::text[])
  AND NOT EXISTS (SELECT 1 FROM freezes AS f WHERE f.tenant IN (c.tenant, 'platform') AND f.tool IN (c.tool, ''))
  AND NOT EXISTS (SELECT 1 FROM tenants AS t WHERE t.tenant = c.tenant AND t.suspended_at IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM json_to_recordset(?::json) AS full_(tenant text, project text)
    WHERE full_.tenant = c.tenant AND (full_.project IS NULL OR full_.project = c.project))`;

const lineColumns = "c.tenant, c.call_id, c.project, c.start_tag, c.class_offset, c.first_tag, c.order_tag";
const inLine = "ORDER BY c.order_tag, c.tenant, c.first_tag";

// The smallest tags of all lie in as many lanes, those with the smallest first tags: the other lanes are not walked. A tenant calls its own
// tools and the platform's: in no other lane it can have anything.
const knownSql = `
  WITH first_of_lane AS MATERIALIZED (
    SELECT lane.lane, lane.owner, c.order_tag, c.tenant, c.first_tag FROM json_to_recordset(?::json) AS lane(lane text, owner text)
      CROSS JOIN LATERAL (SELECT c.order_tag, c.tenant, c.first_tag FROM calls AS c WHERE c.lane = lane.lane AND ${eligibleSql} ${inLine} LIMIT 1) AS c
  ), smallest AS MATERIALIZED (
    SELECT c.* FROM (SELECT c.lane FROM first_of_lane AS c ${inLine} LIMIT ?) AS lane CROSS JOIN LATERAL (
      SELECT ${lineColumns} FROM calls AS c WHERE c.lane = lane.lane AND ${eligibleSql} ${inLine} LIMIT ?
    ) AS c ${inLine} LIMIT ?
  ), best AS (
    SELECT c.* FROM (SELECT tenant, count(*) AS calls FROM smallest GROUP BY tenant) AS w CROSS JOIN LATERAL (
      SELECT c.* FROM first_of_lane AS lane CROSS JOIN LATERAL (
        SELECT ${lineColumns} FROM calls AS c WHERE c.tenant = w.tenant AND c.lane = lane.lane AND ${eligibleSql}
          ORDER BY c.class_offset, c.first_tag LIMIT greatest(w.calls, ?)
      ) AS c WHERE lane.owner IN (w.tenant, 'platform') ORDER BY c.class_offset, c.first_tag LIMIT greatest(w.calls, ?)
    ) AS c
  )
  SELECT tenant, call_id AS "callId", project, start_tag AS "startTag", class_offset AS "classOffset", first_tag AS "firstTag"
    FROM (SELECT * FROM smallest UNION SELECT * FROM best) AS known`;

/** At work is what a worker has, and what a replica has taken and may give to one at any moment. */
const atWorkSql = `SELECT (SELECT count(*) FROM calls AS c WHERE c.tenant = cap.tenant AND c.${notSucceededSql}
      AND c.state IN ('dispatched', 'running') AND c.executor <> 'agent' AND (cap.project IS NULL OR c.project = cap.project))
    + (SELECT count(*) FROM calls AS c WHERE c.state = 'queued' AND c.replica IS NOT NULL AND c.tenant = cap.tenant
      AND c.not_before <= ? AND (cap.project IS NULL OR c.project = cap.project)) AS calls
  FROM json_to_recordset(?::json) AS cap(tenant text, project text, at bigint) ORDER BY cap.at`;

const nextAtSql = `SELECT min(c.not_before) AS at FROM unnest(?::text[]) AS lane(lane) CROSS JOIN LATERAL (
    SELECT c.not_before FROM calls AS c WHERE c.lane = lane.lane AND c.state = 'queued' AND c.replica IS NULL
      AND c.not_before > 0 AND c.not_before > ? ORDER BY c.not_before LIMIT 1) AS c`;

const takeSql = `UPDATE calls AS c SET replica = CASE WHEN r.taken = 1 THEN ? ELSE c.replica END, start_tag = r.start_tag
  FROM json_to_recordset(?::json) AS r(tenant text, call_id text, start_tag double precision, taken bigint)
  WHERE c.tenant = r.tenant AND c.call_id = r.call_id AND ${asRead("c.state")} = 'queued' AND ${asRead("c.replica")} IS NULL
  RETURNING ${callColumns.map(({ name }) => `c.${name}`).join(", ")}`;

/** Somebody changed one of the calls between the look and the claim. */
class Changed extends Error {}

export function claimer(pool: ReadPool): (query: ClaimQuery) => Promise<Claimed> {
  return async (query) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await pool.transaction((tx) => claim(tx, query), begun);
      } catch (error) {
        if (!(error instanceof Changed) && !isDeadlock(error)) throw error;
        if (tries >= triesMax) return { calls: [], nextAt: query.now };
      }
    }
  };
}

function isDeadlock(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "40P01";
}

async function claim(tx: Db, query: ClaimQuery): Promise<Claimed> {
  const lanes = query.lanes.map(storedLane);
  const [dead, counts, waits] = await Promise.all([
    firstRow(tx, `SELECT 1 FROM replicas WHERE released = 0 AND lives_until <= ${storeNowSql} LIMIT 1`),
    countAtWork(tx, query),
    firstRow<{ at: number | null }>(tx, nextAtSql, [lanes, query.now]),
  ]);
  if (dead !== undefined) await freeCallsOfTheDead(tx);
  const picked = query.limit < 1 || lanes.length === 0 ? noneOf : await choose(tx, query, lanes, counts);
  const calls = picked.calls.length === 0 ? [] : await take(tx, query.replica, picked);
  return { calls, nextAt: waits?.at ?? undefined };
}

async function countAtWork(tx: Db, { caps, now }: ClaimQuery): Promise<number[]> {
  if (caps.length === 0) return [];
  const asked = caps.map(({ tenant, project }, at) => ({ tenant, project, at }));
  return (await tx.rows<{ calls: number }>(atWorkSql, [now, JSON.stringify(asked)])).map(({ calls }) => calls);
}

const noneOf: Picked = { calls: [], moved: [], clock: undefined };

async function choose(tx: Db, { limit, now, caps, not }: ClaimQuery, lanes: readonly string[], atWork: readonly number[]): Promise<Picked> {
  const room = new CapRoom(caps, atWork);
  const full = caps.filter(({ max }, at) => max <= (atWork[at] ?? 0)).map(({ tenant, project }) => ({ tenant, project }));
  const isTight = caps.some(({ max }, at) => max - (atWork[at] ?? 0) < limit);
  const reach = isTight ? limit + lookAhead : limit;
  const eligible = [now, not, JSON.stringify(full)];
  const owned = JSON.stringify(lanes.map((lane) => ({ lane, owner: lane.slice(0, lane.indexOf("\u001f")) })));
  const each = isTight ? reach : 0;
  const params = [owned, ...eligible, reach, ...eligible, reach, reach, ...eligible, each, each];
  return pick(await tx.rows<Waiting>(knownSql, params), limit, room);
}

async function take(tx: Db, replica: string, { calls, moved, clock }: Picked): Promise<Call[]> {
  const rows = new Map<string, { tenant: string; callId: string; start_tag: number; taken: number }>();
  const key = ({ tenant, callId }: Pick<Waiting, "tenant" | "callId">): string => JSON.stringify([tenant, callId]);
  for (const call of calls) rows.set(key(call), { tenant: call.tenant, callId: call.callId, start_tag: call.startTag, taken: 1 });
  for (const { call, startTag } of moved) {
    const { tenant, callId } = call;
    rows.set(key(call), { tenant, callId, start_tag: startTag, taken: rows.has(key(call)) ? 1 : 0 });
  }
  const sorted = [...rows.values()].sort(byCall).map(({ callId, ...row }) => ({ ...row, call_id: callId }));
  const taking = tx.rows<SqlRow>(takeSql, [replica, JSON.stringify(sorted)]);
  const clocking = tx.run("UPDATE fair_clock SET v = ? WHERE v < ?", [clock, clock]);
  const [found] = await Promise.all([taking, clocking]);
  if (found.length !== sorted.length) throw new Changed();
  const taken = new Map(found.map((row) => decode<Call>(callColumns, row)).map((call) => [key(call), call]));
  return calls.flatMap((call) => taken.get(key(call)) ?? []);
}

