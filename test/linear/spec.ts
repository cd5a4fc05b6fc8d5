// The sequential specification: one call, its questions, and what each request does to them when it is alone.
import type { ApprovalHappening, VoteCast } from "../../packages/runtime/src/policy/approval/machine.ts";
import type {
  Approval,
  ApprovalRequirements,
  ApprovalState,
  Vote,
} from "../../packages/runtime/src/policy/approval/types.ts";
import { Reference, type Opening } from "../support/approval-reference.ts";
import type { Request, Rows } from "./history.ts";
import { hashOf, people, rulesOn, sentWithNull, textOf, type House } from "./rules.ts";

/** One approval: its row and votes as they must be stored, and the words that the reference hears again. */
export interface Question extends Rows {
  readonly opening: Opening;
  readonly words: readonly (readonly [happening: ApprovalHappening, now: number])[];
}

export interface State {
  /** The first one, and after each escalation the next. */
  readonly questions: readonly Question[];
  /** `released`: approved; what becomes of it after that is not the approval's business. */
  readonly call: {
    readonly state: "parked" | "denied" | "cancelled" | "released";
    /** A person's arguments; null = as they were sent. */
    readonly argsJson: string | null;
    readonly editedBy: string | null;
  };
}

export interface Step {
  readonly state: State;
  /** What must be answered; null = whatever a call that goes on can say to its cancel. */
  readonly word: string | null;
  readonly rows: Rows | null;
}

/** What the specification cannot know: the ids that were made. */
export interface World {
  readonly house: House;
  idAfter(approvalId: string): string;
}

export function firstState(row: Approval): State {
  const { argsHash, openedAt, requester, onBehalfOf } = row;
  const { routes, distinctFromRequester, comprehension, timeoutMs, onTimeout, onReject, escalateTo, reason } = row;
  const asked = { routes, distinctFromRequester, comprehension, timeoutMs, onTimeout, onReject, escalateTo, reason };
  const opening = { hash: argsHash, asked, askers: [requester, onBehalfOf], at: openedAt, depth: 0 };
  return {
    questions: [{ opening, approval: row, votes: [], words: [] }],
    call: { state: "parked", argsJson: null, editedBy: null },
  };
}

export function apply(world: World, state: State, request: Request, now: number): Step {
  if (request.kind === "cancel") return cancel(world, state, request.by, now);
  const at = state.questions.findIndex(({ approval }) => approval.approvalId === request.approvalId);
  const question = state.questions[at];
  if (question === undefined) return { state, word: "approval_not_found", rows: null };
  if (request.kind === "read") return { state, word: "read", rows: question };
  return vote(world, state, at, request, now);
}

/** Nobody asked: the instant of the open question has passed. Undefined when it has not. */
export function lapse(world: World, state: State, now: number): State | undefined {
  const question = state.questions.at(-1);
  if (question === undefined || question.approval.state !== "pending" || question.approval.expiresAt > now)
    return undefined;
  return hear(world, state, state.questions.length - 1, [{ type: "due" }], now, null).state;
}

function cancel(world: World, state: State, by: string, now: number): Step {
  const { call } = state;
  if (call.state === "released") return { state, word: null, rows: null };
  if (call.state !== "parked") return { state, word: call.state, rows: null };
  const event: ApprovalHappening = { type: "cancel", by, reason: "call_ended", requestId: "" };
  const heard = hear(world, state, state.questions.length - 1, [event], now, null);
  return { state: heard.state, word: heard.state.call.state, rows: null };
}

function vote(world: World, state: State, at: number, request: Extract<Request, { kind: "vote" }>, now: number): Step {
  const { edit, voter, decision, argsHash, comment, comprehended } = request;
  const sent = edit === null ? null : edit.withNull ? sentWithNull(edit.amount) : textOf(edit.amount);
  const cast: VoteCast = {
    voter,
    roles: people[voter] ?? [],
    decision,
    argsHash,
    comment,
    comprehended,
    edit: sent === null ? null : { argsJson: sent, argsHash: hashOf(sent) },
    requestId: "",
  };
  const events: ApprovalHappening[] = [{ type: "vote", cast }];
  if (edit !== null) events.push(judged(world.house, cast, edit.amount));
  const { state: after, word } = hear(world, state, at, events, now, cast);
  const isOk = word === "counted" || word === "repeated" || word === "stored_outcome";
  return { state: after, word, rows: isOk ? (after.questions[at] ?? null) : null };
}

function judged(house: House, cast: VoteCast, amount: number): ApprovalHappening {
  const rules = rulesOn(house, amount);
  if (rules === "denied")
    return {
      type: "edit_denied",
      cast,
      error: { code: "forbidden", message: "", type: "permission", retryable: false },
    };
  const argsJson = textOf(amount);
  return { type: "edit_accepted", cast, accepted: { argsJson, argsHash: hashOf(argsJson) }, requirements: rules };
}

