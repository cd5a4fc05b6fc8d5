// The dialogue about one approval that waits: which answers there are, what is still missing, and what it comes to.
import type { ShownApproval } from "../approval-story.ts";

export type Verdict =
  | { readonly type: "approve"; readonly argsText?: string; readonly comprehended?: true }
  | { readonly type: "reject"; readonly comment?: string }
  | { readonly type: "skip" };

export type Reply = { readonly verdict: Verdict } | { readonly say: string } | undefined;

type Step = "choose" | "understood" | "why" | "arguments";

export class Question {
  readonly approval: ShownApproval;
  #step: Step = "choose";
  #argsText: string | undefined;

  constructor(approval: ShownApproval) {
    this.approval = approval;
  }

  /** What stands before the cursor. */
  get prompt(): string {
    switch (this.#step) {
      case "understood":
        return "have you understood what it allows? (yes or no) ";
      case "why":
        return "why not? (may stay empty) ";
      case "arguments":
        return "the arguments as JSON, on one line (empty: as they are) ";
      case "choose":
        return `${this.#choices()} `;
    }
  }

  #choices(): string {
    const { kind } = this.approval;
    if (kind === "resolve") return "a run it again, r give it up, s skip:";
    return kind === "limit" ? "a one more budget, r stop, s skip:" : "a approve, r reject, e edit the arguments, s skip:";
  }

  /** @returns undefined when it asks on */
  take(line: string): Reply {
    const said = line.trim();
    switch (this.#step) {
      case "choose":
        return this.#chosen(said.toLowerCase());
      case "understood":
        this.#step = "choose";
        return /^y(es)?$/i.test(said) ? { verdict: this.#approval(true) } : { say: "then it is not approved" };
      case "why":
        return { verdict: said === "" ? { type: "reject" } : { type: "reject", comment: said } };
      case "arguments":
        return this.#edited(said);
    }
  }

  #chosen(letter: string): Reply {
    if (letter === "s" || letter === "skip") return { verdict: { type: "skip" } };
    if (letter === "r" || letter === "reject") {
      this.#step = "why";
      return undefined;
    }
    if (letter === "a" || letter === "approve") return this.#approved();
    if ((letter === "e" || letter === "edit") && this.approval.kind === "call") {
      this.#step = "arguments";
      return undefined;
    }
    return letter === "" ? undefined : { say: `"${line(letter)}" is none of the answers; to send a message, skip first` };
  }

  #edited(text: string): Reply {
    this.#step = "choose";
    if (text === "") return { say: "the arguments stay as they are" };
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value !== "object" || value === null || Array.isArray(value)) return { say: "arguments are one JSON object" };
    } catch (error) {
      return { say: `that is no JSON: ${(error as Error).message}` };
    }
    this.#argsText = text;
    return this.#approved();
  }

  #approved(): Reply {
    if (!this.approval.comprehension) return { verdict: this.#approval(false) };
    this.#step = "understood";
    return undefined;
  }

  #approval(comprehended: boolean): Verdict {
    return {
      type: "approve",
      ...(this.#argsText === undefined ? {} : { argsText: this.#argsText }),
      ...(comprehended ? { comprehended: true as const } : {}),
    };
  }
}

const line = (text: string): string => text.slice(0, 40);
