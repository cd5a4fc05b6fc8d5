// The ledger tells it all: which calls there were, who did what, and that nobody has changed the record since.
import type { AuditVerdict } from "@signalbox/client";
import type { Stage } from "../stage.ts";

export async function ledgerTells(stage: Stage): Promise<void> {
  const { telling } = stage;
  const { stdout } = await stage.cli("Every call, and how it ended.", ["calls", "list", "--limit", "50"]);
  for (const status of ["succeeded", "failed", "denied", "cancelled"])
    telling.check(`there are calls that ended as ${status}`, stdout, new RegExp(` ${status} `));
  await stage.cli("The newest audit records.", ["audit", "list", "--limit", "10"]);
  const verified = await stage.cli("The chain over all of them is walked.", ["audit", "verify"]);
  telling.check("the chain holds", verified.stdout, /^the chain holds: \d+ records in 1 lane$/m);
  const { body } = await stage.ask("POST", "/v1/audit:verify", {});
  telling.check("over REST as well", body, { ok: true, problems: [] } satisfies Partial<AuditVerdict>);
}
