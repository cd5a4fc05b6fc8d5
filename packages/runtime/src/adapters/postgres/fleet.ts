// Who lives: heartbeats, the end of a replica, and roles that one of them has at a time.
import type { Beat, Fleet, Peer } from "../../ledger/shared.ts";
import { notSucceededSql } from "../sqlite/schema.ts";
import { livesSql, storeNowSql } from "./clock.ts";
import { firstRow, type Db } from "./db.ts";
import type { ReadPool } from "./pool.ts";

/** Rows of replicas that are long gone. */
const keptMs = 24 * 3_600_000;

const beatSql = `INSERT INTO replicas (replica, grpc_address, draining, lanes_json, lives_until, released)
  VALUES (?, ?, ?, ?, ${storeNowSql} + ?, 0)
  ON CONFLICT (replica) DO UPDATE SET grpc_address = excluded.grpc_address, draining = excluded.draining,
    lanes_json = excluded.lanes_json, lives_until = excluded.lives_until, released = 0`;

const factsSql = `SELECT ${storeNowSql} AS store_now, (SELECT revision FROM revision) AS revision`;
const peersSql = `SELECT replica, grpc_address, draining, lanes_json FROM replicas WHERE lives_until > ${storeNowSql} ORDER BY replica`;
const queuedSql = `SELECT tenant, count(*) AS calls FROM calls WHERE state = 'queued' AND ${notSucceededSql} GROUP BY tenant`;

interface PeerRow {
  readonly replica: string;
  readonly grpc_address: string;
  readonly draining: number;
  readonly lanes_json: string;
}

function peerOf(row: PeerRow): Peer {
  const lanes = JSON.parse(row.lanes_json) as string[];
  return { replica: row.replica, grpcAddress: row.grpc_address, draining: row.draining === 1, lanes };
}

/** What is with replicas that live no more, or never said that they do, is with nobody. */
export async function freeCallsOfTheDead(tx: Db): Promise<void> {
  await tx.run(`UPDATE calls SET replica = NULL WHERE state = 'queued' AND replica IS NOT NULL AND NOT ${livesSql("calls.replica")}`);
  await tx.run(`UPDATE replicas SET released = 1 WHERE released = 0 AND lives_until <= ${storeNowSql}`);
}

export function fleetOf(pool: ReadPool) {
  return {
    beat: ({ replica, grpcAddress, draining, lanes, livesMs }: Beat): Promise<Fleet> =>
      pool.transaction(async (tx) => {
        const said = tx.run(beatSql, [replica, grpcAddress, draining ? 1 : 0, JSON.stringify(lanes), livesMs]);
        const cleared = tx.run(`DELETE FROM replicas WHERE lives_until < ${storeNowSql} - ? AND released = 1`, [keptMs]);
        const facts = firstRow<{ store_now: number; revision: number }>(tx, factsSql);
        const peers = tx.rows<PeerRow>(peersSql);
        const queued = tx.rows<{ tenant: string; calls: number }>(queuedSql);
        const [, , known, living, waiting] = await Promise.all([said, cleared, facts, peers, queued]);
        return {
          peers: living.map(peerOf),
          revision: known?.revision ?? 0,
          storeNow: known?.store_now ?? 0,
          queued: Object.fromEntries(waiting.map(({ tenant, calls }) => [tenant, calls])),
        };
      }),
    leave: (replica: string): Promise<void> =>
      pool.transaction(async (tx) => {
        await tx.run("DELETE FROM replicas WHERE replica = ?", [replica]);
        await tx.run("DELETE FROM roles WHERE replica = ?", [replica]);
        await tx.run("UPDATE calls SET replica = NULL WHERE state = 'queued' AND replica IS NOT NULL AND replica = ?", [replica]);
      }),
    async hold(role: string, replica: string, ms: number): Promise<boolean> {
      const held = await pool.run(
        `INSERT INTO roles (role, replica, held_until) VALUES (?, ?, ${storeNowSql} + ?)
          ON CONFLICT (role) DO UPDATE SET replica = excluded.replica, held_until = excluded.held_until
          WHERE roles.replica = excluded.replica OR roles.held_until <= ${storeNowSql} OR NOT ${livesSql("roles.replica")}`,
        [role, replica, ms],
      );
      return held === 1;
    },
  };
}
