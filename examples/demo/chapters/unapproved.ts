// A person's no and nobody's yes end a call alike: nothing runs, and whoever asked is told which of the two it was.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { idIn, type Stage } from "../stage.ts";
import { pay, people } from "./people.ts";

export async function nobodyApproves(stage: Stage): Promise<void> {
  await stage.worker();
  await rejected(stage);
  await expired(stage);
}

async function rejected(stage: Stage): Promise<void> {
  const { telling } = stage;
  const { rita, gus } = await people(stage);
  const before = stage.receipts().length;
  const asked = await stage.cli("A payment that Gus knows something about.", [...pay({ amount: 1800 }), "--async"], {
    as: rita,
  });
  const [call, approval] = [idIn(asked.stdout), idIn(asked.stderr, "apr")];
  const { body } = await stage.ask("GET", `/v1/approvals/${approval}`);
  const no = ["--args-hash", String(body["args_hash"]), "--comment", "was paid in May"];
  await stage.cli("One no is enough.", ["approvals", "reject", approval, ...no], { as: gus });
  telling.check("the call is denied, with his words", await stage.callIn(call, "denied"), {
    attempts: [],
    error: { code: "approval_denied", message: /a person rejected it\. They said: was paid in May$/ },
  });
  telling.check("no receipt", stage.receipts().length, before);
}

async function expired(stage: Stage): Promise<void> {
  const { telling } = stage;
  const { rita, fay } = await people(stage);
  const input = '{"name":"board-july","path":"data/orders.csv"}';
  const asked = await stage.cli(
    "A report for the board; its rule gives the editors two seconds.",
    ["run", "reports.build", "--input", input, "--async"],
    { as: rita },
  );
  const [call, approval] = [idIn(asked.stdout), idIn(asked.stderr, "apr")];
  const { body } = await stage.ask("GET", `/v1/approvals/${approval}`);
  telling.check("nobody has decided in time, and it is told as that", await stage.callIn(call, "denied"), {
    attempts: [],
    error: { code: "approval_expired", message: /nobody decided on its approval in time/ },
  });
  const yes = ["approvals", "approve", approval, "--args-hash", String(body["args_hash"])];
  const late = await stage.cli("Fay is an editor, and late.", yes, { as: fay, exitCode: 1 });
  telling.check("a late yes starts nothing", late.stderr, /this expired at .* and was not run/);
  telling.check("no report lies around", existsSync(join(stage.folder, "reports/board-july.json")), false);
}
