// A call in flight is cancelled: the worker hears of it, stops, and says so.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { idIn, type Stage } from "../stage.ts";

export async function cancelInFlight(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.stopWorker();
  telling.sentence("A worker that takes its time over reports: 10 seconds for each of five sections.");
  await stage.startWorker({ DEMO_REPORT_STEP_MS: "10000" });
  const started = await stage.cli("A report is started, and nobody waits for it.", [
    "run",
    "reports.build",
    "--input",
    '{"name":"second-thoughts","path":"data/orders.csv"}',
    "--async",
  ]);
  const id = idIn(started.stdout);
  await stage.callIn(id, "running");
  telling.check("the handler is at work", (await stage.call(id)).status, "running");
  await stage.cli("Second thoughts.", ["calls", "cancel", id]);
  const call = await stage.callIn(id, "cancelled");
  telling.check("the worker confirmed that it stopped", call.error, {
    code: "cancelled",
    details: { stop_confirmed: true },
  });
  telling.check("no half a report lies around", existsSync(join(stage.folder, "reports")), false);
  const { stdout } = await stage.cli("The whole story of that call.", ["calls", "show", id]);
  telling.check("it tells of the wish and of the end", stdout, /started[^]*cancel_requested[^]*cancelled/);
  const again = await stage.cli("Cancelling twice is no error and changes nothing.", ["calls", "cancel", id]);
  telling.check("still cancelled", again.stdout, /is cancelled$/m);
  await stage.stopWorker();
}
