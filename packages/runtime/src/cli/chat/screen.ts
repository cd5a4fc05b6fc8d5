// Turns what a session tells into lines for a reader: pieces as they come, each word once, calls as short lines.
import { paintStatus } from "../paint.ts";
import type { Paint } from "../paint.ts";
import { cutToWidth, plain, plainLine } from "../text.ts";
import { durationText } from "../times.ts";
import { numberOf, textOf } from "./told.ts";
import type { Told, ToldEvent, ToldPiece } from "./told.ts";

export interface ChatSink {
  /** Words of the model, which may end in the middle of a line. */
  text(text: string): void;
  /** A remark on a line of its own. */
  line(text: string): void;
  /** What follows begins on a line of its own. */
  endLine(): void;
}

export interface ScreenOptions {
  readonly paint: Paint;
  /** Columns of a remark at most; what is longer is cut. */
  readonly columns: () => number;
  /** Words of the model go to a terminal, which must obey nothing in them. */
  readonly safe: boolean;
}

interface WrittenCall {
  readonly name: string;
  readonly arguments: string;
}

const argumentsWidthMax = 60;

export class ChatScreen {
  readonly #sink: ChatSink;
  readonly #options: ScreenOptions;
  /** Messages that their sender has before their eyes already. */
  readonly #own: string[] = [];
  /** The calls that the model wrote last. */
  #calls: readonly WrittenCall[] = [];
  /** Of which turn and step pieces were shown, and what they said. */
  #shownOf = "";
  #shown = "";
  /** The beginning of the step that goes on was not heard: its pieces would begin in the middle. */
  #missed: boolean;
  #missedStep = "";
  /** The first half of a character whose other half comes with the next piece. */
  #half = "";

  /** @param inMiddle a turn is under way, and nobody has heard its beginning */
  constructor(sink: ChatSink, options: ScreenOptions, inMiddle: boolean) {
    this.#sink = sink;
    this.#options = options;
    this.#missed = inMiddle;
  }

  /** Its event is not shown: whoever wrote it sees it. */
  wrote(message: string): void {
    this.#own.push(message);
  }

  /** It was not taken. */
  unwrote(message: string): void {
    const at = this.#own.lastIndexOf(message);
    if (at !== -1) this.#own.splice(at, 1);
  }

  /** True while a message that was sent from here has not been taken up. */
  get waits(): boolean {
    return this.#own.length > 0;
  }

  /** The connection broke: what was said meanwhile comes as whole events. */
  lost(): void {
    this.#missed = true;
    this.#half = "";
  }

  tell(told: Told): void {
    if (told.kind === "delta") this.#piece(told);
    else if (told.kind === "gap") this.lost();
    else this.#event(told);
  }

  #piece({ turn, step, type, text }: ToldPiece): void {
    const place = `${turn}.${step}`;
    if (this.#missed) {
      this.#missed = false;
      this.#missedStep = place;
    }
    if (type !== "text" || place === this.#missedStep) return;
    if (place !== this.#shownOf) {
      this.#sink.endLine();
      this.#shownOf = place;
      this.#shown = "";
      this.#half = "";
    }
    this.#shown += text;
    const ready = this.#half + text;
    this.#half = /[\ud800-\udbff]$/.test(ready) ? ready.slice(-1) : "";
    this.#say(ready.slice(0, ready.length - this.#half.length));
  }

  #say(text: string): void {
    if (text !== "") this.#sink.text(this.#options.safe ? plain(text) : text);
  }

  #event(event: ToldEvent): void {
    const { data } = event;
    switch (event.type) {
      case "message":
        return this.#message(data);
      case "assistant":
        return this.#assistant(event);
      case "tool.started":
        return this.#sink.line(this.#startedLine(data));
      case "tool.completed":
        return this.#sink.line(this.#completedLine(data));
      case "turn.ended":
        return this.#turnEnded(data);
      case "session.ended":
        return this.#sink.line(plainLine(`the session is ${textOf(data, "status")}${because(data)}`));
      default:
        return undefined;
    }
  }

  #message(data: ToldEvent["data"]): void {
    const text = textOf(data, "text");
    const at = this.#own.indexOf(text);
    if (at !== -1) this.#own.splice(at, 1);
    else this.#sink.line(this.#options.paint.bold(plain(`${textOf(data, "by")}> ${text}`)));
  }

  #assistant({ turn, step, data }: ToldEvent): void {
    const place = `${turn}.${step}`;
    const text = textOf(data, "text");
    const shown = place === this.#shownOf ? this.#shown.slice(0, this.#shown.length - this.#half.length) : "";
    if (text.startsWith(shown)) this.#say(text.slice(shown.length));
    else {
      this.#sink.line(this.#options.paint.dim("(that was begun anew)"));
      this.#say(text);
    }
    this.#sink.endLine();
    this.#shownOf = "";
    this.#half = "";
    this.#calls = Array.isArray(data["calls"]) ? (data["calls"] as readonly WrittenCall[]) : [];
  }

  #startedLine(data: ToldEvent["data"]): string {
    const written = this.#calls[numberOf(data, "index")];
    const given = written === undefined || written.arguments === "" ? "" : ` ${cutToWidth(plainLine(written.arguments), argumentsWidthMax)}`;
    return this.#options.paint.dim(this.#cut(`→ ${plainLine(textOf(data, "name"))}${given}`));
  }

  #completedLine(data: ToldEvent["data"]): string {
    const { paint } = this.#options;
    const status = textOf(data, "status");
    const edited = textOf(data, "edited_by");
    const notes = [
      status,
      ...(numberOf(data, "duration_ms") > 0 ? [`in ${durationText(numberOf(data, "duration_ms"))}`] : []),
      ...(edited === "" ? [] : [`with arguments of ${edited}`]),
    ].join(" ");
    const line = this.#cut(plainLine(`← ${textOf(data, "name")} ${notes}: ${textOf(data, "text")}`));
    return status === "succeeded" ? paint.dim(line) : paintStatus(paint, status)(line);
  }

  #cut(line: string): string {
    return cutToWidth(line, this.#options.columns() - 1);
  }

  #turnEnded(data: ToldEvent["data"]): void {
    this.#sink.endLine();
    this.#missed = false;
    if (textOf(data, "code") !== "end_turn") this.#sink.line(this.#options.paint.yellow(plainLine(`the turn ended${because(data)}`)));
  }
}

function because(data: ToldEvent["data"]): string {
  const [code, message] = [textOf(data, "code"), textOf(data, "message")];
  if (message === "") return code === "" ? "" : `: ${code}`;
  return code === "" || code === textOf(data, "status") || code === "cancelled" ? `: ${message}` : `: ${message} (${code})`;
}
