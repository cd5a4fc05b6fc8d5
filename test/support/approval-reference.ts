// A second opinion on approvals: no state but the words that were taken, in order; every answer is found from them anew.
import type { ApprovalHappening, VoteCast } from "../../packages/runtime/src/policy/approval/machine.ts";
import type { ApprovalRequirements } from "../../packages/runtime/src/policy/approval/types.ts";

export interface Opening {
  readonly hash: string;
  readonly asked: ApprovalRequirements;
  /** Whom `distinctFromRequester` keeps out. */
  readonly askers: readonly string[];
  readonly at: number;
  readonly depth: number;
}

interface Ballot {
  readonly kind: "ballot";
  readonly at: number;
  readonly who: string;
  readonly roles: readonly string[];
  readonly yes: boolean;
  readonly ack: boolean;
  /** What the ballot is about, and what was sent when that is another. */
  readonly hash: string;
  readonly sent: string;
  /** For an edit: what the rules ask for now; null = nobody; undefined = no edit. */
  readonly edit: ApprovalRequirements | null | undefined;
  readonly spoiled: boolean;
}
type Word =
  | Ballot
  | { readonly kind: "time"; readonly spoiled: boolean }
  | { readonly kind: "gone"; readonly who: string };

export interface Ending {
  readonly outcome: string;
  readonly by: string;
}

export class Reference {
  readonly #opening: Opening;
  readonly #words: Word[] = [];
  readonly #late = new Set<string>();

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  get hash(): string {
    return this.#edits().at(-1)?.hash ?? this.#opening.hash;
  }

  get late(): readonly string[] {
    return [...this.#late].sort();
  }

  /** How it ended, as the last word has it; undefined = it is open. */
  ending(): Ending | undefined {
    const last = this.#words.at(-1);
    if (last === undefined) return undefined;
    if (last.kind === "gone") return { outcome: "cancelled", by: last.who };
    if (last.kind === "ballot") {
      if (!last.yes) return { outcome: "rejected", by: last.who };
      if (!this.#full(last)) return undefined;
      return last.spoiled ? { outcome: "recheck_failed", by: "runtime" } : { outcome: "approved", by: last.who };
    }
    const { onTimeout } = this.#asked();
    if (onTimeout === "allow") return { outcome: last.spoiled ? "recheck_failed" : "timeout_allowed", by: "runtime" };
    const climbs = onTimeout === "escalate" && this.#opening.depth < 5;
    return { outcome: climbs ? "escalated" : "expired", by: "runtime" };
  }

  /** What the next approval starts from, when this one escalated at that instant. */
  next(at: number): Opening {
    const asked = this.#asked();
    const quorum = asked.routes.reduce((most, one) => (one.quorum > most ? one.quorum : most), 0);
    const routes = [{ route: asked.escalateTo ?? "", quorum }];
    return { ...this.#opening, hash: this.hash, asked: { ...asked, routes }, at, depth: this.#opening.depth + 1 };
  }

  /** The answer in words, as the door would give it; changes what is known as a side effect. */
  answer(happening: ApprovalHappening, now: number): string {
    const spoiled = happening.type === "recheck_failed";
    const event = spoiled ? happening.instead : happening;
    if (event.type === "cancel") {
      if (this.ending() !== undefined) return this.#closed();
      this.#words.push({ kind: "gone", who: event.by });
      return "done";
    }
    const inTime = this.ending() === undefined && now < this.#deadline();
    if (event.type === "due" && inTime) return "not_due";
    const lapsed = this.ending() === undefined && !inTime;
    if (lapsed) this.#words.push({ kind: "time", spoiled });
    if (event.type === "due") return lapsed ? "done" : this.#closed();

    const { cast } = event;
    const right = this.#right(cast.voter, cast.roles);
    if (right !== "") return right;
    if (cast.decision === "reject" && cast.edit !== null) return "invalid_vote";
    if (!inTime) return this.#tooLate(cast);
    return this.#inTime(event, now, spoiled);
  }

  #inTime(event: Extract<ApprovalHappening, { cast: VoteCast }>, now: number, spoiled: boolean): string {
    const { cast } = event;
    const mine = this.#since().find(({ who }) => who === cast.voter);
    if (mine !== undefined) return this.#same(mine, cast) ? "repeated" : "already_voted";
    if (cast.argsHash !== this.hash) return `args_changed ${this.hash}`;
    if (this.#asked().comprehension && cast.decision === "approve" && !cast.comprehended)
      return "comprehension_required";
    const ballot = (hash: string, edit: Ballot["edit"], sent = hash): string => {
      const { voter: who, roles, decision, comprehended: ack } = cast;
      this.#words.push({
        kind: "ballot",
        at: now,
        who,
        roles,
        yes: decision === "approve",
        ack,
        hash,
        sent,
        edit,
        spoiled,
      });
      return this.ending()?.outcome === "recheck_failed" ? "recheck_failed" : "counted";
    };
    if (event.type === "edit_denied") return "edit_denied";
    if (cast.edit === null || cast.edit.argsHash === this.hash) return ballot(this.hash, undefined);
    if (event.type === "vote") return "revalidate";
    if (event.accepted.argsHash === this.hash) return ballot(this.hash, undefined);
    if (event.requirements?.comprehension === true && !cast.comprehended) return "comprehension_required";
    return ballot(event.accepted.argsHash, event.requirements, cast.edit.argsHash);
  }

  #tooLate(cast: VoteCast): string {
    const mine = this.#since().find(({ who }) => who === cast.voter);
    const same = mine !== undefined && this.#same(mine, cast);
    if (!same) this.#late.add(`${cast.voter} ${cast.decision}`);
    const outcome = this.ending()?.outcome;
    const won = cast.decision === "approve" ? ["approved", "timeout_allowed"] : ["rejected"];
    const about = cast.edit === null ? cast.argsHash : cast.edit.argsHash;
    return won.includes(outcome ?? "") && (same || about === this.hash) ? "stored_outcome" : this.#closed();
  }

