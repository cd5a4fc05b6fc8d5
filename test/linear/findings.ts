// Judges one run: is there an order that explains it, and does what is stored keep the promises that no order may break.
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { Notice } from "../../packages/runtime/src/ledger/webhooks.ts";
import type { Approval, Vote } from "../../packages/runtime/src/policy/approval/types.ts";
import { expiryId, linearize, type Stored } from "./check.ts";
import { inWords, type Operation, type Rows } from "./history.ts";
import type { House } from "./rules.ts";
import type { Execution } from "./sim-worker.ts";
import { firstState } from "./spec.ts";

export interface Run {
  readonly house: House;
  readonly operations: readonly Operation[];
  /** As it was opened. */
  readonly first: Approval;
  readonly approvals: readonly Approval[];
  readonly votes: readonly Vote[];
  /** Undefined: the store does not show them. */
  readonly notices: readonly Notice[] | undefined;
  readonly call: Call;
  readonly executions: readonly Execution[];
  /** A replica died, or was told that nothing was stored: what it had dispatched may be lost on the way to its worker. */
  readonly mayBeLost: boolean;
  readonly problems: readonly string[];
  readonly startAt: number;
}

export interface Outcome {
  /** Empty: everything is explained. */
  readonly broken: readonly string[];
  readonly history: readonly string[];
  /** Of the last question. */
  readonly end: string;
  readonly words: readonly string[];
}

export function findings(run: Run): Outcome {
  const chain = chainOf(run);
  const broken = [...run.problems, ...ends(run, chain), ...calls(run, chain), ...counts(run)];
  const order = explained(run, chain);
  if (order !== undefined) broken.push(order);
  return {
    broken,
    history: [...run.operations.map((one) => inWords(one, run.startAt)), ...stored(run, chain)],
    end: chain.at(-1)?.approval.outcome ?? "open",
    words: run.operations.map(({ end }) => end?.answer.word.split(" ")[0] ?? "unknown"),
  };
}

/** The questions in the order in which they were opened. */
function chainOf({ first, approvals, votes }: Run): readonly Rows[] {
  const chain: Rows[] = [];
  let id: string | null = first.approvalId;
  while (id !== null) {
    const approval = approvals.find(({ approvalId }) => approvalId === id);
    if (approval === undefined) break;
    chain.push({ approval, votes: votes.filter(({ approvalId }) => approvalId === id) });
    id = approval.escalatedTo;
  }
  return chain;
}

function explained(run: Run, chain: Stored["questions"]): string | undefined {
  const next = new Map(chain.map(({ approval }) => [approval.approvalId, approval.escalatedTo] as const));
  const world = { house: run.house, idAfter: (id: string) => next.get(id) ?? "none" };
  const verdict = linearize(world, firstState(run.first), run.operations, { questions: chain });
  if (verdict.ok) return undefined;
  const names = verdict.longest.map((id) => (id === expiryId ? "expiry" : `#${id}`));
  return `no order explains the answers and the rows; the longest that begins well is: ${names.join(", ") || "none"}`;
}

/** Each question ends once, and the last of them for good. */
function ends({ approvals, notices }: Run, chain: readonly Rows[]): string[] {
  const broken: string[] = [];
  if (chain.length !== approvals.length)
    broken.push(`${approvals.length} approvals are stored, ${chain.length} of them in the chain of the call`);
  for (const { approval } of chain) {
    const { approvalId, state } = approval;
    const told = notices
      ?.filter((one) => one.approvalId === approvalId && closings.has(one.type))
      .map(({ type }) => type) ?? [`approval.${state}`];
    if (state === "pending") broken.push(`${approvalId} is still open`);
    else if (told.join() !== `approval.${state}`)
      broken.push(`${approvalId} is ${state}, and what was told of its end is: ${told.join() || "nothing"}`);
  }
  return broken;
}

const closings = new Set<string>([
  "approval.approved",
  "approval.rejected",
  "approval.expired",
  "approval.cancelled",
  "approval.escalated",
]);

/** The call runs if and only if it was approved, with the arguments that were, and at most once. */
function calls({ call, executions, operations, mayBeLost, first }: Run, chain: readonly Rows[]): string[] {
  const last = chain.at(-1)?.approval;
  if (last === undefined) return ["the approval of the call is gone"];
  const broken: string[] = [];
  const isReleased = last.state === "approved";
  const wanted = isReleased ? released : last.state === "cancelled" ? ["cancelled"] : ["denied"];
  if (!wanted.includes(call.state)) broken.push(`the approval is ${last.state} and the call is ${call.state}`);
  if (executions.length > 1) broken.push(`the call ran ${executions.length} times`);
  if (executions.length > 0 && !isReleased) broken.push(`the approval is ${last.state} and the call ran`);
  for (const { argsJson } of executions)
    if (argsJson !== last.argsJson) broken.push(`people approved ${last.argsJson}, and ${argsJson} ran`);
  const effective = last.edited ? last.argsJson : null;
  if (call.effectiveArgsJson !== effective)
    broken.push(
      `the call holds ${call.effectiveArgsJson ?? "no changed arguments"} in place of ${effective ?? first.argsJson}`,
    );
  if (call.approvalId !== last.approvalId) broken.push("the call points to another approval than the last");
  const mayStop = mayBeLost || operations.some(({ request }) => request.kind === "cancel");
  if (isReleased && !mayStop && (executions.length !== 1 || call.state !== "succeeded"))
    broken.push(`approved, and the call is ${call.state} after ${executions.length} runs`);
  return broken;
}

const released: readonly string[] = ["succeeded", "failed", "timed_out", "cancelled", "indeterminate"];

/** A person counts once a round. */
function counts({ votes }: Run): string[] {
  const seen = new Set<string>();
  return votes.flatMap(({ approvalId, voter, round, late }) => {
    const key = `${voter} in round ${round} of ${approvalId}`;
    if (late || !seen.has(key)) {
      if (!late) seen.add(key);
      return [];
    }
    return [`${key} counts twice`];
  });
}

function stored({ call, executions, startAt }: Run, chain: readonly Rows[]): string[] {
  const rows = chain.map(({ approval, votes }) => {
    const { approvalId, state, outcome, closedBy, closedAt, expiresAt, round, revision, argsJson } = approval;
    const closed = closedAt === null ? "open" : `${outcome} by ${closedBy} at ${closedAt - startAt}`;
    const said = votes.map(
      (vote) =>
        `${vote.voter} ${vote.decision} ${vote.argsHash.slice(0, 4)} r${vote.round} at ${vote.at - startAt}${vote.late ? " late" : ""}`,
    );
    return `${approvalId.slice(-4)} ${state} (${closed}), until ${expiresAt - startAt}, round ${round}, revision ${revision}, ${argsJson}; votes: ${said.join(" · ") || "none"}`;
  });
  return [
    ...rows,
    `the call is ${call.state}, ran ${executions.map(({ argsJson }) => argsJson).join(" and ") || "never"}`,
  ];
}
