// A driver with everything around it in a test's hands: clock, ledger, streams; the hub is the real one.
import type { CallIdentity } from "../../packages/runtime/src/call/types.ts";
import { Driver } from "../../packages/runtime/src/corridor/driver.ts";
import type { Consult } from "../../packages/runtime/src/corridor/driver-ports.ts";
import type { Labels } from "../../packages/runtime/src/corridor/ports.ts";
import { Hub } from "../../packages/runtime/src/dispatch/hub.ts";
import type { CommitOutcome } from "../../packages/runtime/src/ledger/port.ts";
import { FairLine } from "../../packages/runtime/src/schedule/fair-line.ts";
import { at0, identityOf } from "./calls.ts";
import { HandClock, settled } from "./hand-clock.ts";
import { believed, hubLimits, register, type WorkerSays } from "./hand-hub.ts";
import { HandStream } from "./hand-stream.ts";
import { MemoryLedger } from "./memory-ledger.ts";

export class HandDriver {
  readonly clock = new HandClock(at0);
  readonly ledger = new MemoryLedger();
  readonly hub = new Hub("r1", hubLimits, new FairLine(), at0 - 15_000);
  /** Counts and figures: `name{label="value"}` → what was added or observed. */
  readonly figures: (readonly [name: string, labels: Labels, value: number])[] = [];
  readonly logged: string[] = [];
  readonly driver: Driver;
  /** What a test answers itself; all else is allowed, and closes without a word. */
  consult: Partial<Consult> = {};

  constructor() {
    const log = (_fields: object, message: string): void => void this.logged.push(message);
    this.driver = new Driver({
      hub: this.hub,
      ledger: this.ledger.asLedger,
      clock: this.clock,
      log: { info: log, warn: log, error: log },
      meters: {
        count: (name, labels = {}, by = 1) => void this.figures.push([name, labels, by]),
        observe: (name, value, labels = {}) => void this.figures.push([name, labels, value]),
        text: async () => "",
      },
      factsFor: async () => believed,
      consult: {
        recheck: async (call) => this.consult.recheck?.(call) ?? { epoch: this.hub.epoch, until: Number.POSITIVE_INFINITY },
        endApproval: async (call, happening) => this.consult.endApproval?.(call, happening),
        trigger: async (call, outcome) => this.consult.trigger?.(call, outcome),
        vet: async (offer) => this.consult.vet?.(offer) ?? [],
        said: () => undefined,
        given: () => undefined,
        told: () => undefined,
      },
    });
  }

  worker(workerId: string, says: WorkerSays = {}): HandStream {
    const stream = new HandStream();
    this.driver.attach(stream, { tenant: says.tenant ?? "acme", principal: "service:worker" });
    stream.say(register(workerId, says));
    return stream;
  }

  admit(callId: string, changes: Partial<CallIdentity> = {}): Promise<CommitOutcome> {
    const clearance = { epoch: this.hub.epoch, until: Number.POSITIVE_INFINITY };
    return this.driver.admit({ identity: identityOf({ callId, ...changes }), edited: null, facts: believed, clearance }, this.clock.monotonic());
  }

  /** Admitted, stored, and with its worker, where one was free. */
  async given(callId: string, changes: Partial<CallIdentity> = {}): Promise<void> {
    await this.admit(callId, changes);
    await settled();
  }

  stateOf(callId: string): string | undefined {
    return this.ledger.calls.get(`acme/${callId}`)?.state;
  }
}
