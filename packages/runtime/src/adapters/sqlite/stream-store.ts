// Keeps what calls said while they ran, in runs of events, for readers that come late.
import type { DatabaseSync } from "node:sqlite";
import type { StreamChunk, StreamEvent } from "../../stream/types.ts";
import type { Prepared } from "./reads.ts";
import type { WritersOf } from "./writers-of.ts";

export function streamWriters(db: DatabaseSync): WritersOf<"append_stream"> {
  const insert = db.prepare(
    "INSERT INTO stream_chunks (tenant, call_id, seq_from, seq_to, events_json) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const drop = db.prepare("DELETE FROM stream_chunks WHERE tenant = ? AND call_id = ? AND seq_to < ?");
  return {
    append_stream({ chunk, dropBefore }) {
      const { tenant, callId, seqFrom, seqTo, events } = chunk;
      insert.run(tenant, callId, seqFrom, seqTo, JSON.stringify(events));
      if (dropBefore > 0) drop.run(tenant, callId, dropBefore);
      return true;
    },
  };
}

export function streamReads(prepared: Prepared) {
  return {
    streamChunks: (tenant: string, callId: string, afterSeq: number, limit: number): readonly StreamChunk[] =>
      prepared(
        "SELECT seq_from, seq_to, events_json FROM stream_chunks WHERE tenant = ? AND call_id = ? AND seq_to > ? ORDER BY seq_from LIMIT ?",
      )
        .all(tenant, callId, afterSeq, limit)
        .map((row) => ({
          tenant,
          callId,
          seqFrom: Number(row["seq_from"]),
          seqTo: Number(row["seq_to"]),
          events: JSON.parse(String(row["events_json"])) as StreamEvent[],
        })),
    lastStreamSeq(tenant: string, callId: string): number {
      const row = prepared(
        "SELECT seq_to FROM stream_chunks WHERE tenant = ? AND call_id = ? ORDER BY seq_from DESC LIMIT 1",
      ).get(tenant, callId);
      return Number(row?.["seq_to"] ?? 0);
    },
  };
}