  #closed(): string {
    return `approval_closed ${this.ending()?.outcome} ${this.ending()?.by}`;
  }

  #same(mine: Ballot, cast: VoteCast): boolean {
    const about = cast.edit === null ? cast.argsHash : cast.edit.argsHash;
    return mine.yes === (cast.decision === "approve") && [mine.hash, mine.sent].includes(about);
  }

  #ballots(): Ballot[] {
    return this.#words.filter((word) => word.kind === "ballot");
  }

  #edits(): Ballot[] {
    return this.#ballots().filter(({ edit }) => edit !== undefined);
  }

  /** Ballots on the arguments of now: from the last edit on. */
  #since(): Ballot[] {
    const all = this.#ballots();
    return all.slice(
      Math.max(
        0,
        all.findLastIndex(({ edit }) => edit !== undefined),
      ),
    );
  }

  #asked(): ApprovalRequirements {
    const asked = this.#edits().findLast(({ edit }) => edit !== null)?.edit;
    if (asked === undefined || asked === null) return this.#opening.asked;
    if (this.#opening.depth === 0) return asked;
    const quorum = Math.max(...asked.routes.map((one) => one.quorum));
    return { ...asked, routes: this.#opening.asked.routes.map(({ route }) => ({ route, quorum })) };
  }

  #deadline(): number {
    const later = this.#edits().flatMap(({ at, edit }) => (edit ? [at + edit.timeoutMs] : []));
    return Math.min(this.#opening.at + this.#opening.asked.timeoutMs, ...later);
  }

  #right(who: string, roles: readonly string[]): string {
    const { distinctFromRequester, routes } = this.#asked();
    if (who.startsWith("agent:")) return "not_a_person";
    if (distinctFromRequester && this.#opening.askers.includes(who)) return "requester_may_not_vote";
    return routes.some(({ route }) => roles.includes(route)) ? "" : "missing_role";
  }

  #full(last: Ballot): boolean {
    if (last.edit === null) return true;
    const { routes, comprehension } = this.#asked();
    const good = this.#since().filter(
      (one) => one.yes && (one.ack || !comprehension) && this.#right(one.who, one.roles) === "",
    );
    return routes.every(({ route, quorum }) => {
      const people = new Set(good.filter(({ roles }) => roles.includes(route)).map(({ who }) => who));
      return people.size >= quorum;
    });
  }
}
