// A conversation with one session at a terminal: what it tells, what is typed, questions to people, and leaving without ending it.
import { SignalboxApiError } from "@signalbox/client";
import type { Console, Heard } from "../console.ts";
import { storyFor } from "../commands/approval-show.ts";
import { exitCodes } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { nextStep } from "../next-steps.ts";
import { pause } from "../pause.ts";
import type { OnlineSession } from "../session.ts";
import { plain, plainLine } from "../text.ts";
import { answer } from "./answers.ts";
import { following } from "./following.ts";
import { Questions } from "./questions.ts";
import { openFollow } from "./open.ts";
import { ChatScreen } from "./screen.ts";
import { LineSink } from "./sink.ts";
import { textOf } from "./told.ts";
import type { Told, ToldEvent } from "./told.ts";

export interface ChatStart {
  readonly id: string;
  /** Of the last event that has been shown. */
  readonly seq: number;
  /** A turn is under way. */
  readonly works: boolean;
  /** Shown before anything else: what was said before. */
  readonly before: readonly ToldEvent[];
  readonly message: string | undefined;
}

export interface ChatEnd {
  readonly code: ExitCode;
  /** The session has come to its end; else it goes on without its reader. */
  readonly over: boolean;
}

const helpLines = [
  "a line is a message; //… sends one that begins with a slash",
  "/cancel    ends the turn that runs (so does Ctrl-C)",
  "/ask       asks again about approvals that were skipped",
  "/complete  ends the session for good, and leaves",
  "/quit      leaves; the session stays as it is (so do Ctrl-D, and Ctrl-C twice)",
];

export class Chat {
  readonly #session: OnlineSession;
  readonly #console: Console;
  readonly #id: string;
  readonly #sink: LineSink;
  readonly #screen: ChatScreen;
  readonly #questions = new Questions();
  readonly #leaving = new AbortController();
  readonly #left = Promise.withResolvers<ChatEnd>();
  #works: boolean;
  /** A second Ctrl-C leaves. */
  #warned = false;
  /** What was typed is gone through one by one, in its order. */
  #heard: Promise<void> = Promise.resolve();

  constructor(session: OnlineSession, console: Console, start: ChatStart) {
    const { io, paint } = session;
    this.#session = session;
    this.#console = console;
    this.#id = start.id;
    this.#works = start.works;
    this.#sink = new LineSink({ words: io.stdout, remarks: io.stdout, shared: true, around: (print) => console.above(print) });
    const options = { paint, columns: () => io.size()?.columns ?? 80, safe: true };
    this.#screen = new ChatScreen(this.#sink, options, start.works);
  }

