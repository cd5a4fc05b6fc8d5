// The brake: dispatch of one tool stops at once, everything else goes on, and what waited runs when it is let go.
import { idIn, type Stage } from "../stage.ts";
import { pay, people } from "./people.ts";

const tool = ["--tool", "payments.charge"];

export async function dispatchIsFrozen(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.worker();
  const { rita } = await people(stage);
  const before = stage.receipts().length;
  await stage.cli("Something is wrong with the bank. Nobody waits for a deployment.", [
    "freeze",
    ...tool,
    "--reason",
    "the bank answers slowly",
  ]);
  const asked = await stage.cli("A payment is taken in …", [...pay({ amount: 15 }), "--async"], { as: rita });
  const call = idIn(asked.stdout);
  await stage.cli("… and other tools run.", ["run", "files.summarize", "--input", '{"path":"data/orders.csv"}'], {
    linesMax: 2,
  });
  telling.check("the payment waits, with a free worker there", await stage.call(call), {
    status: "queued",
    attempts: [],
  });
  const { stdout } = await stage.cli("Who has stopped what?", ["freeze", "--list"]);
  telling.check("it says why", stdout, /^payments\.charge .*the bank answers slowly/m);
  await stage.cli("The bank is well again.", ["unfreeze", ...tool]);
  await stage.callIn(call, "succeeded");
  telling.check("the payment ran, once", stage.receipts().slice(before), [{ call_id: call, attempt: 1, amount: 15 }]);
}
