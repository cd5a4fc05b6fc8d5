// Conformance: what calls said comes back in order and as it was, is trimmed from its beginning, and has a last number.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { StreamChunk, StreamEvent } from "../../packages/runtime/src/stream/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { dayStart } from "./ledger-rows.ts";

const event = (seq: number, dataJson = '{"text":"x"}'): StreamEvent => ({
  seq,
  at: dayStart + seq,
  type: "stdout",
  dataJson,
});

/** Events of one call, from one number to another. */
function chunk(seqFrom: number, seqTo: number, fields: Partial<StreamChunk> = {}): StreamChunk {
  const events = Array.from({ length: seqTo - seqFrom + 1 }, (_, at) => event(seqFrom + at));
  return { tenant: "acme", callId: "exec_1", seqFrom, seqTo, events, ...fields };
}

const append = (one: StreamChunk, dropBefore = 0): Write => ({ op: "append_stream", chunk: one, dropBefore });

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });

async function ranges(
  ledger: Ledger,
  afterSeq = 0,
  limit = 100,
  callId = "exec_1",
  tenant = "acme",
): Promise<string[]> {
  return (await ledger.streamChunks(tenant, callId, afterSeq, limit)).map(
    ({ seqFrom, seqTo }) => `${seqFrom}-${seqTo}`,
  );
}

export function streamCases(ledgerCase: LedgerCase): void {
  ledgerCase("runs come back as they were, in order, also after a reopening", async ({ ledger, reopen }) => {
    const odd = [
      event(3, '{"type":"ä☂","payload":{"n":12345678901234567890,"quote":"\\"\\\\"}}'),
      { ...event(4, '{"percent":12.5,"message":""}'), type: "progress" as const },
    ];
    const runs = [chunk(1, 2), chunk(3, 4, { events: odd }), chunk(1_000_004, 1_000_004)];
    expect(await commit(ledger, append(runs[0] as StreamChunk), append(runs[1] as StreamChunk))).toEqual({
      applied: true,
    });
    await commit(ledger, append(runs[2] as StreamChunk));
    const reopened = await reopen();
    expect(await reopened.streamChunks("acme", "exec_1", 0, 100)).toEqual(runs);
  });

  ledgerCase("a read goes on behind a number, and takes no more runs than it is allowed", async ({ ledger }) => {
    await commit(ledger, append(chunk(1, 3)), append(chunk(4, 6)), append(chunk(8, 9)));
    expect(await ranges(ledger, 2)).toEqual(["1-3", "4-6", "8-9"]);
    expect(await ranges(ledger, 3)).toEqual(["4-6", "8-9"]);
    expect(await ranges(ledger, 3, 1)).toEqual(["4-6"]);
    expect(await ranges(ledger, 9)).toEqual([]);
  });

  ledgerCase("what lies before the cut goes, of this call alone", async ({ ledger }) => {
    const others = [chunk(1, 3, { callId: "exec_2" }), chunk(1, 3, { tenant: "globex" })];
    await commit(ledger, append(chunk(1, 3)), append(chunk(4, 6)), ...others.map((one) => append(one)));
    await commit(ledger, append(chunk(7, 9), 4));
    expect(await ranges(ledger)).toEqual(["4-6", "7-9"]);
    expect(await ranges(ledger, 0, 100, "exec_2")).toEqual(["1-3"]);
    expect(await ranges(ledger, 0, 100, "exec_1", "globex")).toEqual(["1-3"]);
    expect(await ranges(ledger, 0, 100, "exec_1", "initech")).toEqual([]);
  });

  ledgerCase("the last number is that of the last run, or of the mark of the end", async ({ ledger }) => {
    expect(await ledger.lastStreamSeq("acme", "exec_1")).toBe(0);
    await commit(ledger, append(chunk(1, 3)), append(chunk(4, 16)));
    expect(await ledger.lastStreamSeq("acme", "exec_1")).toBe(16);
    await commit(ledger, append(chunk(17, 17, { events: [] })));
    expect(await ledger.lastStreamSeq("acme", "exec_1")).toBe(17);
    expect(await ledger.streamChunks("acme", "exec_1", 16, 1)).toEqual([chunk(17, 17, { events: [] })]);
    expect(await ledger.lastStreamSeq("globex", "exec_1")).toBe(0);
  });

  ledgerCase("a run of half a MiB is kept whole", async ({ ledger, reopen }) => {
    const large = JSON.stringify({ text: "\u0000☂\\".repeat(60_000) });
    await commit(ledger, append(chunk(1, 1, { events: [event(1, large)] })));
    const [found] = await (await reopen()).streamChunks("acme", "exec_1", 0, 1);
    expect(found?.events[0]?.dataJson).toBe(large);
  });
}
