// A forbidden payment is denied by a rule: told before, told at the call, kept in the record, and unknown to every worker.
import { idIn, type Stage } from "../stage.ts";
import { pay, payment, people } from "./people.ts";

const dollars = { amount: 120, currency: "USD" };
const rule = { policy: "payments-in-euros-only", version: "1.0.0", level: "tenant", outcome: "deny" };

export async function ruleDenies(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.worker();
  const { rita } = await people(stage);
  const before = stage.receipts().length;
  const asked = await stage.cli("What would happen to a payment in dollars? Asking runs nothing.", [
    "policies",
    "explain",
    "payments.charge",
    "--input",
    payment(dollars),
    "--principal",
    "user:rita",
  ]);
  telling.check("it would be denied", asked.stdout, /^The call would be denied: Payments are made in euros only$/m);
  telling.check("it says which part decided", asked.stdout, /args\.currency != "EUR" is true: args\.currency is "USD"/);

  const refused = await stage.cli("Rita tries it.", pay(dollars), { as: rita, exitCode: 3 });
  telling.check("the rule is named", refused.stderr, /^denied by payments-in-euros-only@1\.0\.0 \(tenant\)/m);
  const id = idIn(refused.stderr);
  telling.check("the record says which rule it was", await stage.call(id), {
    status: "denied",
    attempts: [],
    policy: { decision: "deny", rules: [rule] },
  });
  const { body } = await stage.ask("GET", `/v1/executions/${id}/events`);
  const types = (body["items"] as readonly { readonly type: string }[]).map(({ type }) => type);
  telling.check("no worker heard of it", types, ["requested", "denied"]);
  telling.check("no receipt", stage.receipts().length, before);
}
