// Measures what the usage costs a call in the embedded ledger: its two commits with and without it, in rounds that take turns.
//
//   node bench/usage-micro.ts [numbers together, default 1,16,128]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteLedger } from "../packages/runtime/src/adapters/sqlite/ledger.ts";
import type { Unit } from "../packages/runtime/src/ledger/port.ts";
import { admitUnit, dayStart, sampleCall, sampleUsage, settleUnit } from "../test/conformance/ledger-rows.ts";

const roundsEach = 15;
/** Calls of so many tools, as a runtime has them that does more than one thing. */
const toolCount = 8;
const callsAt = (together: number): number => (together === 1 ? 1_000 : together < 32 ? 4_000 : 8_000);

const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
const ledger = new SqliteLedger({ path: join(folder, "ledger.db"), auditKey: Buffer.alloc(32, 7), lane: "bench", now: Date.now });
let made = 0;

async function oneCall(counted: boolean): Promise<void> {
  made += 1;
  const tool = `orders.find${made % toolCount}`;
  const call = sampleCall({ callId: `exec_01KDVC3W80${String(made).padStart(16, "0")}`, tool, admittedAt: dayStart + made, startTag: made });
  const settle = settleUnit(call);
  const without: Unit = { writes: settle.writes.filter(({ op }) => op !== "add_usage") };
  await ledger.commit(admitUnit(call));
  await ledger.commit(counted ? { writes: [...without.writes, { op: "add_usage", row: sampleUsage({ tool }) }] } : without);
}

async function cpuUsOfCall(together: number, counted: boolean): Promise<number> {
  const calls = callsAt(together);
  let left = calls;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await oneCall(counted);
  };
  const { user, system } = process.cpuUsage();
  await Promise.all(Array.from({ length: together }, caller));
  const after = process.cpuUsage();
  return (after.user + after.system - user - system) / calls;
}

const middle = (values: readonly number[]): number => values.toSorted((one, other) => one - other)[(values.length - 1) / 2] ?? Number.NaN;

try {
  await cpuUsOfCall(128, true);
  await cpuUsOfCall(128, false);
  for (const together of (process.argv[2] ?? "1,16,128").split(",").map(Number)) {
    const [without, counted, more]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < roundsEach; round += 1) {
      const one = await cpuUsOfCall(together, false);
      const other = await cpuUsOfCall(together, true);
      without.push(one);
      counted.push(other);
      more.push(other - one);
    }
    console.log(
      `${String(together).padStart(3)} together: ${middle(without).toFixed(1)} µs CPU a call without, ${middle(counted).toFixed(1)} with; ` +
        `${middle(more).toFixed(1)} µs more (least: ${Math.min(...without).toFixed(1)} and ${Math.min(...counted).toFixed(1)})`,
    );
  }
} finally {
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
}
