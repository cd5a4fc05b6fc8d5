// People of the walk: they vote at once or late, on old arguments, twice, against one another, and change arguments; another replica's among them.
import { SignalboxError } from "@signalbox/protocol";
import type { Happening } from "../../packages/runtime/src/call/machine.ts";
import { step } from "../../packages/runtime/src/call/step.ts";
import { usageOf } from "../../packages/runtime/src/call/usage-of.ts";
import { unitOf } from "../../packages/runtime/src/corridor/approval-unit.ts";
import { hashedArgs } from "../../packages/runtime/src/corridor/args.ts";
import { writesOf } from "../../packages/runtime/src/dispatch/apply.ts";
import { LedgerUnavailable, type Write } from "../../packages/runtime/src/ledger/port.ts";
import type { VoteCast } from "../../packages/runtime/src/policy/approval/machine.ts";
import { stepApproval } from "../../packages/runtime/src/policy/approval/step.ts";
import type { Approval } from "../../packages/runtime/src/policy/approval/types.ts";
import type { Random } from "./random.ts";
import { keyOf, type SimStore } from "./sim-ledger.ts";
import { hubLimits, type Replica } from "./sim-replica.ts";
import { hash } from "./sim-rules.ts";
import type { SimTime } from "./sim-time.ts";

const everybody: readonly Pick<VoteCast, "voter" | "roles">[] = [
  { voter: "user:fay", roles: ["finance"] },
  { voter: "user:fred", roles: ["finance", "ops"] },
  { voter: "user:olga", roles: ["ops"] },
  { voter: "user:lena", roles: ["lead", "finance"] },
  { voter: "user:nobody", roles: [] },
];

export interface PeopleWorld {
  readonly time: SimTime;
  readonly random: Random;
  readonly store: SimStore;
  problem(text: string): void;
}

/** Amounts that ask nobody, one or two, and some that are denied. */
export function someAmount(random: Random): string {
  return `{"amount":${random.chance(0.8) ? 101 + random.below(400) : random.below(1_000)}}`;
}

export class People {
  readonly #world: PeopleWorld;

  constructor(world: PeopleWorld) {
    this.#world = world;
  }

  /** One or two of them say something about an approval, most often one that is open. */
  vote(replica: Replica): void {
    const { random } = this.#world;
    const approval = this.#pick();
    if (approval === undefined) return;
    const people = random.chance(0.25) ? [random.pick(everybody), random.pick(everybody)] : [random.pick(everybody)];
    // Some wait until the last moment.
    const left = random.chance(0.25) ? approval.expiresAt - this.#world.time.now() - random.below(4) : 0;
    for (const person of people) {
      if (left <= 0) this.#cast(replica, approval, person);
      else this.#world.time.after(left, () => replica.life.alive && this.#cast(replica, approval, person));
    }
  }

  #pick(): Approval | undefined {
    const { random, store } = this.#world;
    const pending = store.shelf.pending();
    if (pending.length > 0 && random.chance(0.9)) return random.pick(pending);
    const all = [...store.shelf.approvals.values()].slice(-20);
    return all.length === 0 ? undefined : random.pick(all);
  }

  #wordOf(approval: Approval, person: Pick<VoteCast, "voter" | "roles">): VoteCast {
    const { random } = this.#world;
    const decision = random.chance(0.85) ? "approve" : "reject";
    const edit = decision === "approve" && random.chance(0.2) ? hashedArgs(hash, someAmount(random)) : null;
    const argsHash = random.chance(0.95) ? approval.argsHash : "what it was before";
    return { ...person, decision, argsHash, comment: "", comprehended: true, edit, requestId: "req_vote" };
  }

  #cast({ approvals }: Replica, approval: Approval, person: Pick<VoteCast, "voter" | "roles">): void {
    approvals.cast(approval.tenant, approval.approvalId, this.#wordOf(approval, person)).catch((error: unknown) => {
      if (error instanceof LedgerUnavailable) return;
      if (!(error instanceof SignalboxError) || error.code !== "approval_not_found") this.#world.problem(`a vote failed: ${String(error)}`);
    });
  }

  /**
   * What another replica writes about the same approvals, with time between its reading and its writing: a vote that
   * is not the last one, or a no, which ends the call too.
   */
  voteElsewhere(): void {
    const { random, store, time } = this.#world;
    const approval = this.#pick();
    const all = approval === undefined ? undefined : store.shelf.approval(approval.tenant, approval.approvalId);
    if (all === undefined) return;
    const cast = { ...this.#wordOf(all.approval, random.pick(everybody)), edit: null };
    const stepped = stepApproval(all, { type: "vote", cast }, time.now(), `apr_elsewhere_${time.now()}`);
    const { guards, writes, call } = unitOf(all.approval, stepped, null);
    const ended = call === null ? { guards: [], writes: [] } : this.#ended(all.approval, call.happening);
    if (ended === undefined || (guards.length === 0 && writes.length === 0)) return;
    const unit = { writes: [...ended.guards, ...guards, ...ended.writes, ...writes] };
    time.after(random.below(12), () => void store.commit(unit, { alive: true }).catch(() => undefined));
  }

  /** The denial of the call; undefined for what only the replica that holds the call may do. */
  #ended({ tenant, subject }: Approval, happening: Happening): { readonly guards: readonly Write[]; readonly writes: readonly Write[] } | undefined {
    const { store, time } = this.#world;
    const row = store.calls.get(keyOf({ tenant, callId: subject.callId ?? "" }));
    if (row === undefined || happening.type !== "rejected") return undefined;
    const ended = step({ call: row, lease: null }, happening, time.now(), hubLimits);
    if (!ended.ok) return undefined;
    const guard = { op: "update_call", expect: { state: row.state, fence: row.fence }, row: ended.live.call } as const;
    const usage = { op: "add_usage", row: usageOf(ended.live.call, { day: "2023-11-14", admitted: true }) } as const;
    return { guards: [guard], writes: [...writesOf(ended.effects), usage] };
  }
}
