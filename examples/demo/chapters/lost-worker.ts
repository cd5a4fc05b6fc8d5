// Workers are killed in mid-call. A safe call runs again by itself; an unsafe one is never repeated before a person has looked.
import type { Attempt } from "@signalbox/client";
import { idIn, type Receipt, type Somebody, type Stage } from "../stage.ts";

/** The runtime waits this long for a lost worker to come back: it may only have lost its network. */
const leaseMs = 15_000;
/** A lease runs out, and the sweep finds it; the rest is patience with a slow machine. */
const settledWithinMs = 30_000;
const longMs = "60000";

/** Two payments with the same end and different truths, and a report. */
interface Lost {
  readonly paid: string;
  readonly unpaid: string;
  readonly report: string;
}

export async function workerIsLost(stage: Stage): Promise<void> {
  await stage.stopWorker();
  const before = stage.receipts().length;
  const lost = await loseWorkers(stage);
  await waitForLeases(stage, lost);
  await safeCallFinished(stage, lost.report);
  await unsafeCallsParked(stage, lost);
  const receipts = (): readonly Receipt[] => stage.receipts().slice(before);
  await personLooks(stage, lost, receipts);
}

async function loseWorkers(stage: Stage): Promise<Lost> {
  const { telling } = stage;
  telling.sentence(
    "A worker whose bank takes the money at once and is slow to say so, and whose reports take minutes.",
  );
  const first = await stage.startWorker({ DEMO_BANK_PAUSE_AFTER_MS: longMs, DEMO_REPORT_STEP_MS: longMs });
  const report = await start(stage, "It gets a report to build …", "reports.build", {
    name: "july",
    path: "data/orders.csv",
  });
  const paid = await start(stage, "… and a payment.", "payments.charge", {
    amount: 75,
    currency: "EUR",
    payee: "Yuki Tanabe",
  });
  await stage.callIn(report, "running");
  await stage.until(
    () => "the bank to take the money",
    () => stage.receipts().some(({ call_id }) => call_id === paid),
  );
  telling.sentence("The money is taken, the answer is not sent yet. Now the worker dies.");
  await stage.killWorker(first);

  telling.sentence("A second one, whose bank thinks first and takes the money later.");
  const second = await stage.startWorker({ DEMO_BANK_PAUSE_BEFORE_MS: longMs });
  const unpaid = await start(stage, "It gets another payment.", "payments.charge", {
    amount: 31.5,
    currency: "EUR",
    payee: "Ada Lindqvist",
  });
  await stage.callIn(unpaid, "running");
  telling.sentence("Nothing is taken yet. It dies as well.");
  await stage.killWorker(second);
  return { paid, unpaid, report };
}

async function start(stage: Stage, sentence: string, tool: string, input: object): Promise<string> {
  const { stdout } = await stage.cli(sentence, ["run", tool, "--input", JSON.stringify(input), "--async"]);
  return idIn(stdout);
}

async function waitForLeases(stage: Stage, { paid, unpaid }: Lost): Promise<void> {
  const { telling } = stage;
  const killedAt = performance.now();
  telling.sentence("A healthy worker takes their place.");
  await stage.startWorker();
  await stage.cli("The calls stay with the lost workers until their leases run out.", [
    "calls",
    "list",
    "--limit",
    "3",
  ]);
  const over = telling.countdown(`the leases of ${leaseMs / 1000} s run out`, killedAt + leaseMs);
  try {
    await stage.callIn(paid, "indeterminate", settledWithinMs);
    await stage.callIn(unpaid, "indeterminate", settledWithinMs);
  } finally {
    over();
  }
}

async function safeCallFinished(stage: Stage, report: string): Promise<void> {
  const { telling } = stage;
  await stage.callIn(report, "succeeded");
  const { stdout } = await stage.cli("The report is safe to build again, so the runtime did just that.", [
    "calls",
    "show",
    report,
  ]);
  telling.check("it was queued again and finished", stdout, /started[^]*retried[^]*dispatched[^]*succeeded/);
  const call = await stage.call(report);
  telling.check(
    "nobody was hasty: the lost worker kept its lease to the end",
    leaseOf(call.attempts[0]) >= leaseMs,
    true,
  );
  telling.check("the healthy worker did it, on the second attempt", call, {
    status: "succeeded",
    output: { report: "reports/july.json", sections: 5, total: "17902.25" },
    execution: { attempt: 2, worker: /^demo-worker-\d+$/ },
    attempts: [
      { attempt: 1, fence: 1 },
      { attempt: 2, fence: 2, end_reason: "succeeded" },
    ],
  });
}

