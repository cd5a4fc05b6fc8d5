// Gives queued calls back to everybody; what the ledger cannot take now it is told again, for nobody else can have them till then.
import type { ReplicaPorts } from "./ports.ts";

interface Named {
  readonly tenant: string;
  readonly callId: string;
}

export class Returns {
  readonly #ports: Pick<ReplicaPorts, "ledger" | "replica" | "hub">;
  readonly #waiting = new Map<string, Named>();

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

  /** What could not be given back; what has come into memory again meanwhile is left there. */
  async again(): Promise<void> {
    const { hub } = this.#ports;
    const calls = [...this.#waiting.values()];
    this.#waiting.clear();
    await this.giveBack(calls.filter(({ tenant, callId }) => hub.find(tenant, callId) === undefined));
  }
}

const keyOf = ({ tenant, callId }: Named): string => `${tenant}\u0000${callId}`;
