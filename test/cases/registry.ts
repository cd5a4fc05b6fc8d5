// Which tests stand for which cases of the specification and which reports of others: id → files and parts of titles.
import { agentCases } from "./agents.ts";
import { agentSessionCases } from "./agent-sessions.ts";
import { batchCases } from "./batches.ts";
import { outageCases } from "./outages.ts";
import { reportCases } from "./reports.ts";
import { turnCases } from "./turns.ts";

/** A file, and a part of the title of the test in it. */
export type Place = readonly [file: string, title: string];

const api = "test/e2e/api.test.ts";
const idempotency = "test/e2e/idempotency.test.ts";
const cache = "packages/runtime/src/corridor/result-cache.test.ts";
const cacheAtTheDoors = "test/e2e/result-cache.test.ts";
const rates = "packages/runtime/src/corridor/limits.test.ts";
const bucket = "packages/runtime/src/schedule/bucket.test.ts";
const audit = "test/e2e/audit-events.test.ts";
const badInput = "test/e2e/bad-input.test.ts";
const reports = "test/e2e/reports-audit.test.ts";
const approvals = "test/e2e/reports-approvals.test.ts";
const isolation = "test/isolation/fuzz.test.ts";
const fairLine = "packages/runtime/src/schedule/fair-line.test.ts";
const fairHub = "packages/runtime/src/dispatch/fair.test.ts";
const choice = "packages/runtime/src/dispatch/choose.test.ts";
const garbage = "test/e2e/garbage-worker.test.ts";

const outages = "test/conformance/ledger.postgres.outages.test.ts";

const retries = "test/e2e/retries.test.ts";
const retried = "packages/runtime/src/dispatch/retried.test.ts";
const lostWorkers = "test/e2e/lost-workers.test.ts";
const lostByClass = "test/e2e/lost-by-class.test.ts";

