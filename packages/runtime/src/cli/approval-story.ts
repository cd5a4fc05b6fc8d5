// Tells one approval to the person who may decide it: what is asked, why, who else decides, and what to type.
import type { ApprovalDetail, ApprovalRoute, Vote, WithArgsText } from "@signalbox/client";
import { afterText, endText, onTimeoutText, paintApproval, progressText, roleText } from "./approval-words.ts";
import { parseExact, prettyJson } from "./json.ts";
import type { Paint } from "./paint.ts";
import { ruleColumns } from "./rules.ts";
import { facts } from "./table.ts";
import type { Column } from "./table.ts";
import { plain, plainLine } from "./text.ts";
import { instantText } from "./times.ts";

export type ShownApproval = WithArgsText<ApprovalDetail>;

export interface ApprovalParts {
  readonly approval: ShownApproval;
  readonly now: number;
  readonly paint: Paint;
  readonly table: <Row>(rows: readonly Row[], columns: readonly Column<Row>[], indent: number) => string;
  /** False while its reader is deciding already. */
  readonly withNext: boolean;
}

const indent = 2;

const indented = (text: string): string => text.replace(/^(?=.)/gm, " ".repeat(indent));

export function approvalStory(parts: ApprovalParts): string {
  const { approval, paint, withNext } = parts;
  const status = paintApproval(paint, approval.status)(approval.status);
  const section = (title: string, body: string): string =>
    body === "" ? "" : `${paint.bold(title)}\n${indented(body)}`;
  return [
    `${paint.bold(plainLine(approval.approval_id))}  ${plainLine(subject(approval))}  ${status}\n`,
    header(parts),
    section("arguments", argumentsText(approval)),
    section("who decides", deciders(parts)),
    section("why", why(parts)),
    section("votes", votes(parts)),
    withNext ? section("next", next(approval)) : "",
  ]
    .filter((text) => text !== "")
    .join("\n");
}

function subject({ kind, tool, version, session_id: session }: ShownApproval): string {
  if (kind === "limit") return `a limit of session ${session ?? ""}`;
  return kind === "resolve" ? `how ${tool}@${version} ended` : `${tool}@${version}`;
}

function header({ approval, now, paint }: ApprovalParts): string {
  const end = endText(approval);
  const after = end === "" ? "" : afterText(approval);
  const behalf = approval.on_behalf_of === "" ? "" : ` for ${approval.on_behalf_of}`;
  return facts(
    [
      ["asked by", `${approval.requester}${behalf}`],
      ["project", approval.project],
      ["because", approval.reason === "" ? undefined : approval.reason],
      ["call", approval.execution_id ?? undefined],
      ["session", approval.session_id ?? undefined],
      ["opened", instantText(approval.opened_at, now)],
      ["expires", end === "" ? `${instantText(approval.expires_at, now)}; then ${onTimeoutText(approval)}` : undefined],
      ["ended", end === "" ? undefined : [end, after].filter((text) => text !== "").join("; ")],
      ["closed", approval.closed_at === null ? undefined : instantText(approval.closed_at, now)],
      ["goes on from", approval.escalated_from ?? undefined],
      ["edited", approval.edited ? "a person changed the arguments; those below are the new ones" : undefined],
      ["hash", approval.args_hash],
    ],
    paint.dim,
  );
}

/** Whole, however long: nobody should put their name to what they were not shown. */
export function argumentsText({ argsText }: ShownApproval): string {
  return argsText === null || argsText === "null" ? "" : prettyJson(parseExact(argsText));
}

function deciders({ approval }: ApprovalParts): string {
  const who = facts(approval.routes.map((route) => [roleText(route.route), progressOf(route)]));
  const more = [
    approval.distinct_from_requester ? ["none of them the requester"] : [],
    approval.comprehension ? ["an approval must say that its voter understood it: --comprehended"] : [],
    approval.on_reject === "fail" && approval.session_id !== null ? ["a no ends the session"] : [],
    approval.status === "pending" && approval.may_not_vote !== null ? [`not you: ${approval.may_not_vote}`] : [],
  ].flat();
  return who + more.map((line) => `${plainLine(line)}\n`).join("");
}

