// What a worker needs from the world: a way to the runtime, clocks, chance, timers and a log.
import type { FromRuntime, WorkStream, WorkerMessage } from "@signalbox/protocol";

export interface WorkerStream extends WorkStream<FromRuntime, WorkerMessage> {
  /** Resolves when there is room for output, or none is needed any more. Left out: there always is. */
  room?(): Promise<void>;
}

/** Opens a stream that the runtime has let in. Rejects with ConnectRefused when it never will, else with any error. */
export type Connect = (address: string) => Promise<WorkerStream> | WorkerStream;

export interface World {
  /** Never goes back; ms. */
  monotonicMs(): number;
  /** ms since 1970. */
  wallMs(): number;
  /** 0 to below 1. */
  chance(): number;
  randomBytes(count: number): Uint8Array;
  /** Both return what stops the timer. */
  after(ms: number, call: () => void): () => void;
  every(ms: number, call: () => void): () => void;
  /** Calls back once what was sent before has been handed to the network. */
  soon(call: () => void): void;
  log(message: string): void;
}

/** The runtime does not let this worker in, and asking again will not help. */
export class ConnectRefused extends Error {
  override readonly name = "ConnectRefused";
}
