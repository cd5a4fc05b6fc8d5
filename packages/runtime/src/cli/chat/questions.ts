// The approvals of a session that wait: which one is asked about now, which were skipped, and which others have decided.
import type { ShownApproval } from "../approval-story.ts";
import { Question } from "./question.ts";

export class Questions {
  readonly #waiting: ShownApproval[] = [];
  readonly #skipped: ShownApproval[] = [];
  #now: Question | undefined;

  get now(): Question | undefined {
    return this.#now;
  }

  add(approval: ShownApproval): void {
    this.#waiting.push(approval);
  }

  /** Goes on to the one that has waited longest. @returns it, if it was not asked about yet */
  next(): ShownApproval | undefined {
    if (this.#now !== undefined) return undefined;
    const approval = this.#waiting.shift();
    if (approval === undefined) return undefined;
    this.#now = new Question(approval);
    return approval;
  }

  /** The one that is asked about now is done with. */
  close(skipped: boolean): void {
    if (skipped && this.#now !== undefined) this.#skipped.push(this.#now.approval);
    this.#now = undefined;
  }

  /** Those that were skipped, to be looked at and added again. */
  takeSkipped(): readonly ShownApproval[] {
    return this.#skipped.splice(0);
  }

  /** The call has gone on: nobody has to decide any more. @returns true when it was asked about just now */
  settled(executionId: string): boolean {
    const other = (approval: ShownApproval): boolean => approval.execution_id !== executionId;
    for (const list of [this.#waiting, this.#skipped]) list.splice(0, list.length, ...list.filter(other));
    if (this.#now === undefined || other(this.#now.approval)) return false;
    this.#now = undefined;
    return true;
  }

  /** The turn is over, and with it all of its questions. @returns true when one was asked about just now */
  clear(): boolean {
    const asked = this.#now !== undefined;
    this.#waiting.length = 0;
    this.#skipped.length = 0;
    this.#now = undefined;
    return asked;
  }
}
