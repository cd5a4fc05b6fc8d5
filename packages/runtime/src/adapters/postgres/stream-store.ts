// Keeps what calls said while they ran, in runs of events, for readers that come late.
import type { Ledger } from "../../ledger/port.ts";
import type { StreamChunk, StreamEvent } from "../../stream/types.ts";
import { firstRow, storable, type Db } from "./db.ts";
import { insertRecordsSql } from "./records.ts";
import type { WritersOf } from "./writers-of.ts";

const insertChunksSql = insertRecordsSql(
  "stream_chunks",
  [
    { name: "tenant", type: "text" },
    { name: "call_id", type: "text" },
    { name: "seq_from", type: "bigint" },
    { name: "seq_to", type: "bigint" },
    { name: "events_json", type: "text" },
  ],
  "ON CONFLICT DO NOTHING",
);

export async function keepChunks(tx: Db, chunks: readonly StreamChunk[]): Promise<void> {
  const records = chunks.map(({ tenant, callId, seqFrom, seqTo, events }) => ({
    tenant,
    call_id: callId,
    seq_from: seqFrom,
    seq_to: seqTo,
    events_json: storable(JSON.stringify(events)),
  }));
  await tx.run(insertChunksSql, [JSON.stringify(records)]);
}

export const streamWriters: WritersOf<"append_stream"> = {
  async append_stream(tx, { chunk, dropBefore }) {
    await keepChunks(tx, [chunk]);
    const { tenant, callId } = chunk;
    if (dropBefore > 0) await tx.run("DELETE FROM stream_chunks WHERE tenant = ? AND call_id = ? AND seq_to < ?", [tenant, callId, dropBefore]);
    return true;
  },
};

export type StreamReads = Pick<Ledger, "streamChunks" | "lastStreamSeq">;

export function streamReads(db: Db): StreamReads {
  return {
    async streamChunks(tenant, callId, afterSeq, limit) {
      const rows = await db.rows<{ seq_from: number; seq_to: number; events_json: string }>(
        "SELECT seq_from, seq_to, events_json FROM stream_chunks WHERE tenant = ? AND call_id = ? AND seq_to > ? ORDER BY seq_from LIMIT ?",
        [tenant, callId, afterSeq, limit],
      );
      return rows.map((row) => ({
        tenant,
        callId,
        seqFrom: row.seq_from,
        seqTo: row.seq_to,
        events: JSON.parse(row.events_json) as StreamEvent[],
      }));
    },
    async lastStreamSeq(tenant, callId) {
      const sql = "SELECT seq_to FROM stream_chunks WHERE tenant = ? AND call_id = ? ORDER BY seq_from DESC LIMIT 1";
      return (await firstRow<{ seq_to: number }>(db, sql, [tenant, callId]))?.seq_to ?? 0;
    },
  };
}
