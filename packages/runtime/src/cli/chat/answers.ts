// Answers an approval from within a conversation: the same votes as `signalbox approvals`, with what was refused told in place.
import { SignalboxApiError } from "@signalbox/client";
import { voteText } from "../commands/approval-vote.ts";
import { nextStep } from "../next-steps.ts";
import type { OnlineSession } from "../session.ts";
import { plainLine } from "../text.ts";
import type { Question, Verdict } from "./question.ts";

/** What became of an answer; `open`: it may be answered again. */
export interface Answered {
  readonly lines: readonly string[];
  readonly open: boolean;
}

/** Codes after which the same person may answer the same question otherwise. */
const mended = new Set(["invalid_input", "payload_too_large", "conflict"]);

export async function answer(session: OnlineSession, { approval }: Question, verdict: Exclude<Verdict, { readonly type: "skip" }>): Promise<Answered> {
  const { approvals } = session.client;
  const { approval_id: id, args_hash: argsHash } = approval;
  try {
    const voted =
      verdict.type === "reject"
        ? await approvals.reject(id, { argsHash, ...(verdict.comment === undefined ? {} : { comment: verdict.comment }) }, session)
        : await approvals.approve(
            id,
            {
              argsHash,
              ...(verdict.argsText === undefined ? {} : { argsText: verdict.argsText }),
              ...(verdict.comprehended === undefined ? {} : { comprehended: true }),
            },
            session,
          );
    const word = verdict.type === "reject" ? "rejected" : "approved";
    const others = voted.status === "pending" ? [`the others still have to say:  signalbox approvals show ${plainLine(id)}`] : [];
    return { lines: [plainLine(voteText(word, voted)), ...others], open: false };
  } catch (error) {
    if (!(error instanceof SignalboxApiError)) throw error;
    const next = nextStep(error.code, { approvalId: id, details: error.details });
    return {
      lines: [plainLine(`not taken: ${error.message} (${error.code})`), ...(next === undefined ? [] : [plainLine(`next:  ${next}`)])],
      open: mended.has(error.code) || error.details["reason"] === "edit_denied",
    };
  }
}