function progressOf(route: ApprovalRoute): string {
  const names = (route.voters ?? []).join(", ");
  return `${progressText({ routes: [route] })}${names === "" ? "" : `  ${names}`}`;
}

function why({ approval, table }: ApprovalParts): string {
  const rules = approval.policy?.rules ?? [];
  return rules.length === 0 ? "" : table(rules, ruleColumns, indent);
}

function votes({ approval, table }: ApprovalParts): string {
  if (approval.votes.length === 0) return "";
  return table(
    approval.votes,
    [
      { title: "VOTER", cell: (vote) => vote.voter },
      { title: "SAID", cell: (vote) => saidText(vote, approval.args_hash) },
      { title: "AT", cell: (vote) => vote.at },
      { title: "COMMENT", cell: (vote) => vote.comment, shrinks: true },
    ],
    indent,
  );
}

/** A vote counts for the arguments that it was cast on, and for no others. */
function saidText({ decision, edited, late, args_hash: hash }: Vote, current: string): string {
  const notes = [
    edited ? ["with other arguments"] : [],
    late ? ["too late"] : [],
    hash === current ? [] : ["on arguments of before"],
  ].flat();
  return notes.length === 0 ? decision : `${decision} (${notes.join(", ")})`;
}

/** With the hash: the vote counts for these arguments only, also if somebody changes them meanwhile. */
function next(approval: ShownApproval): string {
  const id = plainLine(approval.approval_id);
  if (approval.status === "escalated" && approval.escalated_to !== null)
    return `signalbox approvals show ${plainLine(approval.escalated_to)}\n`;
  if (approval.status !== "pending")
    return approval.execution_id === null ? "" : `signalbox calls show ${plainLine(approval.execution_id)}\n`;
  if (approval.may_not_vote !== null) return `signalbox approvals show ${id} --watch\n`;
  const hash = `--args-hash ${plainLine(approval.args_hash)}`;
  const understood = approval.comprehension ? " --comprehended" : "";
  if (approval.kind === "resolve") return resolving(approval, { id, hash, understood });
  return facts([
    ["yes", `signalbox approvals approve ${id} ${hash}${understood}`],
    [
      "yes, with other arguments",
      approval.kind === "call" ? `signalbox approvals approve ${id} ${hash}${understood} --args '<json>'` : undefined,
    ],
    ["no", `signalbox approvals reject ${id} ${hash} --comment '<why>'`],
  ]);
}

/** A plain yes would sound like "it happened", and means the opposite. */
function resolving(
  { execution_id: call }: ShownApproval,
  { id, hash, understood }: { readonly id: string; readonly hash: string; readonly understood: string },
): string {
  return facts([
    ["it did not happen: run it again", `signalbox approvals approve ${id} ${hash}${understood}`],
    ["give it up: it failed", `signalbox approvals reject ${id} ${hash} --comment '<why>'`],
    ["it happened", `signalbox calls resolve ${plainLine(call ?? "")} confirm --output '<json>'`],
  ]);
}

/** What has happened between two looks, a line each; empty when nothing has. */
export function approvalNews(before: ShownApproval, approval: ShownApproval): string {
  const lines = approval.votes.slice(before.votes.length).map((vote) => voteLine(vote, approval));
  const changed =
    approval.args_hash === before.args_hash
      ? ""
      : `the arguments are changed; votes on the old ones do not count any more\n${indented(argumentsText(approval))}`;
  const ended = approval.status === before.status ? "" : endLine(approval);
  return lines.join("") + changed + ended;
}

function voteLine(vote: Vote, approval: ShownApproval): string {
  const comment = vote.comment === "" ? "" : `: ${vote.comment}`;
  return `${plainLine(`${vote.at}  ${vote.voter}  ${saidText(vote, approval.args_hash)}  ${progressText(approval)}${comment}`)}\n`;
}

function endLine(approval: ShownApproval): string {
  const after = afterText(approval);
  const text = [endText(approval), after].filter((part) => part !== "").join("; ");
  const on =
    approval.escalated_to === null ? "" : `\nnext:  signalbox approvals show ${plainLine(approval.escalated_to)}`;
  return `${plain(`${approval.closed_at ?? ""}  ${text}`).trimStart()}${on}\n`;
}
