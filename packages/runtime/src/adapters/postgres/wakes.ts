// Wake-ups between replicas by LISTEN and NOTIFY: gathered per turn, never part of a commit, and watched for a line that is dead.
import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { Wake } from "../../ledger/shared.ts";
import { connect, connectionConfig } from "./pool.ts";

export interface WakeLineOptions {
  readonly url: string;
  readonly name: string;
  /** Hears once that wake-ups do not come through. */
  readonly onError: (error: Error) => void;
  /** How often the line is tried, and how long the word may take. */
  readonly probeEveryMs: number;
  readonly probeMsMax: number;
}

export type Heard = Wake | { readonly type: "lost" };

const channel = "signalbox_wake";
/** PostgreSQL takes payloads below 8 000 bytes. */
const payloadBytesMax = 7_900;
const reconnectMs = 250;

interface Message {
  readonly from: string;
  readonly wakes?: readonly Wake[];
  readonly probe?: number;
}

/** As many payloads as it takes; what is the same is said once. */
export function payloadsOf(from: string, wakes: readonly Wake[]): string[] {
  const texts = [...new Set(wakes.map((wake) => JSON.stringify(wake)))];
  const open = `{"from":${JSON.stringify(from)},"wakes":[`;
  const payloads: string[] = [];
  let held: string[] = [];
  let bytes = open.length + 2;
  for (const text of texts) {
    const more = Buffer.byteLength(text) + 1;
    if (held.length > 0 && bytes + more > payloadBytesMax) {
      payloads.push(`${open}${held.join(",")}]}`);
      [held, bytes] = [[], open.length + 2];
    }
    // One that is too long by itself is left out: whoever it is for looks for itself.
    if (bytes + more > payloadBytesMax) continue;
    held.push(text);
    bytes += more;
  }
  if (held.length > 0) payloads.push(`${open}${held.join(",")}]}`);
  return payloads;
}

export class WakeLine {
  readonly #options: WakeLineOptions;
  readonly #id = randomBytes(8).toString("hex");
  readonly #hearers: ((heard: Heard) => void)[] = [];
  #said: Wake[] = [];
  #client: pg.Client | undefined;
  #connecting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #probes = 0;
  #answered = 0;
  #missing = false;
  #toldDead = false;
  #closed = false;

  constructor(options: WakeLineOptions) {
    this.#options = options;
  }

  /** Never rejects, never throws: what is lost is found by those who look for themselves. */
  wake(wakes: readonly Wake[]): void {
    if (this.#closed || wakes.length === 0) return;
    if (this.#said.length === 0) setImmediate(() => void this.#send());
    this.#said.push(...wakes);
  }

  /** Listens from now on, for as long as the ledger is open. */
  onWake(hear: (heard: Heard) => void): void {
    this.#hearers.push(hear);
    void this.#connected();
    this.#timer ??= this.#armed();
  }

  #armed(): NodeJS.Timeout {
    return setInterval(() => void this.#probe(), this.#options.probeEveryMs).unref();
  }

  async #send(): Promise<void> {
    const payloads = payloadsOf(this.#id, this.#said.splice(0));
    try {
      await this.#connected();
      const client = this.#client;
      if (client !== undefined) await Promise.all(payloads.map((payload) => client.query("SELECT pg_notify($1, $2)", [channel, payload])));
    } catch {
      // Lost, as it may be.
    }
  }

  #connected(): Promise<void> {
    if (this.#client !== undefined || this.#closed) return Promise.resolve();
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  /** Tries till it has a connection that listens, or the ledger is closed. */
  async #connect(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#listen();
        return;
      } catch {
        this.#missing = true;
        await new Promise((resolve) => setTimeout(resolve, reconnectMs).unref());
      }
    }
  }

  async #listen(): Promise<void> {
    const { url, name } = this.#options;
    // It may be lost before it is here; then it cannot listen, and the next one is made.
    const client = await connect(connectionConfig(url, name), (_, lost) => this.#lost(lost));
    client.on("notification", ({ payload }) => this.#hear(payload));
    try {
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    if (this.#closed) {
      await client.end().catch(() => undefined);
      return;
    }
    this.#client = client;
    this.#answered = this.#probes;
    if (this.#missing) this.#tell({ type: "lost" });
    this.#missing = false;
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#missing = true;
    void client.end().catch(() => undefined);
    if (!this.#closed) void this.#connected();
  }

  #hear(payload: string | undefined): void {
    let message: Message;
    try {
      message = JSON.parse(payload ?? "") as Message;
    } catch {
      return;
    }
    if (message.from !== this.#id) for (const wake of message.wakes ?? []) this.#tell(wake);
    else if (message.probe !== undefined) this.#answered = Math.max(this.#answered, message.probe);
  }

  #tell(heard: Heard): void {
    for (const hear of this.#hearers) hear(heard);
  }

  /** A connection can live and hear nothing: behind a pooler LISTEN goes to whichever server connection was at hand. */
  async #probe(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    this.#probes += 1;
    const probe = this.#probes;
    const message: Message = { from: this.#id, probe };
    client.query("SELECT pg_notify($1, $2)", [channel, JSON.stringify(message)]).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, this.#options.probeMsMax).unref());
    if (this.#closed || this.#client !== client || this.#answered >= probe) return;
    if (!this.#toldDead) {
      this.#toldDead = true;
      this.#options.onError(
        new Error(
          "Wake-ups from PostgreSQL do not come through, so replicas find new work by looking for it. Connect the ledger to PostgreSQL directly, or through a pooler in session mode.",
        ),
      );
    }
    this.#lost(client);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }
}
