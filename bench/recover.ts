// Measures a start on a ledger with open calls: until the doors are open, and until no call is with a worker that is gone.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { limits } from "@signalbox/protocol";
import { makeFolder, startNode } from "./children.ts";
import { endsOf } from "./open-calls.ts";
import { serveEcho, startRuntime, type StartedRuntime } from "./subjects.ts";

export interface RecoverTimings {
  readonly calls: number;
  /** From the start of the process to its ready line, by then all that waits is in its line again. */
  readonly readyMs: number;
  /** From the end of the lease time in which workers may return until every call waits again or is parked. */
  readonly settledMs: number;
  /** How the calls stand in the end, where that is not as it should be. */
  readonly fault: string | undefined;
}

const fillTimeoutMs = 300_000;
const settleMsMax = 60_000;
const lookEveryMs = 20;

/** The ledger on SQLite; one on PostgreSQL has calls of the dead taken up by whoever lives, which is another figure. */
export async function timeRecovery(parent: string, calls: number, note: (text: string) => void): Promise<RecoverTimings> {
  const folder = makeFolder(parent, "recover");
  const first = await startRuntime(parent, [], folder);
  const { worker } = await serveEcho("signalbox", first);
  await Promise.all([worker.stop(), first.child.stop()]);
  note(`leaving ${calls} calls open`);
  const fill = startNode("the open calls", [join(import.meta.dirname, "open-fill.ts"), folder, String(calls)]);
  await fill.saying("filled", fillTimeoutMs);
  await fill.stop();
  const began = performance.now();
  const started = await startRuntime(parent, [], folder);
  const readyMs = performance.now() - began;
  try {
    note(`ready after ${Math.round(readyMs)} ms; waiting for the lease time of ${limits.leaseMs / 1_000} s`);
    return { calls, readyMs, ...(await settle(started, calls)) };
  } finally {
    await started.child.stop();
  }
}

interface Status {
  readonly started_at: string;
  readonly calls: Readonly<Record<string, number>>;
}

async function settle({ ready }: StartedRuntime, calls: number): Promise<Pick<RecoverTimings, "settledMs" | "fault">> {
  const giveUpAt = performance.now() + limits.leaseMs + settleMsMax;
  let status = await statusOf(ready);
  // Its own clock counts the lease time from the instant of its start.
  const sweepsFrom = Date.parse(status.started_at) + limits.leaseMs;
  const onTheWay = (): number => (status.calls["dispatched"] ?? 0) + (status.calls["running"] ?? 0);
  while (onTheWay() > 0 && performance.now() < giveUpAt) {
    await wait(lookEveryMs);
    status = await statusOf(ready);
  }
  const settledMs = Date.now() - sweepsFrom;
  const { queued, indeterminate } = endsOf(calls);
  const isWell = status.calls["queued"] === queued && status.calls["indeterminate"] === indeterminate && onTheWay() === 0;
  return { settledMs, fault: isWell ? undefined : `the calls stand as ${JSON.stringify(status.calls)}, not ${queued} queued and ${indeterminate} indeterminate` };
}

async function statusOf(ready: StartedRuntime["ready"]): Promise<Status> {
  const { key } = JSON.parse(readFileSync(String(ready["key_file"]), "utf8")) as { key: string };
  const answer = await fetch(`${String(ready["url"])}/v1/status`, { headers: { authorization: `Bearer ${key}` } });
  if (!answer.ok) throw new Error(`GET /v1/status answered ${answer.status}`);
  return (await answer.json()) as Status;
}
