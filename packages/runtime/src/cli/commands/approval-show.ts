// `signalbox approvals show`: one approval as the person who decides it needs to see it.
import { approvalNews, approvalStory } from "../approval-story.ts";
import type { ShownApproval } from "../approval-story.ts";
import { CliError } from "../failure.ts";
import { follow } from "../follow.ts";
import type { FollowOptions } from "../follow.ts";
import { jsonLine } from "../json.ts";
import type { OnlineSession, Outcome } from "../session.ts";

export async function showApproval(
  session: OnlineSession,
  [id = ""]: readonly string[],
  options: FollowOptions,
): Promise<Outcome> {
  session.about.approvalId = id;
  if (options.watch === true) return watchApproval(session, id, options);
  if (options.interval !== undefined) throw new CliError("--interval goes with --watch");
  const approval = await session.client.approvals.get(id, session);
  session.print(withoutText(approval), () => storyFor(session, approval, true));
}

/** Its arguments stand in it as data already, with every digit. */
export function withoutText({ argsText: _, ...approval }: ShownApproval): unknown {
  return approval;
}

export function storyFor(session: OnlineSession, approval: ShownApproval, withNext: boolean): string {
  const { paint, table, io } = session;
  return approvalStory({ approval, now: io.now(), paint, table, withNext });
}

/** Ends by itself when the approval is closed. */
async function watchApproval(session: OnlineSession, id: string, options: FollowOptions): Promise<void> {
  const { io, json } = session;
  let before: ShownApproval | undefined;
  await follow(session, options, async () => {
    const approval = await session.client.approvals.get(id, session);
    const news = before === undefined ? storyFor(session, approval, true) : approvalNews(before, approval);
    if (news !== "") io.stdout.write(json ? jsonLine(withoutText(approval)) : news);
    before = approval;
    return approval.status !== "pending";
  });
}