/** @param events the second is heard when the first is answered by `revalidate` */
function hear(
  world: World,
  state: State,
  at: number,
  events: readonly ApprovalHappening[],
  now: number,
  cast: VoteCast | null,
): { state: State; word: string } {
  const question = state.questions[at] as Question;
  const reference = new Reference(question.opening);
  for (const [happening, when] of question.words) reference.answer(happening, when);
  const before = { ended: reference.ending() !== undefined, late: reference.late.length };
  const [first, second] = events as [ApprovalHappening, ApprovalHappening?];
  let happening = first;
  let word = reference.answer(first, now);
  if (word === "revalidate" && second !== undefined) {
    happening = second;
    word = reference.answer(second, now);
  }
  let after: Question = { ...question, words: [...question.words, [happening, now]] };
  if (word === "counted" && cast !== null) after = counted(after, cast, happening, now);
  const ending = reference.ending();
  if (!before.ended && ending !== undefined) after = closed(after, ending, now, word === "counted");
  if (cast !== null && reference.late.length > before.late)
    after = { ...after, votes: [...after.votes, voteRow(after.approval, cast, now, true)] };
  return { state: follow(world, state, at, question, after, reference, now), word };
}

/** What the question's end, or its changed arguments, mean for the call and for whoever is asked next. */
function follow(
  world: World,
  state: State,
  at: number,
  before: Question,
  after: Question,
  reference: Reference,
  now: number,
): State {
  let questions = state.questions.with(at, after);
  let { call } = state;
  const { approval } = after;
  if (approval.round > before.approval.round)
    call = { ...call, argsJson: approval.argsJson, editedBy: after.votes.at(-1)?.voter ?? null };
  if (before.approval.state === "pending" && approval.state === "escalated") {
    questions = questions.with(at, {
      ...after,
      approval: { ...approval, escalatedTo: world.idAfter(approval.approvalId) },
    });
    questions = [...questions, next(world, before.approval, reference, now)];
  } else if (before.approval.state === "pending" && approval.state !== "pending") {
    const state = approval.state === "approved" ? "released" : approval.state === "cancelled" ? "cancelled" : "denied";
    call = { ...call, state };
  }
  return { questions, call };
}

function next(world: World, before: Approval, reference: Reference, now: number): Question {
  const opening = reference.next(now);
  const approval: Approval = {
    ...before,
    approvalId: world.idAfter(before.approvalId),
    routes: opening.asked.routes,
    depth: opening.depth,
    escalatedFrom: before.approvalId,
    round: 0,
    openedAt: now,
    expiresAt: now + before.timeoutMs,
    revision: 1,
  };
  return { opening, approval, votes: [], words: [] };
}

function counted(question: Question, cast: VoteCast, happening: ApprovalHappening, now: number): Question {
  const { approval } = question;
  const revision = approval.revision + 1;
  if (happening.type !== "edit_accepted" || happening.accepted.argsHash === approval.argsHash) {
    const plain = voteRow(approval, { ...cast, edit: null }, now, false);
    return { ...question, approval: { ...approval, revision }, votes: [...question.votes, plain] };
  }
  const { accepted, requirements } = happening;
  const changed: Approval = {
    ...approval,
    ...accepted,
    ...askedAnew(approval, requirements, now),
    edited: true,
    round: approval.round + 1,
    revision,
  };
  const own = { ...voteRow(changed, cast, now, false), argsHash: accepted.argsHash };
  return { ...question, approval: changed, votes: [...question.votes, own] };
}

/** Rules for the new arguments; never more time than there was, and after an escalation the same role. */
function askedAnew(approval: Approval, asked: ApprovalRequirements | null, now: number): Partial<Approval> {
  if (asked === null) return {};
  const quorum = Math.max(...asked.routes.map((one) => one.quorum));
  const routes = approval.depth === 0 ? asked.routes : approval.routes.map(({ route }) => ({ route, quorum }));
  return { ...asked, routes, expiresAt: Math.min(approval.expiresAt, now + asked.timeoutMs) };
}

function closed(
  question: Question,
  ending: { outcome: string; by: string },
  now: number,
  isCounted: boolean,
): Question {
  const { approval } = question;
  const outcome = ending.outcome as NonNullable<Approval["outcome"]>;
  const state = (outcome === "timeout_allowed" ? "approved" : outcome) as ApprovalState;
  const revision = isCounted ? approval.revision : approval.revision + 1;
  return { ...question, approval: { ...approval, state, outcome, closedBy: ending.by, closedAt: now, revision } };
}

function voteRow({ tenant, approvalId, round }: Approval, cast: VoteCast, at: number, late: boolean): Vote {
  const { voter, roles, decision, comment, comprehended, edit, argsHash } = cast;
  const about = edit?.argsHash ?? argsHash;
  const edited = { editedArgsJson: edit?.argsJson ?? null, editedArgsHash: edit?.argsHash ?? null };
  return {
    tenant,
    approvalId,
    voter,
    roles,
    decision,
    argsHash: about,
    round,
    comment,
    ...edited,
    comprehended,
    at,
    late,
  };
}
