// `signalbox audit`: reads the audit log, and checks that nobody changed it.
import type { AuditVerdict } from "@signalbox/client";
import type { Command } from "commander";
import { resolve } from "node:path";
import { exitCodes } from "../exit-codes.ts";
import type { Paint } from "../paint.ts";
import { withProgress } from "../progress.ts";
import { countFlag, givenOnly } from "../session.ts";
import type { OnlineSession, Outcome, Runs, Session } from "../session.ts";
import { plainLine } from "../text.ts";

interface ListOptions {
  readonly principal?: string;
  readonly action?: string;
  readonly call?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

interface VerifyOptions {
  readonly local?: boolean;
  readonly data: string;
}

export function addAudit(program: Command, runs: Runs): void {
  const audit = program.command("audit").description("read the audit log, and check that nobody changed it");
  runs.online<ListOptions>(
    audit
      .command("list")
      .description("the newest records")
      .option("--principal <principal>", "records about this principal only")
      .option("--action <action>", "records of this action only, like call.settled or key.created")
      .option("--call <execution-id>", "records about this call only")
      .option("--limit <count>", "how many (25, at most 100)")
      .option("--cursor <cursor>", "go on where another list ended"),
    listAudit,
  );
  runs.either<VerifyOptions>(
    audit
      .command("verify")
      .description("walk the whole chain; exit code 1 when it does not hold")
      .option("--local", "without the runtime: read the data folder itself")
      .option("--data <folder>", "the data folder for --local", ".signalbox"),
    { offlineWhen: ({ local }) => local === true, online: verifyByRuntime, offline: verifyFolder },
  );
}

async function listAudit(session: OnlineSession, _args: readonly string[], options: ListOptions): Promise<Outcome> {
  const { principal, action, call, cursor } = options;
  const page = await session.client.audit.list(
    { ...givenOnly({ principal, action, execution_id: call, cursor }), ...countFlag(options.limit) },
    session,
  );
  session.print(page, () =>
    session.table(page.items, [
      { title: "TIME", cell: (record) => record.ts },
      { title: "ACTION", cell: (record) => record.action },
      { title: "PRINCIPAL", cell: (record) => record.principal, shrinks: true },
      { title: "TOOL", cell: (record) => record.tool ?? "", shrinks: true },
      { title: "RESULT", cell: (record) => record.error_code ?? record.status ?? "" },
      { title: "CALL", cell: (record) => record.execution_id ?? "" },
      { title: "SEQ", cell: (record) => `${record.lane}#${record.seq}` },
    ]),
  );
  if (page.next_cursor !== null) session.remark(`more:  add --cursor ${page.next_cursor}`);
}

async function verifyByRuntime(session: OnlineSession): Promise<Outcome> {
  const verdict = await withProgress(session.io, "walking the audit chain", () => session.client.audit.verify(session));
  return tell(session, verdict);
}

async function verifyFolder(session: Session, _args: readonly string[], options: VerifyOptions): Promise<Outcome> {
  const { verifyLocal } = await session.io.compose();
  const folder = resolve(session.io.cwd, options.data);
  return tell(session, await withProgress(session.io, "walking the audit chain", () => verifyLocal(folder)));
}

function tell(session: Session, verdict: AuditVerdict): Outcome {
  const { ok, records, lanes, problems } = verdict;
  session.print({ ok, records, lanes, problems }, () => tellVerdict(session.paint, verdict));
  if (!ok)
    session.remark(
      "next:  keep the data folder as it is, and compare it with a backup from before the first seq named above",
    );
  return ok ? exitCodes.ok : exitCodes.failed;
}

/** For people, line by line. */
export function tellVerdict(paint: Paint, { ok, records, lanes, problems }: AuditVerdict): string {
  const said = `${records} record${records === 1 ? "" : "s"} in ${lanes} lane${lanes === 1 ? "" : "s"}`;
  if (ok) return `${paint.green("the chain holds")}: ${said}\n`;
  const lines = problems.map(({ tenant, lane, seq, kind, message }) => `  ${plainLine(`${tenant}/${lane}#${seq} ${kind}: ${message}`)}\n`);
  return `${paint.red("the chain does not hold")}: ${said}\n${lines.join("")}`;
}
