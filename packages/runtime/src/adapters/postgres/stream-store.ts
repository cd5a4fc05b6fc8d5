// Keeps what calls said while they ran, in runs of events, for readers that come late.
import type { Ledger } from "../../ledger/port.ts";
import type { StreamEvent } from "../../stream/types.ts";
import { firstRow, type Db } from "./db.ts";
import type { WritersOf } from "./writers-of.ts";

export const streamWriters: WritersOf<"append_stream"> = {
  async append_stream(tx, { chunk, dropBefore }) {
    const { tenant, callId, seqFrom, seqTo, events } = chunk;
    await tx.run(
      "INSERT INTO stream_chunks (tenant, call_id, seq_from, seq_to, events_json) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
      [tenant, callId, seqFrom, seqTo, JSON.stringify(events)],
    );
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
