// Clients: each request goes to a replica's service as a door would hand it on, and what comes back is written down.
import { SignalboxError } from "@signalbox/protocol";
import { LedgerUnavailable } from "../../packages/runtime/src/ledger/port.ts";
import type { Service } from "../../packages/runtime/src/service.ts";
import { asked } from "../support/corridor.ts";
import { voter } from "../support/governed.ts";
import { rolesOf } from "./books.ts";
import type { Answer, History, Request } from "./history.ts";
import { sentWithNull, textOf } from "./rules.ts";
import type { Plan, Scenario } from "./scenario.ts";

/** Where requests go; undefined: nobody answers there. */
export interface Doors {
  service(replica: number): Service | undefined;
  /** Called when this replica dies before it has answered. */
  onCrash(replica: number, tell: () => void): void;
  after(ms: number, run: () => void): void;
  readonly callId: string;
}

/** What the history can hold; the search looks at every order. */
export const operationsMax = 12;
/** How long somebody waits who got no answer. */
const againMs = 70;

export class Clients {
  readonly #doors: Doors;
  readonly #history: History;
  #shown: { approvalId: string; argsHash: string };
  readonly #first: { readonly approvalId: string; readonly argsHash: string };
  /** Answers that no door may give. */
  readonly odd: string[] = [];

  constructor(doors: Doors, history: History, first: { readonly approvalId: string; readonly argsHash: string }) {
    this.#doors = doors;
    this.#history = history;
    this.#first = first;
    this.#shown = first;
  }

  follow({ plans, startMs, spreadMs }: Scenario): void {
    for (const plan of plans) {
      this.#doors.after(startMs + Math.floor((plan.at * spreadMs) / 1_000), () => {
        const request = this.#requestOf(plan);
        this.#send(plan.replica, request, plan.again);
        if (plan.twice) this.#send(plan.again === "there" ? 1 - plan.replica : plan.replica, request, "never");
      });
    }
  }

  #requestOf({ kind, person, saw, decision, edit, comprehended }: Plan): Request {
    if (kind === "cancel") return { kind, by: person };
    const { approvalId, argsHash } = saw === "first" ? this.#first : this.#shown;
    if (kind === "read") return { kind, approvalId };
    return { kind, voter: person, approvalId, decision, argsHash, edit, comprehended, comment: "" };
  }

  #send(replica: number, request: Request, again: Plan["again"]): void {
    const service = this.#doors.service(replica);
    if (service === undefined || this.#history.operations.length >= operationsMax) return;
    const id = this.#history.begin(replica, request);
    let isOver = false;
    const unanswered = (): void => {
      if (isOver) return;
      isOver = true;
      if (again !== "never")
        this.#doors.after(againMs, () => this.#send(again === "here" ? replica : 1 - replica, request, "never"));
    };
    this.#doors.onCrash(replica, unanswered);
    void ask(service, request, this.#doors.callId).then((answer) => {
      if (isOver) return;
      if (answer === undefined) return unanswered();
      isOver = true;
      this.#history.end(id, answer);
      this.#learn(answer);
      if (answer.word.startsWith("odd")) this.odd.push(answer.word);
    });
  }

  #learn({ word, rows }: Answer): void {
    const [reason, hash] = word.split(" ");
    if (reason === "args_changed" && hash !== undefined) this.#shown = { ...this.#shown, argsHash: hash };
    if (rows === null) return;
    const { approvalId, argsHash, escalatedTo } = rows.approval;
    this.#shown = { approvalId: escalatedTo ?? approvalId, argsHash };
  }
}

/** @returns undefined when nothing is known of what became of it */
async function ask(service: Service, request: Request, callId: string): Promise<Answer | undefined> {
  try {
    return await answered(service, request, callId);
  } catch (error) {
    if (error instanceof LedgerUnavailable) return undefined;
    if (!(error instanceof SignalboxError)) return { word: `odd: ${String(error)}`, rows: null };
    return error.code === "ledger_unavailable" ? undefined : { word: wordOf(error), rows: null };
  }
}

async function answered(service: Service, request: Request, callId: string): Promise<Answer> {
  if (request.kind === "cancel") {
    const { call } = await service.cancel(asked({ name: request.by, scopes: new Set(["calls:cancel"]) }), callId);
    return { word: call.state, rows: null };
  }
  const by =
    request.kind === "read" ? voter("eve") : voter(request.voter.slice("user:".length), ...rolesOf(request.voter));
  if (request.kind === "read") {
    const { approval, votes } = await service.getApproval(by, request.approvalId);
    return { word: "read", rows: { approval, votes } };
  }
  const { decision, argsHash, comment, comprehended, edit, approvalId } = request;
  const args =
    edit === null
      ? {}
      : { args: JSON.parse(edit.withNull ? sentWithNull(edit.amount) : textOf(edit.amount)) as unknown };
  const { said, approval, votes } = await service.vote(by, approvalId, {
    decision,
    argsHash,
    comment,
    comprehended,
    ...args,
  });
  return { word: said, rows: { approval, votes } };
}

/** A refusal in the words of the specification. */
function wordOf({ code, message, details }: SignalboxError): string {
  const { reason, outcome, by, args_hash: argsHash } = details ?? {};
  if (code === "approval_closed") return `approval_closed ${outcome as string} ${by as string}`;
  if (code === "approval_not_found") return code;
  if (reason === "args_changed") return `args_changed ${argsHash as string}`;
  if (typeof reason === "string") return reason;
  if (message.startsWith("others are voting")) return "busy";
  if (message.startsWith("whether this call took effect is unknown")) return "indeterminate";
  return `odd: ${code} ${message}`;
}