/** In ms; how long an ended attempt held its lease. */
function leaseOf(attempt: Attempt | undefined): number {
  return Date.parse(attempt?.ended_at ?? "") - Date.parse(attempt?.dispatched_at ?? "");
}

async function unsafeCallsParked(stage: Stage, { paid, unpaid }: Lost): Promise<void> {
  const { telling } = stage;
  for (const id of [paid, unpaid])
    telling.check(`the payment ${id} was not repeated: nobody knows its end`, await stage.call(id), {
      status: "indeterminate",
      settled_at: null,
      execution: { attempt: 1, routing_outcome: "indeterminate" },
    });
  const { stdout } = await stage.cli("Of the payments nobody knows whether they happened, and the runtime says so.", [
    "calls",
    "show",
    paid,
  ]);
  telling.check("it names the three answers", stdout, /confirm[^]*retry[^]*fail/);
}

async function personLooks(stage: Stage, { paid, unpaid }: Lost, receipts: () => readonly Receipt[]): Promise<void> {
  const { telling } = stage;
  const scopes = ["approvals:decide", "calls:read", "audit:read"];
  const olga = await stage.makeKey("Olga may decide such questions.", "user:olga", scopes, "OLGA_KEY");
  telling.sentence("She looks at the bank's receipts: the first payment is there, the second is not.");
  telling.command(`grep -e ${paid} -e ${unpaid} receipts.jsonl`);
  const found = receipts();
  telling.output(found.map((receipt) => JSON.stringify(receipt)).join("\n"));
  telling.check("one receipt, of the first payment", found, [{ call_id: paid, attempt: 1, amount: 75 }]);

  const output = { status: "processed", payment_id: found[0]?.payment_id };
  const confirm = [
    "calls",
    "resolve",
    paid,
    "confirm",
    "--output",
    JSON.stringify(output),
    "--comment",
    "has a receipt",
  ];
  await stage.cli("It happened: the first is confirmed, with its result.", confirm, { as: olga });
  telling.check("it has succeeded, without having run again", await stage.call(paid), {
    status: "succeeded",
    output,
    execution: { attempt: 1 },
  });
  const retry = ["calls", "resolve", unpaid, "retry", "--comment", "has no receipt"];
  await stage.cli("It did not happen: the second may run.", retry, { as: olga });
  telling.check("it ran, on its second attempt", await stage.callIn(unpaid, "succeeded"), {
    execution: { attempt: 2 },
  });
  telling.check("money was taken exactly once for each", receipts(), [
    { call_id: paid, attempt: 1, amount: 75 },
    { call_id: unpaid, attempt: 2, amount: 31.5 },
  ]);
  await decisionsOnRecord(stage, { paid, unpaid, olga });
}

async function decisionsOnRecord(stage: Stage, about: { paid: string; unpaid: string; olga: Somebody }): Promise<void> {
  const { telling } = stage;
  const { paid, unpaid, olga } = about;
  await stage.cli("All of that is on record.", ["audit", "list", "--call", unpaid], { as: olga });
  const decided = async (id: string, action: string): Promise<unknown> =>
    (await stage.ask("GET", `/v1/audit?execution_id=${id}&action=${action}`)).body["items"];
  telling.check("that Olga confirmed the first, and why", await decided(paid, "call.resolved"), [
    { approval: { by: ["user:olga"] }, details: { verdict: "confirm", comment: "has a receipt" } },
  ]);
  telling.check("that she let the second run, and why", await decided(unpaid, "call.retried"), [
    { approval: { by: ["user:olga"] }, details: { verdict: "retry", comment: "has no receipt" } },
  ]);
}
