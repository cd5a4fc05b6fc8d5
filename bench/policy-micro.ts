// Prints what authorizing costs for each way in which the other policies can be spread, and what changing the set costs.
//
//   node bench/policy-micro.ts [policies, default 10000]
import { timePolicies } from "./policy-10k.ts";

const decisionsEach = 20_000;
const policies = Number(process.argv[2] ?? 10_000);
const micros = (ms: number): string => `${(ms * 1_000).toFixed(1).padStart(7)} µs`;

for (const { spread, p50, p95, p99, errors, builtMs, replacedMs } of await timePolicies(policies, decisionsEach))
  console.log(
    `${policies} by ${spread.padEnd(12)}: p50 ${micros(p50)}, p95 ${micros(p95)}, p99 ${micros(p99)} an authorization` +
      `${errors === 0 ? "" : ` (${errors} WRONG)`}; built in ${builtMs.toFixed(0)} ms, one replaced in ${replacedMs.toFixed(1)} ms`,
  );
