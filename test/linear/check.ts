// Looks for one order of the requests, true to real time, in which the sequential specification says what was answered and leaves what is stored.
import { isDeepStrictEqual } from "node:util";
import type { Operation, Rows } from "./history.ts";
import { apply, lapse, type State, type Step, type World } from "./spec.ts";

/** What the store holds in the end, in the order in which the questions were opened. */
export interface Stored {
  readonly questions: readonly Rows[];
}

export type Verdict =
  | { readonly ok: true; readonly order: readonly number[] }
  /** The requests that could be put in order before the first one that nothing explains. */
  | { readonly ok: false; readonly longest: readonly number[] };

/** An expiry that nobody asked for is a request without a client: from its stored instant on, or never. */
export const expiryId = -1;

/** Places looked at for one history; a history of twelve requests needs some hundred. */
const placesMax = 200_000;

interface Search {
  readonly world: World;
  readonly operations: readonly Operation[];
  readonly stored: Stored;
  /** Every instant that a row names. */
  readonly instants: readonly number[];
  readonly closings: readonly number[];
  readonly seen: Set<string>;
  readonly order: number[];
  longest: readonly number[];
}

/** A request that was answered with `busy` promises that it did nothing; it is left out. */
export function linearize(world: World, first: State, operations: readonly Operation[], stored: Stored): Verdict {
  const votes = stored.questions.flatMap((one) => one.votes.map(({ at }) => at));
  const closings = stored.questions.flatMap(({ approval: { closedAt } }) => (closedAt === null ? [] : [closedAt]));
  const search: Search = {
    world,
    operations: operations.filter(({ end }) => end?.answer.word !== "busy"),
    stored,
    instants: [...new Set([...votes, ...closings])],
    closings,
    seen: new Set(),
    order: [],
    longest: [],
  };
  const found = look(search, first, 0);
  return found ? { ok: true, order: search.order } : { ok: false, longest: search.longest };
}

function look(search: Search, state: State, done: number): boolean {
  const { operations, stored, seen, order } = search;
  if (order.length > search.longest.length) search.longest = [...order];
  const isDone = (at: number): boolean => (done & (1 << at)) !== 0;
  if (operations.every(({ end }, at) => end === null || isDone(at)) && isAll(state, stored)) return true;
  const key = `${done} ${JSON.stringify([state.call, state.questions.map(({ approval, votes }) => [approval, votes])])}`;
  if (seen.has(key)) return false;
  seen.add(key);
  if (seen.size > placesMax) throw new Error(`more than ${placesMax} places in one history`);
  const open = operations.filter((_, at) => !isDone(at));
  for (const [at, operation] of operations.entries()) {
    if (isDone(at) || open.some((other) => isBefore(other, operation))) continue;
    for (const step of stepsOf(search, state, operation)) {
      if (!explains(step, operation) || !fits(step.state, stored)) continue;
      order.push(operation.id);
      if (look(search, step.state, done | (1 << at))) return true;
      order.pop();
    }
  }
  return search.closings.some((at) => expires(search, state, at, done, open));
}

function expires(search: Search, state: State, at: number, done: number, open: readonly Operation[]): boolean {
  if (open.some(({ end }) => end !== null && end.at < at)) return false;
  const after = lapse(search.world, state, at);
  if (after === undefined || !fits(after, search.stored)) return false;
  search.order.push(expiryId);
  if (look(search, after, done)) return true;
  search.order.pop();
  return false;
}

const isBefore = (one: Operation, other: Operation): boolean => one.end !== null && one.end.order < other.began.order;

/** The clock was read at some instant of the request; only those that a row names, and its beginning, can matter. */
function stepsOf({ world, instants }: Search, state: State, { request, began, end }: Operation): Step[] {
  const until = end?.at ?? Number.POSITIVE_INFINITY;
  const times = new Set([began.at, ...instants.filter((at) => at >= began.at && at <= until)]);
  return [...times].map((now) => apply(world, state, request, now));
}

function explains({ word, rows }: Step, { end, request }: Operation): boolean {
  if (end === null) return true;
  const { answer } = end;
  // A call that goes on may be at any point of its way when its cancel is answered, but nobody is asked any more.
  if (word === null) return answer.word !== "awaiting_approval" && answer.word !== "denied";
  if (word !== answer.word) return false;
  if (answer.rows === null) return rows === null || request.kind !== "read";
  if (rows === null) return false;
  // Late words are facts beside the decision: two of them at once do not see one another, and nothing follows from that.
  const votesOf = (from: Rows) => (request.kind === "read" ? from.votes : from.votes.filter(({ late }) => !late));
  return (
    isDeepStrictEqual(rows.approval, answer.rows.approval) && isDeepStrictEqual(votesOf(rows), votesOf(answer.rows))
  );
}

/** What is closed and what was voted never changes again, so it must be what is stored; this is what keeps the search short. */
function fits(state: State, stored: Stored): boolean {
  return state.questions.every(({ approval, votes }, i) => {
    const there = stored.questions[i];
    if (there === undefined || there.approval.approvalId !== approval.approvalId) return false;
    if (approval.state !== "pending" && !isDeepStrictEqual(approval, there.approval)) return false;
    return votes.every((vote, n) => isDeepStrictEqual(vote, there.votes[n]));
  });
}

function isAll(state: State, { questions }: Stored): boolean {
  if (state.questions.length !== questions.length) return false;
  return state.questions.every(({ approval, votes }, i) => isDeepStrictEqual({ approval, votes }, questions[i]));
}
