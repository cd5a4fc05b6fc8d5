// A stream in both directions about one session: what is said goes into its inbox, and what happens in it comes back, each at its own pace.
import { limits } from "@signalbox/protocol";
import type { Asked } from "../../../service.ts";
import type { SessionFollower, SessionTold, SessionView } from "../../../service-sessions.ts";
import { isEnded } from "../../../session/types.ts";
import { requireScope } from "../../http/admission.ts";
import { tooLarge, type CallerGone } from "../../http/body.ts";
import type { RequestHead } from "../../http/request-head.ts";
import { requestIdOf } from "../../http/request-id.ts";
import { sessionIdIn } from "../../http/routes/session-id.ts";
import { faultAt, invalidInput } from "../../http/schemas/check.ts";
import { cancelRequest, sentMessage, startRequest } from "../../http/schemas/sessions.ts";
import { saysEnd } from "../../http/views/session-stream.ts";
import { sessionView } from "../../http/views/sessions.ts";
import { headOf } from "./ask.ts";
import type { ApiDoorParts, Exchange } from "./exchange.ts";
import { readMessage, type Values } from "./read.ts";
import { leaving, toldJson } from "./session-stream.ts";
import { detailJson } from "./status.ts";
import { writeMessage } from "./write.ts";

export async function answerAttach(door: ApiDoorParts, exchange: Exchange): Promise<void> {
  await exchange.admit();
  if (headOf(exchange.call.metadata).headers["idempotency-key"] !== undefined)
    throw faultAt("header", "/Idempotency-Key", "const", "names one message; set idempotency_key in each message of a stream");
  exchange.begin();
  await new Attached(door, exchange).run();
  exchange.end();
}

const noHead: RequestHead = { headers: {}, headersDistinct: {} };

class Attached {
  readonly #door: ApiDoorParts;
  readonly #exchange: Exchange;
  /** Answers and events go out one behind the other, so that a slow reader is waited for once. */
  #written: Promise<void> = Promise.resolve();
  #sessionId = "";
  #follower: SessionFollower | undefined;

  constructor(door: ApiDoorParts, exchange: Exchange) {
    this.#door = door;
    this.#exchange = exchange;
  }

  /** Resolves when the session has ended and everything was told. @throws SignalboxError · CallerGone */
  async run(): Promise<void> {
    const { call, gone } = this.#exchange;
    const first = Promise.withResolvers<void>();
    const late = setTimeout(() => first.reject(invalidInput(`nothing was said within ${this.#door.bounds.requestWaitMs} ms; say attach or start first`)), this.#door.bounds.requestWaitMs);
    const leave = (): void => {
      this.#follower?.close();
      first.reject(gone.reason as CallerGone);
    };
    gone.addEventListener("abort", leave, { once: true });
    if (gone.aborted) leave();
    this.#exchange.onClosing = () => this.#follower?.close();
    // One message at a time: the next is not read before this one is answered.
    call.on("data", (message: Buffer) => {
      call.pause();
      void this.#take(message, this.#follower === undefined ? first : undefined).finally(() => call.resume());
    });
    call.once("end", () => first.reject(invalidInput("nothing was said; say attach or start first")));
    try {
      await first.promise;
      await this.#tellAll();
    } finally {
      clearTimeout(late);
      gone.removeEventListener("abort", leave);
      this.#follower?.close();
    }
  }

  async #tellAll(): Promise<void> {
    const follower = this.#follower;
    if (follower === undefined) return;
    let told: readonly SessionTold[] = [];
    while (!follower.over) {
      told = await follower.next(this.#door.bounds.followMs);
      for (const one of told) await this.#write(toldJson(one));
    }
    this.#exchange.gone.throwIfAborted();
    if (!saysEnd(told) && !(await this.#hasEnded())) throw leaving();
    await this.#written;
  }

  async #hasEnded(): Promise<boolean> {
    const { session } = await this.#door.service.getSession(this.#exchange.asked, this.#sessionId);
    return isEnded(session.state);
  }

  /** Never rejects. @param first set for the message that says which session it is about: if it is refused, the stream is */
  async #take(message: Buffer, first: PromiseWithResolvers<void> | undefined): Promise<void> {
    const requestId = requestIdOf(undefined, this.#door.newRequestId);
    let ref: string | undefined;
    try {
      if (message.byteLength > this.#exchange.rpc.bytesMax) throw tooLarge(this.#exchange.rpc.bytesMax);
      const values = readMessage(this.#exchange.rpc.input, message);
      ref = textIn(values["ref"]).slice(0, limits.nameCharsMax);
      const answer = await this.#carryOut(values, await this.#askedAnew(requestId), first !== undefined);
      await this.#answer(ref, answer);
      first?.resolve();
    } catch (error) {
      if (first !== undefined) return first.reject(error);
      const text = `"error":${detailJson(this.#exchange.told(error, requestId))}`;
      await this.#write(`{"ref":${JSON.stringify(ref ?? "")},${text}}`).catch(() => undefined);
    }
  }

  /** The credential may have ended since the stream was opened, and so may its scopes. */
  async #askedAnew(requestId: string): Promise<Asked> {
    const { rpc, gone } = this.#exchange;
    const asked = { principal: await this.#exchange.authenticated(requestId), requestId, signal: gone };
    await requireScope(this.#door, asked, rpc.route.scope, rpc.name);
    return asked;
  }

  async #carryOut(values: Values, asked: Asked, first: boolean): Promise<Answer> {
    const { service } = this.#door;
    const { attach, start, message, cancel, complete } = values as Readonly<Record<string, Values | undefined>>;
    if (first) return this.#open(asked, attach, start);
    if (message !== undefined) {
      const view = await service.sendMessage(asked, this.#sessionId, sentMessage(message, noHead));
      return { view, messageSeq: view.entry.seq };
    }
    if (cancel !== undefined) return { view: await service.cancelSession(asked, this.#sessionId, cancelRequest(cancel)) };
    if (complete !== undefined) return { view: await service.completeSession(asked, this.#sessionId) };
    throw invalidInput("say message, cancel or complete; which session it is about was said before");
  }

  async #open(asked: Asked, attach: Values | undefined, start: Values | undefined): Promise<Answer> {
    const { service } = this.#door;
    if (attach === undefined && start === undefined) throw invalidInput("say attach or start first");
    const view =
      start === undefined ? await service.getSession(asked, sessionIdIn({ id: textIn(attach?.["session_id"]) })) : await service.startSession(asked, startRequest(start, noHead));
    this.#sessionId = view.session.sessionId;
    this.#follower = await service.followSession(this.#exchange.asked, this.#sessionId, Number(attach?.["after_seq"] ?? 0));
    return { view };
  }

  #answer(ref: string, { view, messageSeq }: Answer): Promise<void> {
    const head = JSON.stringify({ ref, session: sessionView(view), message_seq: messageSeq, replayed: view.replayed });
    return this.#write(head);
  }

  #write(text: string): Promise<void> {
    const { rpc } = this.#exchange;
    const bytes = writeMessage(rpc.output, text, rpc.name, this.#door.onStray);
    const written = this.#written.then(() => this.#exchange.write(bytes));
    this.#written = written.catch(() => undefined);
    return written;
  }
}

/** The door has read it as text already. */
const textIn = (value: unknown): string => (typeof value === "string" ? value : "");

interface Answer {
  readonly view: SessionView;
  readonly messageSeq?: number;
}
