// Many people, replicas and clocks at once: every reply is explained by one order, and each approval ends once, rightly.
import { errorBody } from "@signalbox/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Reference } from "../../../../../test/support/approval-reference.ts";
import { asked0, only, requestOf } from "../../../../../test/support/approvals.ts";
import type { ApprovalHappening, ApprovalStep, DecidingHappening, VoteCast } from "./machine.ts";
import { openApproval } from "./open.ts";
import { stepApproval } from "./step.ts";
import type { Approval, ApprovalRequirements, Vote } from "./types.ts";

const people: Readonly<Record<string, readonly string[]>> = {
  "user:ann": ["finance", "lead"],
  "user:bo": ["finance"],
  "user:cy": ["finance", "lead"],
  "user:di": ["finance", "legal", "lead"],
  "user:eve": ["sales"],
  "agent:clerk": ["finance"],
};
/** agent:clerk called for user:ann. */
const askers = ["agent:clerk", "user:ann"];

const requirements: fc.Arbitrary<ApprovalRequirements> = fc.record({
  routes: fc.constantFrom(
    [{ route: "finance", quorum: 1 }],
    [{ route: "finance", quorum: 2 }],
    [{ route: "finance", quorum: 3 }],
    [
      { route: "finance", quorum: 2 },
      { route: "legal", quorum: 1 },
    ],
  ),
  distinctFromRequester: fc.boolean(),
  comprehension: fc.constantFrom(false, false, true),
  timeoutMs: fc.constantFrom(200, 1_000, 5_000),
  onTimeout: fc.constantFrom("deny", "allow", "escalate"),
  onReject: fc.constant("return_to_agent"),
  escalateTo: fc.constant("lead"),
  reason: fc.constant("large"),
});

/** What somebody is about to do; what they see of the arguments is known only when they start. */
interface Plan {
  readonly kind: "vote" | "sweep" | "cancel" | "again";
  readonly voter: string;
  readonly yes: boolean;
  readonly ack: boolean;
  /** undefined = what stands there when they look. */
  readonly saw: string | undefined;
  readonly edit: string | undefined;
  /** What the checks say of the edit; undefined = denied, null = no rule asks anybody. */
  readonly verdict: ApprovalRequirements | null | undefined;
  /** The last look before the call runs fails. */
  readonly spoiled: boolean;
  /** They have the link of the first approval, not of the one that asks now. */
  readonly oldLink: boolean;
}

const plans = fc.record<Plan>({
  kind: fc.constantFrom("vote", "vote", "vote", "vote", "vote", "again", "again", "sweep", "cancel"),
  voter: fc.constantFrom(...Object.keys(people), "user:bo", "user:cy", "user:di"),
  yes: fc.constantFrom(true, true, true, true, true, false),
  ack: fc.constantFrom(true, true, false),
  saw: fc.constantFrom(undefined, undefined, undefined, undefined, "h0", "h1"),
  edit: fc.constantFrom(undefined, undefined, undefined, "h0", "h1", "h2", "h2-as-sent"),
  verdict: fc.oneof({ weight: 4, arbitrary: requirements }, { weight: 1, arbitrary: fc.constantFrom(undefined, null) }),
  spoiled: fc.constantFrom(false, false, false, false, false, true),
  oldLink: fc.constantFrom(false, false, false, true),
});

const story = fc.record({
  asked: requirements,
  plans: fc.array(plans, { minLength: 2, maxLength: 16 }),
  /** Who moves next among those who are at it, and how long that took. */
  turns: fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 0, 0, 1, 10, 100, 400)), { minLength: 120, maxLength: 120 }),
});

/** Somebody at it: has read, has perhaps been to the checks, and wants to write. */
interface Doing {
  readonly plan: Plan;
  readonly approvalId: string;
  event: ApprovalHappening;
  /** What the last read led to, until it is written. */
  wants:
    | { readonly step: ApprovalStep; readonly read: Approval; readonly now: number; readonly nextId: string }
    | undefined;
}

const deniedEdit = errorBody("forbidden", "not abroad");
const quarantined = errorBody("integrity_violation", "quarantined");

/** A ledger of approvals under guards, with one reference an approval that is asked at each point where an answer is settled. */
class World {
  readonly rows = new Map<string, Approval>();
  readonly votes = new Map<string, readonly Vote[]>();
  readonly references = new Map<string, Reference>();
  /** Each answer beside the reference's, in the order that explains them. */
  readonly answers: (readonly [given: string, expected: string])[] = [];
  readonly closings: string[] = [];
  /** What was done about the call: at most one of these is ever stored. */
  readonly ends: string[] = [];
  readonly reached = new Set<string>();
  /** Approvals that ended by an edit that no rule asks anybody about. */
  readonly unasked = new Set<string>();
  now = asked0;
  newest = "apr_1";
  #ids = 1;

  constructor(asked: ApprovalRequirements) {
    const { after } = openApproval(requestOf(asked), asked0);
    this.rows.set("apr_1", after.approval);
    this.votes.set("apr_1", []);
    this.references.set("apr_1", new Reference({ hash: "h0", asked, askers, at: asked0, depth: 0 }));
  }

