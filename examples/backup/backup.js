// Copies a data folder while its runtime runs: node examples/backup/backup.js <data folder> <new folder>
import { cpSync, copyFileSync, mkdirSync, existsSync } from "node:fs";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";

const [from, to] = process.argv.slice(2);
if (from === undefined || to === undefined || existsSync(to)) {
  console.error("usage: node backup.js <data folder> <new folder>");
  process.exit(2);
}

// #region backup
mkdirSync(to, { mode: 0o700 });
// The anchor first: it may be older than the ledger beside it, never newer.
for (const name of ["audit.key", "worker.key", "client.json", "audit.anchor"])
  copyFileSync(join(from, name), join(to, name));
// SQLite's own backup: a whole ledger, whatever is written meanwhile.
const ledger = new DatabaseSync(join(from, "ledger.db"), { readOnly: true });
await backup(ledger, join(to, "ledger.db"));
ledger.close();
// The store last: what a ledger names was there before it was named. In making/ stands what is not whole yet.
cpSync(join(from, "store"), join(to, "store"), { recursive: true, filter: (path) => !path.endsWith("making") });
// #endregion backup
console.log(`${to} holds a copy of ${from}`);
