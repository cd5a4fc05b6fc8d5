// Gives queued calls back to everybody; what the ledger cannot take now it is told again, for nobody else can have them till then.
import type { ReplicaPorts } from "./ports.ts";

interface Named {
  readonly tenant: string;
  readonly callId: string;
}

export class Returns {
  readonly #ports: Pick<ReplicaPorts, "ledger" | "replica" | "hub">;
  readonly #waiting = new Map<string, Named>();
  /** A claim failed, and nobody knows whether the ledger gave what was asked for. */
  #unsure = false;

  constructor(ports: Pick<ReplicaPorts, "ledger" | "replica" | "hub">) {
    this.#ports = ports;
  }

  /** Never rejects. */
  async giveBack(calls: readonly Named[]): Promise<void> {
    if (calls.length === 0) return;
    const { ledger, replica } = this.#ports;
    for (const { tenant, callId } of calls) this.#waiting.delete(keyOf({ tenant, callId }));
    try {
      await ledger.release(replica, calls);
    } catch {
      for (const { tenant, callId } of calls) this.#waiting.set(keyOf({ tenant, callId }), { tenant, callId });
    }
  }

  /** Runs a claim; what it may have got without hearing of it goes back. */
  async sure<T>(claim: () => Promise<T>): Promise<T> {
    try {
      return await claim();
    } catch (error) {
      this.#unsure = true;
      throw error;
    }
  }

  /** What could not be given back, or is here unknown; what has come into memory again meanwhile is left there. */
  async again(): Promise<void> {
    const { hub } = this.#ports;
    if (this.#unsure) await this.#findLost();
    const calls = [...this.#waiting.values()];
    this.#waiting.clear();
    await this.giveBack(calls.filter(({ tenant, callId }) => hub.find(tenant, callId) === undefined));
  }

  async #findLost(): Promise<void> {
    const { ledger, replica } = this.#ports;
    this.#unsure = false;
    try {
      for (const call of await ledger.queuedWith(replica)) this.#waiting.set(keyOf(call), call);
    } catch {
      this.#unsure = true;
    }
  }
}

const keyOf = ({ tenant, callId }: Named): string => `${tenant}\u0000${callId}`;
