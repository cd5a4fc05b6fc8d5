// A large payment waits for a person, who changes its arguments; the rules hear it again, and it runs once with the new ones.
import { idIn, type Stage } from "../stage.ts";
import { pay, payment, people, type People } from "./people.ts";

/** A call that waits, with what its voters have to name. */
interface Waiting {
  readonly call: string;
  readonly approval: string;
  readonly argsHash: string;
}

export async function personDecides(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.worker();
  const all = await people(stage);
  const small = stage.receipts().length;
  await stage.cli("A small payment needs nobody.", pay({ amount: 120 }), { as: all.rita });
  telling.check("it ran at once", stage.receipts().length, small + 1);

  const before = stage.receipts().length;
  const waiting = await largePayment(stage, all);
  telling.check("nothing is taken yet", stage.receipts().length, before);
  await forbiddenEdit(stage, all, waiting);
  await allowedEdit(stage, all, waiting);
  telling.check("money was taken once, and it is the smaller amount", stage.receipts().slice(before), [
    { call_id: waiting.call, attempt: 1, amount: 1250 },
  ]);
  await recordTells(stage, all, waiting);
}

async function largePayment(stage: Stage, { rita, fay }: People): Promise<Waiting> {
  const { telling } = stage;
  const asked = await stage.cli("A large one does not come to an end.", pay({ amount: 1500 }), {
    as: rita,
    exitCode: 6,
  });
  telling.check("it waits for people", asked.stderr, /^the call waits for people: approval apr_/m);
  const [call, approval] = [idIn(asked.stdout), idIn(asked.stderr, "apr")];
  telling.check("it holds no worker", await stage.call(call), { status: "awaiting_approval", attempts: [] });
  const list = await stage.cli("Fay looks what there is for her to decide.", ["approvals", "list", "--mine"], {
    as: fay,
  });
  telling.check("one thing", list.stdout.match(/^apr_/gm)?.length, 1);
  const shown = await stage.cli("Who asks for what, and why is she asked?", ["approvals", "show", approval], {
    as: fay,
  });
  telling.check("she sees the arguments", shown.stdout, /"amount": 1500/);
  telling.check("and the rule", shown.stdout, /payments-need-a-person@1\.0\.0 +tenant +require_approval/);
  const argsHash = /--args-hash ([0-9a-f]{64})/.exec(shown.stdout)?.[1] ?? "";
  return { call, approval, argsHash };
}

async function forbiddenEdit(stage: Stage, { fay }: People, { call, approval, argsHash }: Waiting): Promise<void> {
  const { telling } = stage;
  const edit = payment({ amount: 1250, currency: "USD" });
  const refused = await stage.cli(
    "She would rather pay in dollars. Changed arguments meet schema, permissions and rules again.",
    ["approvals", "approve", approval, "--args-hash", argsHash, "--args", edit],
    { as: fay, exitCode: 3 },
  );
  telling.check("a rule denies that", refused.stderr, /denied by policy: Payments are made in euros only/);
  telling.check("the call waits as before", (await stage.call(call)).status, "awaiting_approval");
}

async function allowedEdit(stage: Stage, { fay }: People, { call, approval, argsHash }: Waiting): Promise<void> {
  const { telling } = stage;
  const args = ["--args-hash", argsHash, "--args", payment({ amount: 1250 }), "--comment", "the offer says 1250"];
  const said = await stage.cli(
    "The offer says 1250 euros, so that is what she approves.",
    ["approvals", "approve", approval, ...args],
    { as: fay },
  );
  telling.check("her vote was enough", said.stdout, /^approved with other arguments/m);
  await stage.callIn(call, "succeeded");
}

async function recordTells(stage: Stage, { rita }: People, { call }: Waiting): Promise<void> {
  const { telling } = stage;
  const { stdout } = await stage.cli("Rita sees what became of it.", ["calls", "show", call], { as: rita });
  telling.check("in order", stdout, /approval_requested[^]*approved[^]*edited_by user:fay[^]*dispatched[^]*succeeded/);
  telling.check("the record says who changed what, for a model too", await stage.call(call), {
    policy: { decision: "require_approval" },
    edited: {
      by: "user:fay",
      args: { amount: 1250, currency: "EUR", payee: "Harbour Print" },
      note: /^A person changed the arguments .* do not make the call again/,
    },
    execution: { limits: { timeout_ms: 10_000 } },
  });
  const { body } = await stage.ask("GET", `/v1/audit?execution_id=${call}&limit=20`);
  const actions = (body["items"] as readonly { readonly action: string }[]).map(({ action }) => action);
  for (const action of ["approval.requested", "approval.edit_denied", "approval.edited", "approval.approved"])
    telling.check(`the audit has ${action}`, actions.filter((one) => one === action).length, 1);
}
