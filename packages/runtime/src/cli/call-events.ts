// Prints what a call says while it runs: its output as it is, everything else as remarks.
import type { CallStreamEvent, EndEvent } from "@signalbox/client";
import { jsonLine } from "./json.ts";
import type { OnlineSession } from "./session.ts";
import { plain, plainLine } from "./text.ts";

/** The number of the last event that was printed, for who is interrupted. */
export interface Printed {
  seq: number;
}

/** Prints to the end, which it gives back unprinted (with `--json`: printed); undefined when there was nothing left to read. */
export async function printEvents(
  session: OnlineSession,
  stream: AsyncIterable<CallStreamEvent>,
  printed: Printed,
): Promise<EndEvent | undefined> {
  const { io, json } = session;
  const sink = new Lines(session);
  for await (const event of stream) {
    if (json) io.stdout.write(jsonLine(withoutText(event)));
    else tell(sink, event);
    printed.seq = event.type === "gap" ? event.to : event.seq;
    if (event.type === "done" || event.type === "error") {
      if (!json) sink.end(event.data.outputText !== null);
      return event;
    }
  }
  return undefined;
}

/** As the API says it: the output's source text is the client's own. */
function withoutText(event: CallStreamEvent): object {
  if (event.type !== "done" && event.type !== "error") return event;
  const { outputText: _, ...data } = event.data;
  return { ...event, data };
}

function tell(sink: Lines, event: CallStreamEvent): void {
  switch (event.type) {
    case "start":
      return sink.remark(`attempt ${event.data.attempt} on ${event.data.worker}`);
    case "stdout":
    case "stderr":
      if (event.data.missed_chunks !== undefined)
        sink.remark(`${event.data.missed_chunks} chunks of output were lost on the way`);
      return sink.text(event.type, event.data.text);
    case "log":
    case "partial":
      return sink.remark(`${event.type}: ${event.data.text.replace(/\n$/, "")}`);
    case "progress":
      return sink.remark(`${event.data.percent}%${event.data.message === "" ? "" : ` ${event.data.message}`}`);
    case "emit":
      return sink.remark(`event ${event.data.type}: ${JSON.stringify(event.data.payload)}`);
    case "approval":
      return sink.remark(
        event.data.status === "indeterminate"
          ? `nobody knows how it ended, and people are asked: approval ${event.data.approval_id}`
          : `it waits for people: signalbox approvals show ${event.data.approval_id}`,
      );
    case "gap":
      return sink.remark(`events ${event.from} to ${event.to} are not kept any more`);
    case "done":
    case "error":
      return undefined;
  }
}

/** Two sinks that may be one terminal: a remark starts on a line of its own. */
class Lines {
  readonly #session: OnlineSession;
  #open: "stdout" | "stderr" | undefined;

  constructor(session: OnlineSession) {
    this.#session = session;
  }

  /** A program reads the very text; a terminal obeys nothing in it. */
  text(to: "stdout" | "stderr", text: string): void {
    if (text === "") return;
    const { io } = this.#session;
    if (this.#open !== undefined && this.#open !== to) this.endLine();
    io[to].write((to === "stdout" ? io.isTTY : io.errIsTTY) ? plain(text) : text);
    this.#open = text.endsWith("\n") ? undefined : to;
  }

  remark(text: string): void {
    this.endLine();
    const { io, paint } = this.#session;
    const line = plainLine(text);
    io.stderr.write(`${io.errIsTTY ? paint.dim(line) : line}\n`);
  }

  /** A result that follows starts on a line of its own everywhere. */
  end(resultFollows: boolean): void {
    if (resultFollows && this.#open === "stdout") this.text("stdout", "\n");
    this.endLine();
  }

  /** On a terminal only: a program that reads the output gets no character that the tool did not write. */
  endLine(): void {
    const { io } = this.#session;
    if (this.#open === "stdout" && io.isTTY) io.stdout.write("\n");
    if (this.#open === "stderr") io.stderr.write("\n");
    this.#open = undefined;
  }
}
