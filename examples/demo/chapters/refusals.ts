// What may not run is refused with a reason, reaches no worker, and stands in the audit.
import type { Somebody, Stage } from "../stage.ts";

const payment = '{"amount":10,"currency":"EUR","payee":"Vic"}';

export async function refusals(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.worker();
  const before = stage.receipts().length;

  const unknown = await stage.cli(
    "A tool that nobody has registered.",
    ["run", "payments.chrage", "--input", payment],
    {
      exitCode: 4,
    },
  );
  telling.check("tool_not_found", unknown.stderr, /\(tool_not_found\)/);

  const invalid = await stage.cli(
    "An input that is not what the schema says.",
    ["run", "payments.charge", "--input", '{"amount":"ten","currency":"EUR","card":"4111"}'],
    { exitCode: 1 },
  );
  telling.check("invalid_input", invalid.stderr, /\(invalid_input\)/);
  telling.check("it says where", invalid.stderr, /\/amount/);
  const { vic, denied } = await callerWithoutGrant(stage);

  const { stdout } = await stage.cli("Each of the three is on record.", ["audit", "list", "--limit", "8"]);
  telling.check("the list shows the unknown tool", stdout, /call\.refused .*payments\.chrage +tool_not_found/);
  telling.check("the list shows the invalid input", stdout, /call\.refused .*payments\.charge +invalid_input/);
  telling.check("the list shows the denied call", stdout, new RegExp(`user:vic +payments\\.charge .*${denied}`));
  telling.check("no worker was called: no receipt", stage.receipts().length, before);
  await grantHelps(stage, vic);
}

/** A key alone opens nothing. `denied` is the id of the record of that. */
async function callerWithoutGrant(stage: Stage): Promise<{ readonly vic: Somebody; readonly denied: string }> {
  const { telling } = stage;
  const sentence = "Vic gets a key that may ask for calls, but no grant for any tool.";
  const vic = await stage.makeKey(sentence, "user:vic", ["tools:invoke"], "VIC_KEY");
  const refused = await stage.cli("Vic tries to pay.", ["run", "payments.charge", "--input", payment, "--json"], {
    exitCode: 3,
    as: vic,
  });
  const answer = JSON.parse(refused.stderr) as { readonly execution_id?: string };
  telling.check("forbidden, and what is missing", answer, {
    error: { code: "forbidden", details: { missing: ["tool:invoke:payments.charge"] } },
  });
  const id = answer.execution_id ?? "";
  const call = await stage.call(id);
  telling.check("the denial has a record that holds no lease", call, {
    status: "denied",
    principal: "user:vic",
    attempts: [],
  });
  const { body } = await stage.ask("GET", `/v1/audit?execution_id=${id}`);
  telling.check("and one audit record", body["items"], [
    { action: "call.denied", principal: "user:vic", status: "denied", error_code: "forbidden" },
  ]);
  return { vic, denied: id };
}

async function grantHelps(stage: Stage, vic: Somebody): Promise<void> {
  await stage.cli("An administrator lets Vic read files, and nothing else.", [
    "grants",
    "create",
    "--subject",
    "user:vic",
    "--permission",
    "tool:invoke:files.summarize",
  ]);
  await stage.cli("From now on this works …", ["run", "files.summarize", "--input", '{"path":"data/orders.csv"}'], {
    as: vic,
    linesMax: 4,
  });
  await stage.cli("… and this still does not.", ["run", "payments.charge", "--input", payment], {
    as: vic,
    exitCode: 3,
  });
}