  /** Resolves when somebody leaves or the session has ended. */
  static async run(session: OnlineSession, console: Console, start: ChatStart): Promise<ChatEnd> {
    const chat = new Chat(session, console, start);
    const { signal } = session;
    const leave = (): void => chat.#leave(exitCodes.interrupted);
    signal.addEventListener("abort", leave, { once: true });
    try {
      for (const event of start.before) chat.#screen.tell(event);
      console.listen((heard) => chat.#hear(heard));
      if (start.message !== undefined) chat.#inTurn(() => chat.#send(start.message ?? ""));
      chat.#follow(start.seq).then(undefined, (error: unknown) => chat.#left.reject(error as Error));
      await chat.#askAgain(start.before);
      chat.#showPrompt();
      return await chat.#left.promise;
    } finally {
      signal.removeEventListener("abort", leave);
      chat.#leaving.abort(new Error("left"));
      console.close();
    }
  }

  async #follow(seq: number): Promise<void> {
    const { client } = this.#session;
    const { signal } = this.#leaving;
    const ports = {
      open: (afterSeq: number) => openFollow(client, this.#id, afterSeq, signal),
      pause: (ms: number) => pause(ms, signal),
      random: Math.random,
      lost: ({ message }: SignalboxApiError) => {
        this.#screen.lost();
        this.#remark(`${plainLine(message)}; trying again`);
      },
      back: () => this.#remark("the connection is back"),
    };
    try {
      for await (const told of following(ports, { seq }, Number.POSITIVE_INFINITY)) await this.#tell(told);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #tell(told: Told): Promise<void> {
    this.#screen.tell(told);
    if (told.kind !== "event") return;
    const { type, data } = told;
    if (type === "turn.started") this.#setWorks(true);
    if (type === "approval.requested") await this.#asked(textOf(data, "approval_id"), textOf(data, "execution_id"));
    if (type === "tool.completed" && this.#questions.settled(textOf(data, "execution_id"))) this.#decided();
    if (type === "turn.ended") {
      if (this.#questions.clear()) this.#remark("nobody has to decide any more");
      this.#warned = false;
      this.#setWorks(this.#screen.waits);
    }
    if (type === "session.ended") this.#leave(textOf(data, "status") === "failed" ? exitCodes.failed : exitCodes.ok, true);
  }

  #setWorks(works: boolean): void {
    this.#works = works;
    this.#showPrompt();
  }

  #showPrompt(): void {
    if (this.#leaving.signal.aborted) return;
    const question = this.#questions.now;
    if (question !== undefined) this.#console.prompt(question.prompt);
    else this.#console.prompt(this.#works ? undefined : "> ");
  }

  #remark(text: string): void {
    this.#sink.line(this.#session.paint.dim(text));
  }

  /** Of what was said before: the questions that nobody has answered. */
  async #askAgain(before: readonly ToldEvent[]): Promise<void> {
    if (!this.#works) return;
    for (const { seq, type, data } of before) {
      const done = (later: ToldEvent): boolean =>
        later.seq > seq && (later.type === "turn.ended" || (later.type === "tool.completed" && later.data["execution_id"] === data["execution_id"]));
      if (type === "approval.requested" && !before.some(done)) await this.#asked(textOf(data, "approval_id"), textOf(data, "execution_id"));
    }
  }

  async #asked(approvalId: string, executionId: string): Promise<void> {
    if (approvalId === "") return this.#remark(`nobody knows how it ended:  signalbox calls show ${plainLine(executionId)}`);
    try {
      const approval = await this.#session.client.approvals.get(approvalId, { signal: this.#leaving.signal });
      if (approval.status !== "pending") return;
      this.#questions.add(approval);
      this.#nextQuestion();
    } catch (error) {
      if (!(error instanceof SignalboxApiError)) throw error;
      this.#remark(`people are asked, and this key may not see what: ${plainLine(error.message)}`);
      this.#remark(`next:  signalbox approvals show ${plainLine(approvalId)}  (with the key of who may decide)`);
    }
  }

  #nextQuestion(): void {
    for (let approval = this.#questions.next(); approval !== undefined; approval = this.#questions.next()) {
      this.#sink.line("");
      this.#sink.line(storyFor(this.#session, approval, approval.kind === "resolve").trimEnd());
      if (approval.may_not_vote === null) break;
      this.#remark("it waits for somebody who may decide; the session goes on by itself then");
      this.#questions.close(false);
    }
    this.#showPrompt();
  }