export const cases: Readonly<Record<string, readonly Place[]>> = {
  "RTY-01": [[retries, "RTY-01: two failures, then a success"]],
  "RTY-02": [["packages/runtime/src/call/back-off.test.ts", "RTY-02: two seconds, doubled with every attempt"]],
  "RTY-04": [[retries, "RTY-04: a payment that fails so surfaces at once"]],
  "RTY-06": [[retries, "RTY-06: 5 s in all, the next attempt 8 s away"]],
  "RTY-07": [
    [retries, "RTY-07: after two failures the tool is left alone"],
    [retried, "RTY-07: a tool that is down"],
    ["packages/runtime/src/dispatch/breaker.test.ts", "RTY-07: after its cool-down one call tries the tool"],
  ],
  "RTY-08": [
    [retries, "RTY-08: a runtime that is killed during the wait"],
    [retried, "RTY-08: a restart finds its instant"],
  ],

  "API-01": [[api, "API-01: echo answers with its input, its id and its execution block"]],
  "API-04": [[api, "API-04: an expired key and a revoked key are told apart"]],
  "API-05": [[api, "API-05: a viewer cannot invoke"]],
  "API-06": [[api, "API-06: another tenant in the body is refused"]],
  "API-07": [[api, "API-07: an unknown tool and an unknown version have the same code"]],
  "API-08": [[api, "API-08: without a version the active one runs"]],
  "API-09": [[api, "API-09: an input that lacks a field names it by pointer and keyword"]],
  "API-10": [[api, "API-10: denied and invalid at once is denied"]],
  "API-11": [[api, "API-11: a limit above the tool's is the tool's"]],
  "API-12": [[api, "API-12: a body of 1 MiB and one byte is too large"]],
  "API-13": [[api, "API-13: an unknown field is refused by its name"]],
  "API-14": [
    [api, "API-14: another tenant's id, an unknown id and no id at all are byte-identical"],
    [api, "API-14: a foreign id cannot be resolved either"],
    ["test/isolation/no-oracle.test.ts", "API-14, report 218: another tenant's, and nobody's"],
  ],
  "API-17": [[api, "API-17: an output that breaks its schema is the tool's fault"]],
  // Met at both doors: at that of gRPC with its status, and with the code and the fields of its typed detail.
  "API-19": [["test/e2e/error-table/lookups.ts", "the tool has no such version"]],
  "API-20": [
    ["test/e2e/registry.test.ts", "API-20: a walk over 260 tools meets each once"],
    ["packages/runtime/src/adapters/http/bounds.test.ts", "listItemsDefault and listItemsMax: 25 where nobody says"],
  ],

  "IDM-01": [[idempotency, "IDM-01: the same key and body twice is one call that ran once"]],
  "IDM-02": [[idempotency, "IDM-02: of 50 at once one runs"]],
  "IDM-05": [[idempotency, "IDM-05: the same key in another project and in another tenant is another call"]],
  "IDM-07": [["test/e2e/retention.test.ts", "IDM-07: a key lives as long as its call"]],
  "IDM-08": [[idempotency, "IDM-08: a header and a body that disagree are refused"]],
  "IDM-09": [[idempotency, "IDM-09: after a kill -9 between reserve and run"]],
  "IDM-11": [[idempotency, "IDM-11: a key while its call runs answers with its id and where it is"]],

  "CCH-01": [
    [cacheAtTheDoors, "CCH-01: a hit has the output, no worker and no time"],
    [cache, "CCH-01: the second call is answered by the first one's result"],
  ],
  "CCH-03": [[cache, "CCH-03: it is good for as long as the tool says"]],
  "CCH-04": [[cache, "CCH-04: another version is another question"]],
  "CCH-06": [[cache, "CCH-06: a failure is not kept"]],
  "CCH-07": [[cacheAtTheDoors, "CCH-07: a hundred at once, one run"]],

  // RL-06 is about a store that several runtimes share; there is one runtime, and its buckets are its own.
  "RL-01": [
    [rates, "RL-01: 300 a minute and 50 at once"],
    [bucket, "RL-01: 300 a minute, 50 at once"],
  ],
  "RL-02": [
    [rates, "RL-02: 6 a minute and 1 at once"],
    [bucket, "RL-02: 6 a minute, 1 at once"],
  ],
  "RL-05": [[rates, "RL-05: changed, it holds for the next request"]],
  "RL-07": [[rates, "RL-07: a refusal leaves no row and no key behind"]],
  "RL-08": [[rates, "RL-08: a call that exists costs nothing"]],
  "QT-01": [[rates, "QT-01: three a day: the fourth is refused until the day turns"]],
  "QT-02": [[rates, "QT-02: two at once: the third waits and is not refused"]],

  "SCH-01": [
    [fairLine, "SCH-01: a weighs 5, b and c 1"],
    [fairHub, "SCH-01 through the hub"],
  ],
  "SCH-02": [[fairLine, "SCH-02: a weighs 2, b 1"]],
  "SCH-06": [
    [fairLine, "SCH-06: within one tenant the sooner class goes first"],
    [fairHub, "SCH-06 through the hub"],
  ],
  "SCH-07": [[fairLine, "SCH-07: a batch call that has waited for a minute"]],
  "SCH-08": [[fairHub, "SCH-08: one slow call at once"]],
  "SCH-10": [[rates, "SCH-10: a full queue is told first"]],
  "SCH-12": [["test/e2e/boxes-lifecycle.test.ts", "SCH-12: without boxes everything for a box"]],
  "SCH-13": [
    ["packages/runtime/src/schedule/fair-restart.test.ts", "SCH-13: five wait and two run"],
    [fairHub, "SCH-13: after a restart with two that run"],
  ],
  "SCH-14": [["test/e2e/replicas.test.ts", "SCH-14: a thousand calls, four workers at two replicas"]],
  "SCH-15": [
    [fairLine, "ten thousand of a, and one of b"],
    [fairLine, "and the fourth at the latest"],
    [fairHub, "SCH-15 through the hub"],
  ],

  "WRK-01": [[choice, "WRK-01: who has run the code before"]],
  "WRK-02": [["packages/runtime/src/corridor/boxes.test.ts", "WRK-02: a floor of gVisor"]],
  "WRK-03": [[choice, "WRK-03: who has the memory"]],
  "WRK-05": [
    [lostWorkers, "WRK-05, report 054: the worker of an unsafe call is killed"],
    [lostWorkers, "WRK-05: the worker of a safe call is killed"],
  ],
  "WRK-06": [[lostWorkers, "worst thing 3, WRK-05, WRK-06: a stopped worker gets no new work"]],
  "WRK-07": [["test/e2e/drain.test.ts", "WRK-07: SIGTERM of a worker with three calls"]],
  "WRK-08": [
    [retried, "WRK-08: a box that cannot be made"],
    ["test/e2e/boxes-provision.test.ts", "WRK-08: what one worker cannot make a box for runs on another"],
  ],

  "AUD-02": [[audit, "AUD-02: one flipped byte of one row"]],
  "AUD-05": [[audit, "AUD-05: a chain that was recomputed without the key is reported"]],
  "AUD-06": [[reports, "AUD-06: without the key of its audit a runtime does not start"]],
  "AUD-07": [[audit, "AUD-07: the audit is asked by principal, action and time"]],
  "AUD-09": [
    [
      "packages/runtime/src/adapters/sqlite/audit-append.test.ts",
      "AUD-09: neither appending a record nor opening a ledger",
    ],
  ],

  "report 117": [
    [badInput, "report 117: half of a surrogate pair in an output is replaced"],
    [garbage, "report 117: the bytes ED A0 80 in a result become U+FFFD"],
  ],
  "report 120": [[reports, "report 120: a result over its limit is no half of a JSON text"]],
  "report 121": [[badInput, "report 121: `__proto__` in an output is a key like any other"]],
  "report 123": [[badInput, "report 123: 20 000 levels in 40 KB are refused within milliseconds"]],
  "report 124": [[badInput, "report 124: a schema of 100 000 levels is not registered"]],
  "report 125": [[badInput, "reports 125 and 127: a null for an optional field counts as absent"]],
  "report 127": [[badInput, "reports 125 and 127: a null for an optional field counts as absent"]],
  "report 181": [[outages, "report 181: a line that is silently dead"]],
  "report 183": [[outages, "report 183: who listens has a connection of its own"]],
  "report 184": [[outages, "report 184: a server that is killed"]],
  "report 185": [[outages, "report 185: connections that are ended while they rest"]],
  "report 191": [[outages, "reports 191 and 193: who lives is for the store's clock to say"]],
  "report 193": [[outages, "reports 191 and 193: who lives is for the store's clock to say"]],
  "report 208": [[fairLine, "report 208: a thousand calls over five hundred keys"]],
  "report 210": [[fairHub, "report 210: a tenant of slow calls"]],
  "report 215": [[isolation, "reports 215, 218 and 219: nothing of one tenant is met at another"]],
  "report 218": [
    ["test/isolation/no-oracle.test.ts", "API-14, report 218: another tenant's, and nobody's"],
    [approvals, "report 218: another tenant's approval is a 404 like one that nobody has"],
  ],
  "report 219": [[isolation, "reports 215, 218 and 219: nothing of one tenant is met at another"]],
  "report 223": [[reports, "report 223: a denial is audited as one"]],
  "report 224": [[approvals, "reports 035, 036, 037, 038 and 224: an expiry is told as one"]],
  "report 225": [[reports, "report 225: arguments that have no hash of their own"]],
  "report 227": [[reports, "report 227: every attempt that failed has a record of its own"]],

  F6a: [[lostByClass, "nobody is asked; it is queued again"]],
  F6b: [[lostByClass, "nobody is asked; it is queued again"]],
  F7a: [[lostByClass, "it is parked for a person"]],
  F7b: [[lostByClass, "it is parked for a person"]],
  "report 045": [[lostWorkers, "worst thing 3, report 045, WRK-06"]],
  "report 047": [["packages/runtime/src/dispatch/return.test.ts", "a lease that is over is dropped; a result under it is still wanted"]],
  "report 053": [["packages/runtime/src/dispatch/return.test.ts", "another incarnation is another worker"]],
  "report 054": [[lostWorkers, "WRK-05, report 054: the worker of an unsafe call is killed"]],
  "report 213": [
    [retries, "report 213: Retry-After in seconds and as a date"],
    ["packages/runtime/src/call/back-off.test.ts", "report 213: calls that fail together do not come back together"],
    ["packages/runtime/src/call/retry-after.test.ts", "report 213: %s is a wait"],
  ],
  ...outageCases,
  ...turnCases,
  ...batchCases,
  ...agentCases,
  ...agentSessionCases,
  ...reportCases,
};
