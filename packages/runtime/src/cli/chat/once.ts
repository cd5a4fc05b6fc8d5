// One message and its answer, for pipes and scripts: words on stdout as they come, everything else on stderr.
import type { Session, SignalboxApiError } from "@signalbox/client";
import { isAtRest, tellEnd } from "../commands/session-waits.ts";
import { Interrupted } from "../failure.ts";
import type { ExitCode } from "../exit-codes.ts";
import { pause } from "../pause.ts";
import type { OnlineSession } from "../session.ts";
import { exitCodeOfSession } from "../session-words.ts";
import { plainLine } from "../text.ts";
import { following } from "./following.ts";
import { openFollow, toldLine } from "./open.ts";
import { ChatScreen } from "./screen.ts";
import { LineSink } from "./sink.ts";

/** Connections in a row that bring nothing. */
const triesMax = 10;
/** Events behind which the session may rest; that it does is no event. */
const perhapsAtRest = new Set(["turn.ended", "approval.requested", "session.ended"]);

/** @param before as it was before the message */
export async function talkOnce(session: OnlineSession, before: Session, message: string): Promise<ExitCode> {
  const { session_id: id } = before;
  const once = new Once(session, before);
  try {
    const found = await once.answered(message);
    if (!session.json) tellEnd(session, found);
    return exitCodeOfSession(found);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(`interrupted; the session goes on\nnext:  signalbox chat --session ${plainLine(id)}`);
  } finally {
    once.close();
  }
}

class Once {
  readonly #session: OnlineSession;
  readonly #id: string;
  readonly #screen: ChatScreen;
  readonly #sink: LineSink;
  readonly #done = new AbortController();
  readonly #signal: AbortSignal;
  readonly #place: { seq: number };
  /** Ends the pause between two looks. */
  #nudge: () => void = () => undefined;

  constructor(session: OnlineSession, before: Session) {
    const { io, paint } = session;
    this.#session = session;
    this.#id = before.session_id;
    this.#place = { seq: before.event_seq };
    this.#signal = AbortSignal.any([session.signal, this.#done.signal]);
    this.#sink = new LineSink({ words: io.stdout, remarks: io.stderr, shared: io.isTTY && io.errIsTTY });
    const options = { paint, columns: () => io.size()?.columns ?? 80, safe: io.isTTY };
    this.#screen = new ChatScreen(this.#sink, options, !isAtRest(before));
  }

  close(): void {
    this.#done.abort(new Error("the answer is there"));
  }

  /** Sends it; resolves when the session rests and everything that it told until then is printed. */
  async answered(message: string): Promise<Session> {
    const { client, io } = this.#session;
    this.#screen.wrote(message);
    const reading = this.#read();
    reading.catch(() => this.#nudge());
    await client.sessions.send(this.#id, message, { idempotency_key: `cli-${io.newId()}` }, this.#session);
    for (;;) {
      const found = await client.sessions.get(this.#id, this.#session);
      if (isAtRest(found) && this.#place.seq >= found.event_seq) return found;
      await Promise.race([this.#nudged(), reading]);
    }
  }

  async #nudged(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#nudge = resolve;
    await Promise.race([promise, pause(this.#session.io.delays.lookFirstMs, this.#signal)]);
  }

  async #read(): Promise<void> {
    const { client, io, json } = this.#session;
    const ports = {
      open: (afterSeq: number) => openFollow(client, this.#id, afterSeq, this.#signal),
      pause: (ms: number) => pause(ms, this.#signal),
      random: Math.random,
      lost: ({ message }: SignalboxApiError) => {
        this.#screen.lost();
        this.#session.remark(`${plainLine(message)}; trying again`);
      },
      back: () => this.#session.remark("the connection is back"),
    };
    for await (const told of following(ports, this.#place, triesMax)) {
      if (json) io.stdout.write(toldLine(told));
      else this.#screen.tell(told);
      if (told.kind === "event" && perhapsAtRest.has(told.type)) this.#nudge();
    }
    // The session has ended; a look tells how.
    this.#nudge();
  }
}
