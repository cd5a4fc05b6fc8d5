// Loaded before the runtime by tests that let it die at a transaction of their choice: by SIGKILL, right before its COMMIT or right after.
//
// Which one stands in the file that DIE_AT names, as `Death` in JSON; while there is no such file nothing happens.
import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { StatementSync } from "node:sqlite";

export interface Death {
  readonly when: "before" | "after";
  /** Texts that one of the transaction's rows holds, each of them: an event, a call's id, a key. */
  readonly holds: readonly string[];
}

const file = process.env["DIE_AT"];
let texts: string[] = [];

function die(): never {
  if (file !== undefined) unlinkSync(file); // the next start lives
  process.kill(process.pid, "SIGKILL");
  // The signal is on its way; nothing else happens here any more.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function deathNow(): Death["when"] | undefined {
  if (file === undefined || !existsSync(file)) return undefined;
  const { when, holds } = JSON.parse(readFileSync(file, "utf8")) as Death;
  return holds.every((one) => texts.some((text) => text.includes(one))) ? when : undefined;
}

const { run } = StatementSync.prototype;
StatementSync.prototype.run = function (this: StatementSync, ...values: Parameters<typeof run>) {
  const sql = this.sourceSQL;
  if (sql === "BEGIN IMMEDIATE") texts = [];
  if (sql !== "COMMIT") {
    for (const value of values) if (typeof value === "string") texts.push(value);
    return run.apply(this, values);
  }
  const when = deathNow();
  if (when === "before") die();
  const done = run.apply(this, values);
  if (when === "after") die();
  return done;
} as typeof run;
