// Turns a call's bytes into text as they come: a character that two chunks share is put together, and what is no UTF-8 is replaced.

/** What one message was, in order: text, and how many chunks before it never came. */
export interface Heard {
  /** Empty while only the beginning of a character has come. */
  readonly text: string;
  readonly missed: number;
}

export class ChannelText<Channel extends string> {
  readonly #decoders = new Map<Channel, InstanceType<typeof TextDecoder>>();
  /** Undefined: where the numbers stand is not known. */
  #seq: number | undefined;
  #missed = 0;

  /** @param seq of the last chunk that was heard of this lease; 0 = none, undefined = not known */
  constructor(seq: number | undefined) {
    this.#seq = seq;
  }

  /** Undefined for a chunk that came before. @param seq over all channels of one lease */
  read(channel: Channel, seq: number, chunk: Uint8Array): Heard | undefined {
    if (this.#seq !== undefined && seq <= this.#seq) return undefined;
    if (this.#seq !== undefined) this.#missed += seq - this.#seq - 1;
    this.#seq = seq;
    let decoder = this.#decoders.get(channel);
    if (decoder === undefined)
      this.#decoders.set(channel, (decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true })));
    const text = decoder.decode(chunk, { stream: true });
    if (text === "") return { text, missed: 0 };
    const missed = this.#missed;
    this.#missed = 0;
    return { text, missed };
  }

  /** What is left over at the end: characters that never became whole. */
  end(): readonly { readonly channel: Channel; readonly text: string }[] {
    return [...this.#decoders]
      .map(([channel, decoder]) => ({ channel, text: decoder.decode() }))
      .filter(({ text }) => text !== "");
  }
}
