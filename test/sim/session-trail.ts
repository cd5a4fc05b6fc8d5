// What was stored of sessions, in its order: who claimed them, under which fence each unit was written, and which effects were completed when.
import type { Unit } from "../../packages/runtime/src/ledger/port.ts";
import type { SessionClaim } from "../../packages/runtime/src/ledger/sessions.ts";
import type { Session } from "../../packages/runtime/src/session/types.ts";

const nameOf = ({ tenant, sessionId }: { readonly tenant: string; readonly sessionId: string }): string => `${tenant}/${sessionId}`;

export class SessionTrail {
  readonly broken: string[] = [];
  /** Counts everything that is noted. */
  #place = 0;
  readonly #fences = new Map<string, number>();
  /** Under which fence, since which place; by session and replica. */
  readonly #claims = new Map<string, { readonly place: number; readonly fence: number }>();
  readonly #completed = new Map<string, number>();
  /** How often a model was asked. */
  completions = 0;
  claims = 0;
  /** Claims of a session that another replica had. */
  takenOver = 0;

  /** @param before the row that was claimed */
  claimed({ replica, now }: SessionClaim, before: Session, after: Session): void {
    const name = nameOf(after);
    this.claims++;
    if (before.replica !== null && before.replica !== replica) {
      this.takenOver++;
      if ((before.leaseExpiresAt ?? 0) > now) this.broken.push(`${name}: was claimed by ${replica} while the lease of ${before.replica} ran`);
    }
    if (after.fence <= (this.#fences.get(name) ?? 0)) this.broken.push(`${name}: was claimed by ${replica} under the fence ${after.fence}, which is not new`);
    this.#under(name, after.fence, "claimed");
    this.#claims.set(`${name} ${replica}`, { place: ++this.#place, fence: after.fence });
  }

  /** A unit was applied. */
  wrote({ writes }: Unit, writer: string): void {
    for (const write of writes) {
      if (write.op === "update_session") {
        const name = nameOf(write.row);
        this.#under(name, write.expect.fence, `written by ${writer}`);
        const claim = this.#claims.get(`${name} ${writer}`);
        if (claim?.fence !== write.expect.fence) this.broken.push(`${name}: was written by ${writer} under the fence ${write.expect.fence}, which it has not`);
      } else if (write.op === "complete_effect") {
        const effect = `${nameOf(write)}/${write.key}`;
        if (this.#completed.has(effect)) this.broken.push(`${effect}: was completed twice`);
        this.#completed.set(effect, ++this.#place);
      }
    }
  }

  /** A model was asked by this replica. A replica that stood still asks for nothing new: what counts is what it could know when it took the session. */
  asked(replica: string, key: string): void {
    this.completions++;
    const done = this.#completed.get(key);
    const claim = this.#claims.get(`${key.slice(0, key.lastIndexOf("/"))} ${replica}`);
    if (claim === undefined) this.broken.push(`${key}: was asked for by ${replica}, which never had the session`);
    else if (done !== undefined && done < claim.place) this.broken.push(`${key}: was asked for again by ${replica}, and it was recorded`);
  }

  #under(name: string, fence: number, what: string): void {
    const last = this.#fences.get(name) ?? 0;
    if (fence < last) this.broken.push(`${name}: was ${what} under the fence ${fence} after ${last}`);
    this.#fences.set(name, Math.max(last, fence));
  }
}
