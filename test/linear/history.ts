// What clients saw: who asked for what, where, from when to when, and what was answered.
import type { Approval, Vote } from "../../packages/runtime/src/policy/approval/types.ts";

export type Request =
  | {
      readonly kind: "vote";
      readonly voter: string;
      readonly approvalId: string;
      readonly decision: "approve" | "reject";
      /** Of the arguments that the voter saw. */
      readonly argsHash: string;
      /** Another amount in place of theirs; `withNull`: sent with a field that validation takes out. */
      readonly edit: { readonly amount: number; readonly withNull: boolean } | null;
      readonly comprehended: boolean;
      readonly comment: string;
    }
  | { readonly kind: "cancel"; readonly by: string }
  | { readonly kind: "read"; readonly approvalId: string };

/** Rows as an answer, or the ledger, has them. */
export interface Rows {
  readonly approval: Approval;
  readonly votes: readonly Vote[];
}

export interface Answer {
  /** `counted`, `approval_closed rejected user:bo`, or the state of a call that was to be cancelled. */
  readonly word: string;
  /** Of the approval that was voted on or read; null where the answer shows none. */
  readonly rows: Rows | null;
}

/**
 * One request. `order` numbers count every beginning and end in the run, so that real time has no ties; `at` is the
 * clock (ms since 1970). `end` null: nobody knows; it has happened, will happen later, or never does.
 */
export interface Operation {
  readonly id: number;
  readonly replica: number;
  readonly request: Request;
  readonly began: { readonly order: number; readonly at: number };
  readonly end: { readonly order: number; readonly at: number; readonly answer: Answer } | null;
}

export class History {
  readonly #clock: () => number;
  readonly #operations: Operation[] = [];
  #order = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  get operations(): readonly Operation[] {
    return this.#operations;
  }

  begin(replica: number, request: Request): number {
    const id = this.#operations.length;
    this.#operations.push({ id, replica, request, began: this.#tick(), end: null });
    return id;
  }

  end(id: number, answer: Answer): void {
    const operation = this.#operations[id];
    if (operation === undefined || operation.end !== null) throw new Error(`operation ${id} cannot end`);
    this.#operations[id] = { ...operation, end: { ...this.#tick(), answer } };
  }

  #tick(): { order: number; at: number } {
    return { order: ++this.#order, at: this.#clock() };
  }
}

/** For people who look at a failure; `from`: the clock's first instant. */
export function inWords({ id, replica, request, began, end }: Operation, from: number): string {
  const when = `${began.at - from}–${end === null ? "?" : end.at - from} ms`;
  const said = end === null ? "no answer" : end.answer.word;
  return `#${id} [${when}] r${replica} ${requestInWords(request)} → ${said}`;
}

function requestInWords(request: Request): string {
  if (request.kind === "cancel") return `${request.by} cancels`;
  if (request.kind === "read") return `somebody reads ${request.approvalId.slice(-4)}`;
  const { voter, decision, argsHash, edit, approvalId, comprehended } = request;
  const change = edit === null ? "" : ` with ${edit.amount}${edit.withNull ? " and a null" : ""}`;
  return `${voter} ${decision}s ${argsHash.slice(0, 4)}${change}${comprehended ? " understood" : ""} on ${approvalId.slice(-4)}`;
}
