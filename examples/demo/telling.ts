// Tells the story while it plays: chapters, commands with their real output, and what was checked.
import { isDeepStrictEqual, styleText } from "node:util";

export interface TellingOptions {
  /** One line per chapter, for machines and their logs; a failure is told whole all the same. */
  readonly terse: boolean;
  readonly colours: boolean;
  /** True where a line can be written over. */
  readonly live: boolean;
  readonly write: (text: string) => void;
}

/** The story went otherwise than it should. */
export class StoryFailed extends Error {
  override readonly name = "StoryFailed";
}

const outputLinesMax = 80;

export class Telling {
  readonly #options: TellingOptions;
  #chapters = 0;
  #checks = 0;
  #checksInChapter = 0;
  #chapterBegan = 0;
  #title = "";
  /** What a terse telling has kept to itself in this chapter. */
  #untold: string[] = [];

  constructor(options: TellingOptions) {
    this.#options = options;
  }

  get checks(): number {
    return this.#checks;
  }

  chapter(title: string): void {
    this.#chapters += 1;
    this.#title = title;
    this.#checksInChapter = 0;
    this.#chapterBegan = performance.now();
    this.#untold = [];
    this.#say(`\n${this.#paint("bold", `${this.#chapters} ── ${title}`)}\n`);
  }

  chapterEnds(): void {
    if (!this.#options.terse) return;
    const seconds = ((performance.now() - this.#chapterBegan) / 1000).toFixed(1);
    this.#options.write(`ok  ${this.#title} (${this.#checksInChapter} checks, ${seconds} s)\n`);
  }

  /** A sentence for people. */
  sentence(text: string): void {
    this.#say(`\n${text}\n`);
  }

  command(text: string): void {
    this.#say(`  ${this.#paint("cyan", `$ ${text}`)}\n`);
  }

  /** @param linesMax what is longer is cut, and says so */
  output(text: string, linesMax = outputLinesMax): void {
    const lines = text.trimEnd().split("\n");
    const shown = lines.slice(0, linesMax);
    if (lines.length > linesMax) shown.push(`… (${lines.length - linesMax} more lines)`);
    if (text.trim() !== "") this.#say(`${shown.map((line) => this.#paint("dim", `  ${line}`)).join("\n")}\n`);
  }

  /**
   * Goes on where `actual` is `expected`, in every field that `expected` names.
   * @param fact a sentence that is true when it is
   * @throws StoryFailed that says what was expected
   */
  check(fact: string, actual: unknown, expected: unknown): void {
    if (!matches(actual, expected)) {
      throw new StoryFailed(`not so: ${fact}\n  expected: ${shown(expected)}\n  found:    ${shown(actual)}`);
    }
    this.#checks += 1;
    this.#checksInChapter += 1;
    this.#say(`  ${this.#paint("green", "✓")} ${fact}\n`);
  }

  /** Counts down on one line, where lines can be written over; else says it once. Returns how to end it. */
  countdown(what: string, untilMs: number): () => void {
    const left = (): number => Math.max(0, Math.ceil((untilMs - performance.now()) / 1000));
    if (!this.#options.live || this.#options.terse) {
      this.#say(`  … ${what} (about ${left()} s)\n`);
      return () => {};
    }
    const show = (): void => this.#options.write(`\r\u001b[2K  … ${what}: ${left()} s `);
    show();
    const ticking = setInterval(show, 500);
    return () => {
      clearInterval(ticking);
      this.#options.write("\r\u001b[2K");
    };
  }

  failed(error: unknown): void {
    const { write } = this.#options;
    if (this.#options.terse) write(`${this.#untold.join("")}\n`);
    const text = error instanceof StoryFailed ? error.message : error instanceof Error ? error.stack : String(error);
    write(`\n${this.#paint("red", `✗ ${this.#title === "" ? "" : `${this.#title}: `}${text}`)}\n`);
  }

  /** Said in every form of telling. */
  always(text: string): void {
    this.#options.write(`${text}\n`);
  }

  #say(text: string): void {
    if (this.#options.terse) this.#untold.push(text);
    else this.#options.write(text);
  }

  #paint(style: "bold" | "dim" | "cyan" | "green" | "red", text: string): string {
    return this.#options.colours ? styleText(style, text, { validateStream: false }) : text;
  }
}

/** Objects match field by field, so that more fields are no harm; lists and plain values match whole, patterns match text. */
function matches(actual: unknown, expected: unknown): boolean {
  if (expected instanceof RegExp) return typeof actual === "string" && expected.test(actual);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return false;
    return expected.every((item, index) => matches(actual[index], item));
  }
  if (typeof expected === "object" && expected !== null) {
    if (typeof actual !== "object" || actual === null) return false;
    const found = new Map(Object.entries(actual));
    return Object.entries(expected).every(([name, value]) => matches(found.get(name), value));
  }
  return isDeepStrictEqual(actual, expected);
}

function shown(value: unknown): string {
  if (value instanceof RegExp) return String(value);
  if (typeof value === "string" && value.includes("\n")) return `\n${value.trimEnd().replace(/^/gm, "    ")}`;
  const replace = (_: string, part: unknown): unknown => (part instanceof RegExp ? String(part) : part);
  return JSON.stringify(value, replace) ?? "undefined";
}
