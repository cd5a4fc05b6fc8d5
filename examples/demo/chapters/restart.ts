// The runtime stops in good order and comes back: a call that waited is found and run, and an edited ledger is found out.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { idIn, type Stage } from "../stage.ts";

export async function restart(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.stopWorker();
  const queued = await stage.cli("With no worker there, a payment waits in the queue.", [
    "run",
    "payments.charge",
    ...["--input", '{"amount":18,"currency":"EUR","payee":"Mill Lane Bakery, Ltd."}', "--async"],
  ]);
  const id = idIn(queued.stdout);
  telling.check("it is queued", (await stage.call(id)).status, "queued");
  const before = await stage.ask("GET", "/v1/executions?limit=100");

  telling.sentence("The runtime is told to stop.");
  telling.check("it left in good order", await stage.stopRuntime(), "exit code 0");
  await editedLedgers(stage);

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

/** Three ways to tidy up a record, each on a copy of the stopped runtime's data. */
const edits = [
  ["edited", "one record says another name", "UPDATE audit SET principal = 'user:nobody' WHERE seq = 5"],
  ["deleted", "one record is gone", "DELETE FROM audit WHERE seq = 5"],
  ["cut", "the newest record is gone", "DELETE FROM audit WHERE seq = (SELECT MAX(seq) FROM audit)"],
] as const;

async function editedLedgers(stage: Stage): Promise<void> {
  const { telling } = stage;
  const verify = ["audit", "verify", "--local", "--data"];
  const whole = await stage.cli("Its data can be checked without it.", [...verify, ".signalbox"]);
  telling.check("the chain holds", whole.stdout, /^the chain holds:/m);
  for (const [copy, what, sql] of edits) {
    telling.sentence(`Somebody with access to the disk makes a change (in a copy): ${what}.`);
    telling.command(`cp -r .signalbox ${copy}`);
    cpSync(join(stage.folder, ".signalbox"), join(stage.folder, copy), { recursive: true });
    await stage.sql(`${copy}/ledger.db`, sql);
    const found = await stage.cli("It is found out.", [...verify, copy], { exitCode: 1 });
    telling.check("the chain does not hold", found.stdout, /^the chain does not hold:/m);
  }
}