  #decided(): void {
    this.#remark("that was decided meanwhile");
    this.#nextQuestion();
  }

  #hear(heard: Heard): void {
    if (heard.type === "end") return this.#leave(exitCodes.ok);
    if (heard.type === "interrupt") return this.#interrupt();
    this.#inTurn(() => this.#line(heard.text));
  }

  /** One after the other; what is refused is told and ends nothing. */
  #inTurn(act: () => Promise<void>): void {
    this.#heard = this.#heard.then(act).catch((error: unknown) => {
      if (this.#leaving.signal.aborted) return;
      if (!(error instanceof SignalboxApiError)) return this.#left.reject(error);
      this.#refused(error);
    });
  }

  #refused({ message, code, details }: SignalboxApiError): void {
    const next = nextStep(code, { details });
    this.#sink.line(this.#session.paint.red(plainLine(`error: ${message} (${code})`)));
    if (next !== undefined) this.#remark(`next:  ${plain(next)}`);
    this.#showPrompt();
  }

  /** Once ends the turn, twice leaves. */
  #interrupt(): void {
    if (this.#warned) return this.#leave(exitCodes.interrupted);
    this.#warned = true;
    if (!this.#works) return this.#remark("Ctrl-C again leaves; the session stays as it is");
    this.#cancelTurn();
  }

  #cancelTurn(): void {
    this.#remark("cancelling the turn … (Ctrl-C again leaves)");
    // Not behind what is typed: a question may be open there.
    this.#session.client.sessions.cancel(this.#id, { scope: "turn" }, { signal: this.#leaving.signal }).catch((error: unknown) => {
      if (error instanceof SignalboxApiError) this.#refused(error);
    });
  }

  async #line(text: string): Promise<void> {
    this.#warned = false;
    if (/^\/(?!\/)/.test(text)) return this.#command(text.trim());
    const question = this.#questions.now;
    if (question !== undefined) return this.#answer(text);
    const message = text.startsWith("//") ? text.slice(1) : text;
    if (message.trim() === "") return this.#showPrompt();
    // Typed while nothing was shown of it.
    if (this.#works) this.#sink.line(this.#session.paint.bold(plain(`> ${message}`)));
    await this.#send(message);
  }

  async #send(message: string): Promise<void> {
    this.#screen.wrote(message);
    this.#setWorks(true);
    const key = `cli-${this.#session.io.newId()}`;
    try {
      await this.#session.client.sessions.send(this.#id, message, { idempotency_key: key }, { signal: this.#leaving.signal });
    } catch (error) {
      this.#screen.unwrote(message);
      this.#works = this.#screen.waits;
      throw error;
    }
  }

  async #answer(text: string): Promise<void> {
    const question = this.#questions.now;
    const reply = question?.take(text);
    if (question === undefined || reply === undefined) return this.#showPrompt();
    if ("say" in reply) {
      this.#remark(plainLine(reply.say));
      return this.#showPrompt();
    }
    const { verdict } = reply;
    if (verdict.type === "skip") {
      this.#questions.close(true);
      this.#remark("skipped; /ask asks again");
    } else {
      this.#console.prompt(undefined);
      const { lines, open } = await answer(this.#session, question, verdict);
      for (const line of lines) this.#remark(line);
      if (!open) this.#questions.close(false);
    }
    this.#nextQuestion();
  }

  async #skippedAgain(): Promise<void> {
    const skipped = this.#questions.takeSkipped();
    if (skipped.length === 0) this.#remark("no approval was skipped");
    for (const { approval_id: id, execution_id: call } of skipped) await this.#asked(id, call ?? "");
    this.#showPrompt();
  }

  async #command(text: string): Promise<void> {
    switch (text) {
      case "/quit":
      case "/exit":
        return this.#leave(exitCodes.ok);
      case "/help":
        for (const line of helpLines) this.#remark(line);
        return this.#showPrompt();
      case "/cancel":
        if (this.#works) this.#cancelTurn();
        else this.#remark("no turn runs");
        return this.#showPrompt();
      case "/ask":
        return this.#skippedAgain();
      case "/complete":
        // Its last event is what leaves.
        await this.#session.client.sessions.complete(this.#id, { signal: this.#leaving.signal });
        return;
      default:
        this.#remark(`${plainLine(text)} is no command; /help names them, and //… sends such a line`);
        return this.#showPrompt();
    }
  }

  #leave(code: ExitCode, over = false): void {
    this.#leaving.abort(new Error("left"));
    this.#console.prompt(undefined);
    this.#sink.endLine();
    this.#left.resolve({ code, over });
  }
}
