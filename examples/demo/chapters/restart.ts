// The runtime stops in good order and comes back: it finds its calls, and one that waited is run.
import { idIn, type Stage } from "../stage.ts";

export async function restart(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.stopWorker();
  const queued = await stage.cli("With no worker there, a payment waits in the queue.", [
    "run",
    "payments.charge",
    "--input",
    '{"amount":18,"currency":"EUR","payee":"Mill Lane Bakery, Ltd."}',
    "--async",
  ]);
  const id = idIn(queued.stdout);
  telling.check("it is queued", (await stage.call(id)).status, "queued");
  const before = await stage.ask("GET", "/v1/executions?limit=100");

  telling.sentence("The runtime is told to stop.");
  telling.check("it left in good order", await stage.stopRuntime(), "exit code 0");

  telling.sentence("It starts again on the same data.");
  telling.check("it found its data", await stage.startRuntime(), { ready: true, first_start: false });
  const after = await stage.ask("GET", "/v1/executions?limit=100");
  telling.check("and every call as it was", after.body, before.body);
  telling.sentence("A worker comes.");
  await stage.startWorker();
  const call = await stage.callIn(id, "succeeded");
  telling.check("the call that waited has run, once", [call.execution.attempt, call.attempts.length], [1, 1]);
  telling.check("one receipt for it", stage.receipts().filter(({ call_id }) => call_id === id).length, 1);
  const verified = await stage.cli("The chain goes on where it stood.", ["audit", "verify"]);
  telling.check("the chain holds", verified.stdout, /^the chain holds:/m);
}
