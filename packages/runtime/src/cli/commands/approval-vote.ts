// `signalbox approvals approve` and `reject`: one person's word on one approval, bound to the arguments they saw.
import type { ApprovalDetail, VoteAnswer, WithArgsText } from "@signalbox/client";
import type { Command } from "commander";
import { afterText, endText, progressWords } from "../approval-words.ts";
import { CliError } from "../failure.ts";
import { readJsonText } from "../json-input.ts";
import { givenOnly } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";
import { storyFor, withoutText } from "./approval-show.ts";

interface VoteOptions {
  readonly argsHash?: string;
  readonly comment?: string;
}

interface ApproveOptions extends VoteOptions {
  readonly args?: string;
  readonly comprehended?: boolean;
}

export function addVotes(approvals: Command, runs: Runs): void {
  const withCommon = (command: Command): Command =>
    command
      .argument("<approval-id>")
      .option("--comment <text>", "what the others, and the caller, should know")
      .option(
        "--args-hash <hash>",
        "of the arguments you saw (show prints it); without it they are read and shown now",
      );
  runs.online<ApproveOptions>(
    withCommon(approvals.command("approve").description("say yes to one approval"))
      .option(
        "--args <json>",
        "run with these arguments instead: JSON, @file or -; they meet schema and policies again",
      )
      .option("--comprehended", "you have understood what it allows; some approvals ask for it"),
    approve,
  );
  runs.online<VoteOptions>(withCommon(approvals.command("reject").description("say no to one approval")), reject);
}

/** The hash that was given, or that of the arguments which are shown now. */
async function seenHash(
  session: OnlineSession,
  id: string,
  { argsHash }: VoteOptions,
  check: (approval: ApprovalDetail) => void,
): Promise<string> {
  if (argsHash !== undefined) return argsHash;
  const approval = await session.client.approvals.get(id, session);
  if (!session.json) session.io.stdout.write(`${storyFor(session, approval, false)}\n`);
  check(approval);
  return approval.args_hash;
}

async function approve(
  session: OnlineSession,
  [id = ""]: readonly string[],
  options: ApproveOptions,
): Promise<Outcome> {
  session.about.approvalId = id;
  const { comment, comprehended } = options;
  const argsText = options.args === undefined ? undefined : await readJsonText(session.io, "--args", options.args);
  const argsHash = await seenHash(session, id, options, (approval) => {
    if (approval.status !== "pending" || !approval.comprehension || comprehended === true) return;
    throw new CliError("this approval asks its voter to say that they have understood what it allows", {
      next: `read it, then: signalbox approvals approve ${id} --args-hash ${approval.args_hash} --comprehended`,
    });
  });
  const vote = { argsHash, ...givenOnly({ argsText, comment, comprehended }) };
  tellVote(session, "approved", await session.client.approvals.approve(id, vote, session));
}

async function reject(session: OnlineSession, [id = ""]: readonly string[], options: VoteOptions): Promise<Outcome> {
  session.about.approvalId = id;
  const argsHash = await seenHash(session, id, options, () => {});
  const vote = { argsHash, ...givenOnly({ comment: options.comment }) };
  tellVote(session, "rejected", await session.client.approvals.reject(id, vote, session));
}

type Word = "approved" | "rejected";

function tellVote(session: OnlineSession, word: Word, answer: WithArgsText<VoteAnswer>): void {
  session.print(withoutText(answer), () => `${plainLine(voteText(word, answer))}\n`);
  if (answer.status !== "pending" && answer.execution_id !== null)
    session.remark(`next:  signalbox calls show ${plainLine(answer.execution_id)}`);
  else if (answer.status === "pending")
    session.remark(`the others still have to say: signalbox approvals show ${plainLine(answer.approval_id)} --watch`);
}

/** `approved: 1 of 2`, or `approved, the call is queued`. */
export function voteText(word: Word, answer: VoteAnswer): string {
  if (answer.said === "stored_outcome") return withAfter(`it was closed before: ${endText(answer)}`, answer);
  const before = answer.said === "repeated" ? " (you had said so before)" : "";
  if (answer.status === "pending") return `${word}: ${progressWords(answer)}${before}`;
  const ended = answer.status === word ? word : endText(answer);
  const edited = answer.status === "approved" && answer.edited ? " with other arguments" : "";
  return withAfter(`${ended}${edited}`, answer) + before;
}

function withAfter(text: string, answer: VoteAnswer): string {
  const after = afterText(answer);
  return after === "" ? text : `${text}, ${after}`;
}
