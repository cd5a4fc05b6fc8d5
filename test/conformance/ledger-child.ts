// A process for ledger.sqlite.kill.test.ts: writes calls as fast as it can and prints each one that was acknowledged.
import { writeSync } from "node:fs";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import { admitUnit, sampleCall, settleUnit } from "./ledger-rows.ts";

const callersTogether = 16;
const [path = "", round = ""] = process.argv.slice(2);
const ledger = new SqliteLedger({ path, auditKey: Buffer.alloc(32, 1), lane: "r1", now: Date.now });
let made = 0;

async function callWithoutEnd(): Promise<never> {
  for (;;) {
    made += 1;
    const call = sampleCall({ callId: `c${round}-${made}`, tenant: made % 3 === 0 ? "globex" : "acme" });
    await ledger.commit(admitUnit(call));
    writeSync(1, `admitted ${call.tenant} ${call.callId}\n`);
    await ledger.commit(settleUnit(call));
    writeSync(1, `settled ${call.tenant} ${call.callId}\n`);
  }
}

await Promise.all(Array.from({ length: callersTogether }, callWithoutEnd));
