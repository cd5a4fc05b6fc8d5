// Measures the embedded ledger alone: CPU and wall time of a call's two commits, at several numbers of calls together, and
// how much of it is COMMIT itself (the log, the fsync, and the checkpoints that ride on it).
//
//   node bench/ledger-micro.ts [calls that are finished already, default 0] [numbers together, default 1,16,128]
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteLedger } from "../packages/runtime/src/adapters/sqlite/ledger.ts";
import { admitUnit, dayStart, sampleCall, settleUnit } from "../test/conformance/ledger-rows.ts";

const roundsEach = 9;
/** Calls a round: enough for 0.3 s or so. */
const callsAt = (together: number): number => (together === 1 ? 1_000 : together < 32 ? 4_000 : 8_000);
const cpuUs = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

let commitCpuUs = 0;

/** Has every COMMIT that is prepared from here on counted. */
function countCommits(): void {
  const prepare = DatabaseSync.prototype.prepare;
  DatabaseSync.prototype.prepare = function (sql, ...rest) {
    const statement = prepare.call(this, sql, ...rest);
    if (sql !== "COMMIT") return statement;
    const run = statement.run.bind(statement);
    statement.run = () => {
      const before = cpuUs();
      const result = run();
      commitCpuUs += cpuUs() - before;
      return result;
    };
    return statement;
  };
}

countCommits();
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
  readonly commitUs: number;
  readonly wallUs: number;
  readonly unitsPerCommit: number;
}

async function measure(calls: number, together: number): Promise<Sample> {
  const before = ledger.stats();
  const [cpu, commits, start] = [cpuUs(), commitCpuUs, performance.now()];
  await run(calls, together);
  const wallUs = ((performance.now() - start) * 1_000) / calls;
  const after = ledger.stats();
  return {
    cpuUs: (cpuUs() - cpu) / calls,
    commitUs: (commitCpuUs - commits) / calls,
    wallUs,
    unitsPerCommit: (after.units - before.units) / (after.commits - before.commits),
  };
}

try {
  await run(Number(process.argv[2] ?? 0), 256);
  // Until the compiler has nothing left to do: its threads would count as ours.
  await run(20_000, 128);
  await run(1_000, 1);
  for (const together of (process.argv[3] ?? "1,16,128").split(",").map(Number)) {
    const samples: Sample[] = [];
    for (let round = 0; round < roundsEach; round += 1) samples.push(await measure(callsAt(together), together));
    samples.sort((a, b) => a.cpuUs - b.cpuUs);
    const [least] = samples as [Sample];
    const middle = samples[(roundsEach - 1) / 2] as Sample;
    console.log(
      `${String(together).padStart(3)} together: ${middle.cpuUs.toFixed(0)} µs CPU a call (least ${least.cpuUs.toFixed(0)}), ` +
        `${middle.commitUs.toFixed(0)} of it in COMMIT (least ${least.commitUs.toFixed(0)}), ${middle.wallUs.toFixed(0)} µs wall, ` +
        `${middle.unitsPerCommit.toFixed(1)} units per commit`,
    );
  }
} finally {
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
}
