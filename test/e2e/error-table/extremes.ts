// The rows that need a runtime of their own: a full queue, a full disk, and a runtime that stops.
import { good, type ErrorCase } from "./case.ts";

const unavailable = { http: 503, grpc: 14, type: "runtime", retryable: true } as const;

export const queueFull: ErrorCase = {
  code: "queue_full",
  when: "1 000 calls of the tenant wait already",
  http: 429,
  grpc: 8,
  type: "limit",
  retryable: true,
  details: { limit: 1_000, retry_after_s: 1 },
  retryAfter: "1",
  reach: ({ admin }) => admin.invoke({ tool: "held.up", input: {} }),
};

export const ledgerUnavailable: ErrorCase = {
  code: "ledger_unavailable",
  when: "the disk is full",
  ...unavailable,
  details: { retry_after_s: 1 },
  retryAfter: "1",
  async reach({ admin }) {
    // The write-ahead log may have room of its own for a few commits more.
    for (let n = 0; n < 500; n++) {
      const answer = await admin.invoke({ tool: "echo", input: { n, text: "x".repeat(20_000) } });
      if (answer.status !== 200) return answer;
    }
    throw new Error("a full disk took 500 calls");
  },
};

export const draining: ErrorCase = {
  code: "draining",
  when: "the runtime stops, and waits for a call that runs",
  ...unavailable,
  details: { retry_after_s: 1 },
  retryAfter: "1",
  reach: ({ admin }) => admin.invoke({ tool: "echo", input: {} }),
};

export const extremeCases: readonly ErrorCase[] = [queueFull, ledgerUnavailable, draining];

/** Fills the queue up to `free` places: a freeze holds the calls up, and what it holds up waits for as long as it lasts. */
export async function fillQueue(admin: Parameters<ErrorCase["reach"]>[0]["admin"], free: number): Promise<void> {
  await good(admin.post("/v1/freezes", { tool: "held.up", reason: "to fill the queue" }));
  const one = () => good(admin.invoke({ tool: "held.up", input: {}, mode: "async" }));
  for (let left = 1_000 - free; left > 0; left -= 50)
    await Promise.all(Array.from({ length: Math.min(50, left) }, one));
}
