// Public reports 215, 218 and 219, and ISO of the service cases: twenty tenants, ten thousand mixed calls with equal names everywhere, and a
// mark of its own tenant in whatever goes in and out: none is ever met anywhere else.
import { expect, test } from "vitest";
import { acts } from "./fuzz/acts.ts";
import { fuzz } from "./fuzz/run.ts";

const calls = 10_000;
/** Alone on two cores it takes a third of this. */
const timeout = 180_000;

test(
  "reports 215, 218 and 219: nothing of one tenant is met at another: answers, streams, workers, webhooks, records, logs and figures",
  { timeout },
  async () => {
    const result = await fuzz({ calls, seed: 1 });
    expect(result.findings).toEqual([]);
    expect(result.asked).toBeGreaterThanOrEqual(calls);
    // A run that did or looked at little would be good whatever the runtime does.
    for (const { name } of acts) expect([name, (result.acts[name] ?? 0) > 30]).toEqual([name, true]);
    const looked = [
      "calls",
      "events",
      "audit",
      "keys",
      "tools",
      "approvals",
      "votes",
      "policies",
      "webhooks",
      "deliveries",
      "stream_chunks",
      "workspace_files",
    ];
    for (const table of looked) expect([table, (result.rows[table] ?? 0) >= 20]).toEqual([table, true]);
    const met = [
      "POST /v1/executions",
      "GET /v1/executions/exec_…",
      "GET /v1/executions/exec_…/stream",
      "worker work",
      "worker shared",
      "table calls",
      "webhook",
      "store",
    ];
    for (const where of met) expect([where, (result.met[where] ?? 0) > 20]).toEqual([where, true]);
    expect(result.storedFiles).toBeGreaterThan(100);
    expect(result.delivered).toBeGreaterThan(100);
  },
);
