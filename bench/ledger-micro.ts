// Measures the embedded ledger alone: CPU and wall time of a call's two commits, one call at a time and 128 together.
//
//   node bench/ledger-micro.ts [calls that are finished already, default 0]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteLedger } from "../packages/runtime/src/adapters/sqlite/ledger.ts";
import { admitUnit, dayStart, sampleCall, settleUnit } from "../test/conformance/ledger-rows.ts";

const roundsEach = 5;
const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
const ledger = new SqliteLedger({
  path: join(folder, "ledger.db"),
  auditKey: Buffer.alloc(32, 7),
  lane: "bench",
  now: Date.now,
  onError: (error) => console.error(error),
});
let made = 0;

async function oneCall(): Promise<void> {
  made += 1;
  const startTag = made / 3;
  const call = sampleCall({
    callId: `exec_01KDVC3W80${String(made).padStart(16, "0")}`,
    admittedAt: dayStart + made,
    startTag,
  });
  await ledger.commit(admitUnit(call));
  await ledger.commit(settleUnit(call));
}

/** Runs `calls` calls, `together` at a time. */
async function run(calls: number, together: number): Promise<void> {
  let left = calls;
  const caller = async (): Promise<void> => {
    while (left-- > 0) await oneCall();
  };
  await Promise.all(Array.from({ length: together }, caller));
}

interface Sample {
  readonly cpuUs: number;
  readonly wallUs: number;
  readonly unitsPerCommit: number;
}

async function measure(calls: number, together: number): Promise<Sample> {
  const before = ledger.stats();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await run(calls, together);
  const wallUs = ((performance.now() - start) * 1_000) / calls;
  const { user, system } = process.cpuUsage(cpu);
  const after = ledger.stats();
  return {
    cpuUs: (user + system) / calls,
    wallUs,
    unitsPerCommit: (after.units - before.units) / (after.commits - before.commits),
  };
}

try {
  await run(Number(process.argv[2] ?? 0), 256);
  await run(3_000, 128);
  for (const [together, calls] of [
    [1, 1_500],
    [16, 6_000],
    [128, 12_000],
  ] as const) {
    const samples: Sample[] = [];
    for (let round = 0; round < roundsEach; round += 1) samples.push(await measure(calls, together));
    const { cpuUs, wallUs, unitsPerCommit } = samples.sort((a, b) => a.cpuUs - b.cpuUs)[(roundsEach - 1) / 2] as Sample;
    console.log(
      `${String(together).padStart(3)} together: ${cpuUs.toFixed(0)} µs CPU, ${wallUs.toFixed(0)} µs wall per call, ` +
        `${unitsPerCommit.toFixed(1)} units per commit`,
    );
  }
} finally {
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
}
