// Which tests stand for the cases of duplicates, leases, cancels, drains and stores: processes that die, freeze, leave or are cut off.
import type { Place } from "./registry.ts";

const chaos = "test/chaos/chaos.test.ts";
const drain = "test/e2e/drain.test.ts";
const lostWorkers = "test/e2e/lost-workers.test.ts";
const recovery = "test/e2e/recovery.test.ts";
const streams = "test/e2e/streams.test.ts";
const workerCore = "packages/worker/src/core.test.ts";

export const outageCases: Readonly<Record<string, readonly Place[]>> = {
  "report 012": [
    [recovery, "the result of a call that is %s and has %s"],
    [recovery, "the dispatch of a call that is %s"],
    ["test/e2e/replicas.test.ts", "SCH-14: a thousand calls, four workers at two replicas"],
  ],
  "report 014": [[drain, "reports 014 and 176, worst thing 7"]],
  "report 020": [
    [lostWorkers, "reports 056 and 020, WRK-05"],
    [streams, "report 020: a worker that comes back and does not know the call"],
  ],
  "report 050": [[streams, "report 050: a worker never holds more than it advertised"]],
  "report 055": [[lostWorkers, "report 055: a host that vanishes without a FIN"]],
  "report 056": [[lostWorkers, "reports 056 and 020, WRK-05"]],
  "report 058": [[streams, "report 058, worst thing 6: TCP is cut for 2 s"]],
  "report 064": [["test/e2e/cancel-timeout.test.ts", "report 064: a cancel reaches a worker"]],
  "report 065": [["test/e2e/reports-approvals.test.ts", "report 065: a cancel beside a yes"]],
  "report 176": [[drain, "reports 014 and 176, worst thing 7"]],
  // Nothing is pushed to a collector; what is pushed at all are webhooks.
  "report 177": [[drain, "report 177: a receiver of webhooks that never answers"]],
  "report 195": [
    [lostWorkers, "worst thing 3, report 045, WRK-06"],
    [lostWorkers, "worst thing 3, WRK-05, WRK-06: a stopped worker gets no new work"],
  ],
  "report 197": [
    ["test/e2e/idle-balancer.test.ts", "report 197: a worker's heartbeats are answered on its stream"],
    ["test/e2e/idle-balancer.test.ts", "report 197: a silent call's readers over HTTP outlast the balancer"],
    ["test/e2e/idle-balancer.test.ts", "report 197: whoever is cut all the same comes back"],
  ],
  "report 199": [
    [lostWorkers, "report 055: a host that vanishes without a FIN"],
    [workerCore, "a stream on which three of them are not answered is left"],
  ],
  "worst thing 2": [[lostWorkers, "worst thing 2: a tool that runs for longer"]],
  "worst thing 3": [[lostWorkers, "worst thing 3, WRK-05, WRK-06: a stopped worker gets no new work"]],
  "worst thing 6": [[streams, "report 058, worst thing 6: TCP is cut for 2 s"]],
  "worst thing 7": [
    ["test/e2e/restarts.test.ts", "worst thing 7: SIGTERM with a running and four queued calls"],
    [drain, "reports 014 and 176, worst thing 7"],
  ],
  // At every transition on one ledger, and of one of two replicas under load.
  "worst thing 8": [
    [recovery, "killed right %s the commit of"],
    [chaos, "one of two replicas killed"],
  ],
  "worst thing 9": [["test/e2e/cancel-timeout.test.ts", "worst thing 9"]],
  "worst thing 10": [["test/e2e/garbage-worker.test.ts", "worst thing 10: a result that is %s"]],
};
