// A session with a bit of everything, played by a worker and people who only look at what there is; so a runtime may die anywhere in it.
import { SignalboxError } from "@signalbox/protocol";
import type { Session, SessionEvent } from "../../packages/runtime/src/session/types.ts";
import type { Death } from "./corridor.ts";
import { ask, voter } from "./governed.ts";
import { KeptWorker } from "./kept-worker.ts";
import { call, limits, Sessions, talker } from "./sessions.ts";

const completions = [
  { text: "Both.", calls: [call({ amount: 5 }), call({ amount: 6 })] },
  { calls: [call({ amount: 1_500 })] },
  { calls: [call({ amount: 7 }), call({ amount: 8 })] },
  { text: "Done." },
];
const spec = { limits: { ...limits, stepsMax: 3, onLimit: "escalate" as const } };
/** Steps of people, workers and time before a session counts as stuck. */
const movesMax = 150;

/** All that must be the same however often the runtime died; the session's own id is taken out. */
export interface Tale {
  readonly history: string;
  readonly calls: Readonly<Record<string, string>>;
  readonly events: readonly string[];
  readonly entered: Readonly<Record<string, number>>;
  readonly session: Pick<Session, "state" | "reason" | "turn" | "usage" | "historyLength" | "inboxTaken">;
  /** Places in the script at which the model was asked, in order. */
  readonly asked: readonly number[];
  /** Units and claims that it took. */
  readonly commits: number;
  readonly deaths: number;
}

export class Telling {
  house!: Sessions;
  readonly #worker = new KeptWorker({ pay: 10 });
  readonly #asked: number[] = [];
  #id = "";
  #deaths = 0;
  #spoken = false;
  #cancelled = false;
  #commits = 0;

  /** @param death undefined: nobody dies */
  async tell(death?: Death): Promise<Tale> {
    this.house = await Sessions.withScript(completions, spec);
    await this.house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance") });
    this.#worker.attach(this.house);
    await this.house.quiet();
    this.house.ledger.dieAt(death ?? { at: Number.POSITIVE_INFINITY, stored: false });
    for (let moves = 0; !(await this.#isOver()); moves++) {
      if (moves > movesMax) throw new Error(`the session came to nothing more: ${JSON.stringify((await this.house.ledger.listSessions({ tenant: "acme" }, 2)).items)}\n${this.house.logged.join("\n")}`);
      await this.#move();
    }
    return this.#told();
  }

  async #move(): Promise<void> {
    const { house } = this;
    await house.quiet();
    if (house.ledger.dead) return this.#restart();
    await house.pass(1);
    if (this.#worker.listen() || this.#work()) return;
    if (await this.#speak().catch(died)) return;
    if (!house.ledger.dead) await house.pass(5);
  }

  async #restart(): Promise<void> {
    this.#deaths += 1;
    const before = this.house;
    this.#keepTrace();
    await before.kill();
    this.house = await Sessions.withScript(completions, spec, before);
    this.#worker.attach(this.house);
    await this.house.pass(1);
  }

  /** One result at a time, the larger amount first; of the last pair only the smaller one, and that after the cancel. */
  #work(): boolean {
    const { running, unacknowledged } = this.#worker;
    if (unacknowledged.length > 0) return false;
    const pair = running.includes(5) || running.includes(6);
    const next = running.includes(1_500) ? 1_500 : running.includes(6) ? 6 : pair ? 5 : this.#cancelled && running.includes(7) ? 7 : undefined;
    if (next === undefined || (next === 6 && !(running.includes(5) && this.#spoken))) return false;
    this.#worker.finish(next);
    return true;
  }

  /** What people do, in the order of the story; each looks first whether it was done. @returns whether somebody did something */
  async #speak(): Promise<boolean> {
    const { house } = this;
    const { service } = house;
    const [session] = (await house.ledger.listSessions({ tenant: "acme" }, 2)).items;
    if (session === undefined) {
      await service.startSession(talker, { agent: "helper", message: "pay", idempotencyKey: "s1" });
      return true;
    }
    this.#id = session.sessionId;
    const said = (await house.ledger.inbox("acme", this.#id, 0, 10)).map(({ wish }) => wish.type);
    [this.#spoken, this.#cancelled] = [said.includes("message") && said.filter((type) => type === "message").length > 1, said.includes("cancel")];
    const { running } = this.#worker;
    if (!this.#spoken && running.includes(5) && running.includes(6)) {
      await service.sendMessage(talker, this.#id, { text: "in euros", idempotencyKey: "m2" });
      return true;
    }
    if (!this.#cancelled && running.includes(7) && running.includes(8)) {
      await service.cancelSession(talker, this.#id, { scope: "batch", reason: "too much" });
      return true;
    }
    const open = (await house.ledger.sessionApprovals("acme", this.#id)).find(({ state }) => state === "pending");
    if (open === undefined) return false;
    await house.service.vote(voter("fay", "finance"), open.approvalId, { argsHash: open.argsHash, decision: "approve" });
    return true;
  }

  async #isOver(): Promise<boolean> {
    if (this.#id === "" || this.house.ledger.dead) return false;
    const session = await this.house.session(this.#id);
    if (session.state !== "awaiting_input" || session.inboxTaken < session.inboxSeq) return false;
    this.#commits = this.house.ledger.handed;
    this.house.ledger.dieAt({ at: Number.POSITIVE_INFINITY, stored: false });
    // What was told to stop comes to its real end, whatever the model was told.
    for (let moves = 0; moves < 4; moves++) {
      this.#worker.listen();
      this.#worker.finish(8, "cancelled");
      await this.house.quiet();
    }
    return true;
  }

  #keepTrace(): void {
    this.#asked.push(...this.house.requests.map(({ position }) => position));
  }

  async #told(): Promise<Tale> {
    const { house } = this;
    this.#keepTrace();
    const plain = (text: string): string => text.replaceAll(this.#id, "S");
    const { state, reason, turn, usage, historyLength, inboxTaken } = await house.session(this.#id);
    return {
      history: plain(JSON.stringify(await house.history(this.#id))),
      calls: Object.fromEntries((await house.rows()).map((row) => [plain(row.callId), row.state] as const).toSorted(byFirst)),
      events: (await house.told(this.#id)).map(inWords),
      entered: Object.fromEntries([...this.#worker.entered].map(([callId, times]) => [plain(callId), times] as const).toSorted(byFirst)),
      session: { state, reason, turn, usage, historyLength, inboxTaken },
      asked: this.#asked,
      commits: this.#commits,
      deaths: this.#deaths,
    };
  }
}

const byFirst = ([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number => (a < b ? -1 : 1);

function inWords({ seq, type, dataJson }: SessionEvent, at: number): string {
  const { index, told, status } = JSON.parse(dataJson) as { readonly index?: number; readonly told?: string; readonly status?: string };
  const words = [type, index, told, type === "tool.completed" ? status : undefined].filter((word) => word !== undefined).join(" ");
  return seq === at + 1 ? words : `${words} out of order (${seq})`;
}

/** Whoever asks a runtime that dies hears nothing good, and looks again. */
function died(error: unknown): boolean {
  if (error instanceof SignalboxError && error.code === "ledger_unavailable") return true;
  throw error;
}
