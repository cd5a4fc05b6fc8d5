// Turns a channel's bytes into text as they come: a character that two chunks share is put together, and what is no UTF-8 is replaced.

export class ChannelText {
  readonly #decoders = new Map<string, InstanceType<typeof TextDecoder>>();

  /** @returns empty while only the beginning of a character has come */
  read(channel: string, chunk: Uint8Array): string {
    let decoder = this.#decoders.get(channel);
    if (decoder === undefined) this.#decoders.set(channel, (decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true })));
    return decoder.decode(chunk, { stream: true });
  }

  /** What is left over at the end: characters that never became whole. */
  end(channel: string): string {
    return this.#decoders.get(channel)?.decode() ?? "";
  }
}
