// A question outlives the runtime: it is asked before a stop, and answered after the start.
import { idIn, type Stage } from "../stage.ts";
import { pay, people } from "./people.ts";

export async function questionOutlives(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.worker();
  const { rita, fay } = await people(stage);
  const before = stage.receipts().length;
  const asked = await stage.cli("One more large payment.", [...pay({ amount: 2000 }), "--async"], { as: rita });
  const [call, approval] = [idIn(asked.stdout), idIn(asked.stderr, "apr")];
  const question = await stage.ask("GET", `/v1/approvals/${approval}`);
  telling.sentence("Nobody is in a hurry. The runtime is stopped and started.");
  telling.check("it left in good order", await stage.stopRuntime(), "exit code 0");
  telling.check("it found its data", await stage.startRuntime(), { ready: true, first_start: false });
  const after = await stage.ask("GET", `/v1/approvals/${approval}`);
  telling.check("the question is the same, to the millisecond", after.body, question.body);
  const yes = ["approvals", "approve", approval, "--args-hash", String(after.body["args_hash"])];
  await stage.cli("Fay says yes; the worker has come back by itself.", yes, { as: fay });
  await stage.callIn(call, "succeeded");
  telling.check("money was taken once", stage.receipts().slice(before), [{ call_id: call, attempt: 1, amount: 2000 }]);
}
