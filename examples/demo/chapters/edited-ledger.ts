// The audit of a stopped runtime is checked, and whoever has changed it on the disk is found out.
import { cpSync } from "node:fs";
import { join } from "node:path";
import type { Stage } from "../stage.ts";

/** Three ways to tidy up a record, each on a copy of the stopped runtime's data. */
const edits = [
  ["edited", "one record says another name", "UPDATE audit SET principal = 'user:nobody' WHERE seq = 5"],
  ["deleted", "one record is gone", "DELETE FROM audit WHERE seq = 5"],
  ["cut", "the newest record is gone", "DELETE FROM audit WHERE seq = (SELECT MAX(seq) FROM audit)"],
] as const;

export async function editedLedgers(stage: Stage): Promise<void> {
  const { telling } = stage;
  telling.sentence("The runtime is told to stop.");
  telling.check("it left in good order", await stage.stopRuntime(), "exit code 0");
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