  row(id: string): Approval {
    const row = this.rows.get(id);
    if (row === undefined) throw new Error(`no approval ${id}`);
    return row;
  }

  begin(plan: Plan, earlier: readonly Doing[]): Doing {
    const approvalId = plan.oldLink ? "apr_1" : this.newest;
    // The very same request again, as after a lost answer.
    const mine = ({ event }: Doing): boolean => event.type === "vote" && event.cast.voter === plan.voter;
    const again = plan.kind === "again" ? earlier.findLast(mine) : undefined;
    if (again !== undefined) return { ...again, wants: undefined };
    if (plan.kind === "sweep") return { plan, approvalId, event: { type: "due" }, wants: undefined };
    if (plan.kind === "cancel") {
      const event = { type: "cancel", by: "user:ann", reason: "call_ended", requestId: "r" } as const;
      return { plan, approvalId: this.newest, event, wants: undefined };
    }
    const cast: VoteCast = {
      voter: plan.voter,
      roles: people[plan.voter] ?? [],
      decision: plan.yes ? "approve" : "reject",
      argsHash: plan.saw ?? this.row(approvalId).argsHash,
      comment: "",
      comprehended: plan.ack,
      edit: plan.edit === undefined ? null : { argsJson: `"${plan.edit}"`, argsHash: plan.edit },
      requestId: "r",
    };
    return { plan, approvalId, event: { type: "vote", cast }, wants: undefined };
  }

  /** One move of one of them; true = it has its answer. */
  move(doing: Doing): boolean {
    if (doing.wants !== undefined) return this.write(doing, doing.wants);
    const read = this.row(doing.approvalId);
    const nextId = `apr_${++this.#ids}`;
    const all = { approval: read, votes: this.votes.get(doing.approvalId) ?? [] };
    const step = stepApproval(all, doing.event, this.now, nextId);
    const { event, plan } = doing;
    if (step.reply.ok && step.reply.said === "revalidate" && event.type === "vote") {
      doing.event = checked(plan, event.cast);
      return false;
    }
    if (only(step.effects, "approve_call").length > 0 && plan.spoiled) {
      doing.event = { type: "recheck_failed", error: quarantined, instead: event as DecidingHappening };
      return false;
    }
    doing.wants = { step, read, now: this.now, nextId };
    if (step.changed || only(step.effects, "keep_late_vote").length > 0) return false;
    return this.settle(doing, doing.wants);
  }

  /** The guarded unit: somebody was first = read again. */
  write(doing: Doing, wants: NonNullable<Doing["wants"]>): boolean {
    const { step, read } = wants;
    const { approvalId } = doing;
    const stored = this.row(approvalId);
    const kept = this.votes.get(approvalId) ?? [];
    const lates = only(step.effects, "keep_late_vote").map(({ row }) => row);
    const isThere = lates.some((late) =>
      kept.some((one) => one.late && one.voter === late.voter && one.decision === late.decision),
    );
    const isFirst = !step.changed || (stored.state === "pending" && stored.revision === read.revision);
    if (isThere || !isFirst) {
      doing.wants = undefined;
      return false;
    }
    if (step.changed) {
      this.rows.set(approvalId, step.after.approval);
      if (step.after.approval.state !== "pending") this.closings.push(approvalId);
    }
    this.votes.set(approvalId, [...kept, ...only(step.effects, "store_vote").map(({ row }) => row), ...lates]);
    for (const { row } of only(step.effects, "open")) {
      this.rows.set(row.approvalId, row);
      this.newest = row.approvalId;
    }
    for (const effect of step.effects) {
      if (effect.type === "approve_call" || effect.type === "deny_call") this.ends.push(effect.type);
    }
    return this.settle(doing, wants);
  }

  /** The one point at which this answer holds: the reference, told of all points in their order, must give the same. */
  settle(doing: Doing, { step, read, now, nextId }: NonNullable<Doing["wants"]>): boolean {
    const reference = this.references.get(doing.approvalId);
    if (reference === undefined) throw new Error("no reference");
    const wasOpen = reference.ending() === undefined;
    const expected = reference.answer(doing.event, now);
    const { reply } = step;
    const given = reply.ok ? reply.said : told(reply.refusal);
    this.answers.push([given, expected]);
    const closedAs = !reply.ok && reply.refusal.reason === "approval_closed" ? reply.refusal.outcome : undefined;
    this.reached.add(closedAs === undefined ? (given.split(" ")[0] ?? "") : `closed: ${closedAs}`);
    if (wasOpen && reference.ending()?.outcome === "escalated") {
      this.references.set(nextId, new Reference(reference.next(now)));
      this.votes.set(nextId, []);
    }
    const event = doing.event.type === "recheck_failed" ? doing.event.instead : doing.event;
    const isEdit = event.type === "edit_accepted" && step.after.approval.argsHash !== read.argsHash;
    if (isEdit && event.requirements === null) this.unasked.add(doing.approvalId);
    return true;
  }
}

