// Times in which something held, by name: a freeze, a tool that was barred.

interface Span {
  readonly name: string;
  readonly from: number;
  to: number;
}

export class Spans {
  readonly #spans: Span[] = [];

  begin(name: string, at: number): void {
    if (!this.holds(name)) this.#spans.push({ name, from: at, to: Number.POSITIVE_INFINITY });
  }

  end(name: string, at: number): void {
    for (const span of this.#spans) if (span.name === name && span.to > at) span.to = at;
  }

  holds(name: string): boolean {
    return this.#spans.some((span) => span.name === name && span.to === Number.POSITIVE_INFINITY);
  }

  /** What holds now. */
  get names(): readonly string[] {
    return this.#spans.filter(({ to }) => to === Number.POSITIVE_INFINITY).map(({ name }) => name);
  }

  /** Held before this instant, and after it; of the two ends themselves nobody can tell what came first. */
  held(name: string, at: number): boolean {
    return this.#spans.some((span) => span.name === name && span.from < at && at < span.to);
  }
}
