// Where a session's words and the remarks around them go: two outputs that may be one terminal.
import type { Sink } from "../io.ts";
import type { ChatSink } from "./screen.ts";

export interface SinkOptions {
  readonly words: Sink;
  readonly remarks: Sink;
  /** Both are shown on one terminal, so that a remark must not begin in the middle of what the model says. */
  readonly shared: boolean;
  /** Surrounds what is printed, e.g. takes a prompt away. */
  readonly around?: (print: () => void) => void;
}

export class LineSink implements ChatSink {
  readonly #options: SinkOptions;
  /** The last line of the words has not ended. */
  #open = false;

  constructor(options: SinkOptions) {
    this.#options = options;
  }

  text(text: string): void {
    if (text === "") return;
    this.#print(() => this.#options.words.write(text));
    this.#open = !text.endsWith("\n");
  }

  line(text: string): void {
    if (this.#options.shared) this.endLine();
    this.#print(() => this.#options.remarks.write(`${text}\n`));
  }

  endLine(): void {
    if (!this.#open) return;
    this.#print(() => this.#options.words.write("\n"));
    this.#open = false;
  }

  #print(print: () => void): void {
    (this.#options.around ?? ((now: () => void) => now()))(print);
  }
}