function told(refusal: Extract<ApprovalStep["reply"], { ok: false }>["refusal"]): string {
  if (refusal.reason === "approval_closed") return `approval_closed ${refusal.outcome} ${refusal.closedBy}`;
  return refusal.reason === "args_changed" ? `args_changed ${refusal.argsHash}` : refusal.reason;
}

/** What validation, permission and policy say; they may take a null out of what was sent. */
function checked(plan: Plan, cast: VoteCast): ApprovalHappening {
  if (plan.verdict === undefined || cast.edit === null) return { type: "edit_denied", cast, error: deniedEdit };
  const argsHash = cast.edit.argsHash.replace("-as-sent", "");
  return { type: "edit_accepted", cast, accepted: { argsJson: `"${argsHash}"`, argsHash }, requirements: plan.verdict };
}

/** Counted by hand from the stored rows: distinct people with the role, eligible, on the arguments of now. */
function isRight(world: World, approval: Approval): boolean {
  const votes = (world.votes.get(approval.approvalId) ?? []).filter(
    (vote) =>
      !vote.late && vote.round === approval.round && vote.argsHash === approval.argsHash && vote.decision === "approve",
  );
  if (world.unasked.has(approval.approvalId)) return votes.length === 1;
  return approval.routes.every(({ route, quorum }) => {
    const voters = votes.filter(({ voter, comprehended }) => {
      if (approval.comprehension && !comprehended) return false;
      if (approval.distinctFromRequester && askers.includes(voter)) return false;
      return voter.startsWith("user:") && people[voter]?.includes(route);
    });
    return new Set(voters.map(({ voter }) => voter)).size >= quorum;
  });
}

function checkWorld(world: World): void {
  expect(world.answers.map(([given]) => given)).toEqual(world.answers.map(([, expected]) => expected));
  expect(new Set(world.closings).size).toBe(world.closings.length);
  expect(world.ends.length).toBeLessThanOrEqual(1);
  let open = 0;
  for (const [id, approval] of world.rows) {
    const reference = world.references.get(id);
    const { outcome, closedBy, argsHash, state } = approval;
    expect({ outcome, closedBy, argsHash }).toEqual({
      outcome: reference?.ending()?.outcome ?? null,
      closedBy: reference?.ending()?.by ?? null,
      argsHash: reference?.hash,
    });
    const votes = world.votes.get(id) ?? [];
    const late = votes.filter((vote) => vote.late).map((vote) => `${vote.voter} ${vote.decision}`);
    expect(late.sort()).toEqual(reference?.late);
    if (outcome === "approved") expect(isRight(world, approval)).toBe(true);
    if (state === "pending") open++;
    world.reached.add(`ended: ${outcome}`);
  }
  // One question is asked at a time, and the call waits exactly as long as one is.
  expect(open).toBeLessThanOrEqual(1);
  const last = world.row(world.newest);
  expect(open === 1).toBe(last.state === "pending");
  if (last.state !== "pending" && last.outcome !== "cancelled") expect(world.ends).toHaveLength(1);
}

test("decisions are linearizable under concurrent voters, edits, expiry and cancel", () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(story, ({ asked, plans: all, turns }) => {
      const world = new World(asked);
      const waiting = [...all];
      const begun: Doing[] = [];
      const active: Doing[] = [];
      const frozen = new Map<string, Approval>();
      for (const [turn, waitMs] of turns) {
        const plan = active.length < 4 ? waiting.shift() : undefined;
        if (plan !== undefined) {
          const doing = world.begin(plan, begun);
          begun.push({ ...doing });
          active.push(doing);
        }
        const doing = active[turn % Math.max(1, active.length)];
        if (doing === undefined) break;
        world.now += waitMs;
        if (world.move(doing)) active.splice(active.indexOf(doing), 1);
        // Nothing of a closed approval changes.
        for (const [id, row] of world.rows) {
          const before = frozen.get(id);
          if (before !== undefined) expect(row).toBe(before);
          else if (row.state !== "pending") frozen.set(id, row);
        }
      }
      checkWorld(world);
      for (const one of world.reached) reached.add(one);
    }),
    { numRuns: 4_000 },
  );
  // The walk has seen every answer and every end, or it proves less than it says.
  expect([...reached].sort()).toEqual([
    "already_voted",
    "args_changed",
    "closed: approved",
    "closed: cancelled",
    "closed: escalated",
    "closed: expired",
    "closed: recheck_failed",
    "closed: rejected",
    "closed: timeout_allowed",
    "comprehension_required",
    "counted",
    "done",
    "edit_denied",
    "ended: approved",
    "ended: cancelled",
    "ended: escalated",
    "ended: expired",
    "ended: null",
    "ended: recheck_failed",
    "ended: rejected",
    "ended: timeout_allowed",
    "invalid_vote",
    "missing_role",
    "not_a_person",
    "not_due",
    "recheck_failed",
    "repeated",
    "requester_may_not_vote",
    "stored_outcome",
  ]);
});
