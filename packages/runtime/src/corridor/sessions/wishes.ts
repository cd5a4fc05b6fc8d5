// What others want of a session that is driven here: read from its inbox whenever somebody says there is more, and at every checkpoint.
import type { Ledger } from "../../ledger/port.ts";
import type { InboxEntry, Session } from "../../session/types.ts";
import type { UserMessage } from "../../session/turn/types.ts";

/** Entries that are read at once. */
const entriesAtOnce = 100;

export type CancelEntry = InboxEntry & { readonly wish: Extract<InboxEntry["wish"], { type: "cancel" }> };

/** What stands at the head of the inbox, in its order. */
export interface Taken {
  readonly messages: readonly UserMessage[];
  /** The last entry that is done with. */
  readonly inboxTaken: number;
}

export class Wishes {
  readonly #ledger: Ledger;
  readonly #tenant: string;
  readonly #sessionId: string;
  readonly #entries: InboxEntry[] = [];
  #read: number;
  #reading: Promise<void> | undefined;
  #again = false;
  #onCancel: (entry: CancelEntry) => void = () => {};

  /** @param cancelTaken the last cancel that was carried out */
  constructor(ledger: Ledger, { tenant, sessionId, inboxTaken }: Session) {
    this.#ledger = ledger;
    this.#tenant = tenant;
    this.#sessionId = sessionId;
    this.#read = inboxTaken;
  }

  /** The last entry that was read. */
  get seen(): number {
    return this.#read;
  }

  /** Told of every cancel, once, as soon as it is read; those that were read before are told at once. */
  onCancel(hear: (entry: CancelEntry) => void): void {
    this.#onCancel = hear;
    for (const entry of this.#entries) if (isCancel(entry)) hear(entry);
  }

  /** Reads what is new; calls that come meanwhile share one further reading. */
  look(): Promise<void> {
    if (this.#reading !== undefined) {
      this.#again = true;
      return this.#reading;
    }
    this.#reading = this.#readAll();
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    try {
      do {
        this.#again = false;
        const entries = await this.#ledger.inbox(this.#tenant, this.#sessionId, this.#read, entriesAtOnce);
        for (const entry of entries) {
          this.#entries.push(entry);
          this.#read = entry.seq;
          if (isCancel(entry)) this.#onCancel(entry);
        }
        if (entries.length === entriesAtOnce) this.#again = true;
      } while (this.#again);
    } finally {
      // In the turn of the last look at `again`: whoever asks from here on needs a reading of their own.
      this.#reading = undefined;
    }
  }

  /** The next entry behind `inboxTaken`; undefined where none was read. */
  next(inboxTaken: number): InboxEntry | undefined {
    return this.#entries.find(({ seq }) => seq > inboxTaken);
  }

  /** Messages at the head, with the cancels between them that were carried out; the first entry of another kind ends it. */
  messages(inboxTaken: number, cancelTaken: number): Taken {
    const messages: UserMessage[] = [];
    let taken = inboxTaken;
    for (const { seq, by, wish } of this.#entries) {
      if (seq <= taken) continue;
      if (wish.type === "message") messages.push({ by, text: wish.text, inboxSeq: seq });
      else if (!(wish.type === "cancel" && seq <= cancelTaken)) break;
      taken = seq;
    }
    return { messages, inboxTaken: taken };
  }

  /** Behind the cancels at the head that were carried out. */
  pastCancels(inboxTaken: number, cancelTaken: number): number {
    let taken = inboxTaken;
    for (const { seq, wish } of this.#entries) {
      if (seq <= taken) continue;
      if (wish.type !== "cancel" || seq > cancelTaken) break;
      taken = seq;
    }
    return taken;
  }

  /** What is done with need not be kept. */
  forget(inboxTaken: number): void {
    const from = this.#entries.findIndex(({ seq }) => seq > inboxTaken);
    this.#entries.splice(0, from === -1 ? this.#entries.length : from);
  }
}

function isCancel(entry: InboxEntry): entry is CancelEntry {
  return entry.wish.type === "cancel";
}
