// Claims what a replica needs beside the next in line: one call, what nobody looks after, and what a worker brings with it.
import type { Call } from "../../call/types.ts";
import type { SharedLedger } from "../../ledger/shared.ts";
import { notSucceededSql } from "../sqlite/schema.ts";
import { callOf, wholeCallBlob, wholeCallColumns } from "./call-reads.ts";
import { livesSql } from "./clock.ts";
import type { Db } from "./db.ts";
import { freeCallsOfTheDead } from "./fleet.ts";
import { alongIndexes, asRead, type ReadPool } from "./pool.ts";
import { byCall } from "./trail-writes.ts";

type Named = { readonly tenant: string; readonly callId: string };

const openSql = `c.${notSucceededSql} AND c.state IN ('awaiting_approval', 'queued', 'dispatched', 'running', 'indeterminate')`;
const freeSql = `(c.replica IS NULL OR NOT ${livesSql("c.replica")})`;

/** Also what is with the asking one: it may have lost sight of it. */
const ownSql = `(c.replica = ? OR ${freeSql})`;

/** Whether the worker was told to start, only the replica before knows: where a lease changes hands, it may have been. */
const takeSql = `UPDATE calls AS c SET replica = ?, may_have_run =
    CASE WHEN c.state IN ('dispatched', 'running') AND c.replica IS DISTINCT FROM ? THEN 1 ELSE c.may_have_run END
  FROM json_to_recordset(?::json) AS r(tenant text, call_id text)
  WHERE c.tenant = r.tenant AND c.call_id = r.call_id`;

const readSql = `SELECT ${wholeCallColumns} FROM json_to_recordset(?::json) AS r(tenant text, call_id text)
  JOIN calls AS c ON c.tenant = r.tenant AND c.call_id = r.call_id ${wholeCallBlob} ORDER BY c.start_tag, c.tenant, c.call_id`;

const namedJson = (calls: readonly Named[]): string =>
  JSON.stringify([...calls].sort(byCall).map(({ tenant, callId }) => ({ tenant, call_id: callId })));

/** What a claim has locked goes to the replica, and comes back whole. */
async function take(tx: Db, replica: string, found: readonly Named[]): Promise<Call[]> {
  if (found.length === 0) return [];
  const names = namedJson(found);
  await tx.run(takeSql, [replica, replica, names]);
  return (await tx.rows(readSql, [names])).map(callOf);
}

const keys = `c.tenant, c.call_id AS "callId"`;
const lockFree = "FOR UPDATE OF c SKIP LOCKED";

/** Each by an index of what is due alone. */
const dueSql: readonly string[] = [
  `SELECT ${keys} FROM calls AS c WHERE c.state = 'queued' AND c.queue_deadline_at IS NOT NULL AND c.queue_deadline_at <= ? AND ${ownSql}
    ORDER BY c.queue_deadline_at LIMIT ? ${lockFree}`,
  `SELECT ${keys} FROM calls AS c WHERE c.state IN ('queued', 'awaiting_approval') AND c.total_deadline_at IS NOT NULL
    AND c.total_deadline_at <= ? AND ${ownSql} ORDER BY c.total_deadline_at LIMIT ? ${lockFree}`,
];
const leasedSql = `SELECT ${keys} FROM calls AS c WHERE c.${notSucceededSql} AND c.state IN ('dispatched', 'running')
  AND c.lease_expires_at <= ? AND (c.lease_expires_at <= ? OR NOT ${livesSql("c.replica")}) ORDER BY c.lease_expires_at LIMIT ? ${lockFree}`;

const agePerClassMs = 30_000;
const agedPerSweepMax = 1_000;

/** A class that has waited its time counts as the one before it. */
const ageSql = `UPDATE calls AS c SET class_offset = greatest(0, a.class_offset - 1) FROM (
    SELECT tenant, call_id, class_offset FROM calls
      WHERE state = 'queued' AND replica IS NULL AND class_offset > 0 AND class_offset = ? AND enqueued_at <= ?
        AND priority = ? ORDER BY enqueued_at LIMIT ${agedPerSweepMax} FOR UPDATE SKIP LOCKED
  ) AS a WHERE c.tenant = a.tenant AND c.call_id = a.call_id`;

async function age(tx: Db, now: number): Promise<void> {
  await tx.run(ageSql, [2, now - agePerClassMs, "batch"]);
  await tx.run(ageSql, [1, now - agePerClassMs, "normal"]);
  await tx.run(ageSql, [1, now - 2 * agePerClassMs, "batch"]);
}

const heldSql = `SELECT ${keys} FROM calls AS c WHERE c.${notSucceededSql} AND c.state IN ('dispatched', 'running')
  AND c.worker_id = ? AND c.incarnation = ? AND CASE WHEN c.sandbox IS NULL THEN c.tool_tenant ELSE 'platform' END = ?
  ORDER BY c.tenant, c.call_id FOR UPDATE`;

const releaseSql = `UPDATE calls AS c SET replica = NULL FROM json_to_recordset(?::json) AS r(tenant text, call_id text)
  WHERE c.tenant = r.tenant AND c.call_id = r.call_id AND ${asRead("c.state")} = 'queued' AND ${asRead("c.replica")} = ?`;

const queuedWithSql = `SELECT ${keys} FROM calls AS c WHERE c.state = 'queued' AND c.replica = ? ORDER BY c.tenant, c.call_id LIMIT 1000`;

const statesSql = `SELECT ${keys}, c.state FROM json_to_recordset(?::json) AS r(tenant text, call_id text)
  JOIN calls AS c ON c.tenant = r.tenant AND c.call_id = r.call_id`;

type Others = Pick<SharedLedger, "claimOne" | "claimDue" | "claimHeld" | "release" | "queuedWith" | "statesOf">;

export function otherClaims(pool: ReadPool): Others {
  const within = <T>(work: (tx: Db) => Promise<T>): Promise<T> => pool.transaction(work, alongIndexes);
  return {
    claimOne: (tenant, callId, replica) =>
      within(async (tx) => {
        const sql = `SELECT ${keys} FROM calls AS c WHERE c.tenant = ? AND c.call_id = ? AND ${openSql} AND (c.replica = ? OR ${freeSql}) FOR UPDATE`;
        return (await take(tx, replica, await tx.rows<Named>(sql, [tenant, callId, replica])))[0];
      }),
    claimDue: ({ replica, now, graceMs, leasesToo, limit }) =>
      within(async (tx) => {
        await freeCallsOfTheDead(tx);
        await age(tx, now);
        const found: Named[] = [];
        for (const sql of dueSql) found.push(...(await tx.rows<Named>(sql, [now, replica, limit])));
        if (leasesToo) found.push(...(await tx.rows<Named>(leasedSql, [now, now - graceMs, limit])));
        const each = new Map(found.map((call) => [JSON.stringify([call.tenant, call.callId]), call]));
        return take(tx, replica, [...each.values()].slice(0, limit));
      }),
    claimHeld: ({ replica, workerTenant, workerId, incarnation }) =>
      within(async (tx) => take(tx, replica, await tx.rows<Named>(heldSql, [workerId, incarnation, workerTenant]))),
    async release(replica, calls) {
      if (calls.length === 0) return;
      await within((tx) => tx.run(releaseSql, [namedJson(calls), replica]));
    },
    queuedWith: (replica) => within((tx) => tx.rows(queuedWithSql, [replica])),
    async statesOf(calls) {
      if (calls.length === 0) return [];
      return within((tx) => tx.rows(statesSql, [namedJson(calls)]));
    },
  };
}
