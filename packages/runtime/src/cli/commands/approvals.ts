// `signalbox approvals`: what waits for people, listed or watched.
import type { Approval, ApprovalQuery, ApprovalStatus, Page } from "@signalbox/client";
import { Option } from "commander";
import type { Command } from "commander";
import { askedText, endText, paintApproval } from "../approval-words.ts";
import { CliError } from "../failure.ts";
import { followFlags, refuseInterval } from "../follow.ts";
import type { FollowOptions } from "../follow.ts";
import { givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { relativeText } from "../times.ts";
import { watch } from "../watch.ts";
import type { News } from "../watch.ts";
import { showApproval } from "./approval-show.ts";
import { addVotes } from "./approval-vote.ts";

interface ListOptions extends FollowOptions {
  readonly status?: ApprovalStatus;
  readonly all?: boolean;
  readonly mine?: boolean;
  readonly tool?: string;
  readonly requester?: string;
  readonly project?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

const statuses = ["pending", "approved", "rejected", "expired", "cancelled", "escalated"] as const;
/** Pages of 100 that one look of `--watch` reads; more open questions than that nobody can follow by eye. */
const watchedPagesMax = 10;

export function addApprovals(program: Command, runs: Runs): void {
  const approvals = program.command("approvals").description("see what waits for people, and decide it");
  runs.online<ListOptions>(
    followFlags(
      pageOptions(
        approvals
          .command("list")
          .description("what waits for a decision")
          .addOption(new Option("--status <status>", "pending, if nothing is said").choices(statuses))
          .option("--all", "whatever its status")
          .option("--mine", "only what you could decide now")
          .option("--tool <tool>", "about this tool only")
          .option("--requester <principal>", "asked by this principal only")
          .option("--project <project>", "of this project only"),
      ),
      "go on, and print what is new; Ctrl-C ends it",
    ),
    (session, _args, options) => (options.watch === true ? watchList(session, options) : listOnce(session, options)),
  );
  runs.online<FollowOptions>(
    followFlags(
      approvals
        .command("show")
        .description("one approval: what is asked, why, who decides, and what to type")
        .argument("<approval-id>"),
      "go on until it is decided, and print what is new",
    ),
    showApproval,
  );
  addVotes(approvals, runs);
}

function queryOf({ all, status, mine, tool, requester, project }: ListOptions): ApprovalQuery {
  if (all === true && status !== undefined) throw new CliError("--all and --status contradict each other");
  return { ...givenOnly({ mine, tool, requester, project }), ...(all === true ? {} : { status: status ?? "pending" }) };
}

async function listOnce(session: OnlineSession, options: ListOptions): Promise<Outcome> {
  refuseInterval(options);
  const page = await session.client.approvals.list({ ...queryOf(options), ...pageFlags(options) }, session);
  session.print(page, () => approvalsTable(session, page.items));
  const [first] = page.items;
  if (first === undefined) session.remark("nothing waits for a decision");
  else session.remark(`next:  signalbox approvals show ${first.approval_id}`);
  remarkMore(session, page);
}

function approvalsTable({ table, paint, io }: OnlineSession, approvals: readonly Approval[]): string {
  const now = io.now();
  return table(approvals, [
    { title: "APPROVAL", cell: (one) => one.approval_id },
    { title: "STATUS", cell: (one) => one.status, paint: (text, one) => paintApproval(paint, one.status)(text) },
    { title: "ABOUT", cell: aboutText, shrinks: true },
    { title: "REQUESTER", cell: (one) => one.requester, shrinks: true },
    { title: "ASKS", cell: askedText },
    {
      title: "EXPIRES",
      cell: (one) => (one.status === "pending" ? relativeText(Date.parse(one.expires_at), now) : ""),
    },
    { title: "BECAUSE", cell: (one) => one.reason, shrinks: true },
  ]);
}

function aboutText({ kind, tool, version, session_id: session }: Approval): string {
  if (kind === "limit") return `limit of ${session ?? ""}`;
  return kind === "resolve" ? `end of ${tool}@${version}` : `${tool}@${version}`;
}

async function watchList(session: OnlineSession, options: ListOptions): Promise<Outcome> {
  if (options.limit !== undefined || options.cursor !== undefined)
    throw new CliError("--watch follows the whole list, so it takes neither --limit nor --cursor");
  const query = queryOf(options);
  await watch(session, options, {
    look: () => wholeList(session, query),
    idOf: (one) => one.approval_id,
    news: (one, before) => {
      if (before?.status !== one.status) return lineOf(session, one, one.status);
      return before.args_hash === one.args_hash ? undefined : lineOf(session, one, "edited");
    },
    // It left the list: mostly because it was decided, which is news.
    gone: async (before) => {
      const { argsText: _, ...now } = await session.client.approvals.get(before.approval_id, session);
      return now.status === before.status ? undefined : { ...lineOf(session, now, now.status), row: now };
    },
    picture: (approvals) => approvalsTable(session, approvals),
  });
}

/** The oldest first, as a log reads. */
async function wholeList(session: OnlineSession, query: ApprovalQuery): Promise<readonly Approval[]> {
  const items: Approval[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < watchedPagesMax; count++) {
    const page: Page<Approval> = await session.client.approvals.list(
      { ...query, limit: 100, ...givenOnly({ cursor }) },
      session,
    );
    items.push(...page.items);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  return items.sort((one, other) => Date.parse(one.opened_at) - Date.parse(other.opened_at));
}

function lineOf({ io, paint }: OnlineSession, approval: Approval, news: string): Omit<News<Approval>, "row"> {
  const open = `${askedText(approval)}, expires ${relativeText(Date.parse(approval.expires_at), io.now())}: ${approval.reason}`;
  const what = approval.status === "pending" ? open : endText(approval);
  const about = `${aboutText(approval)} for ${approval.requester}`;
  return {
    line: `${approval.approval_id}  ${news.padEnd(9)}  ${about}  ${what}`,
    paint: paintApproval(paint, approval.status),
  };
}
