// The words of a chaos run: what may happen to which processes, what clients hold, what handlers did, and what is counted in the end.

export type Blow = "kill-runtime" | "kill-worker" | "stop-worker" | "cut-tcp" | "stop-store" | "kill-store";

/** How often something happens: the pause before each, evenly between the two, ms. */
export interface Rhythm {
  readonly blow: Blow;
  readonly fromMs: number;
  readonly toMs: number;
  /** At most so often; as often as there is time, if left out. */
  readonly timesMax?: number;
}

export interface Story {
  readonly name: string;
  readonly about: string;
  readonly ledger: "sqlite" | "postgres";
  readonly replicas: number;
  readonly workers: number;
  /** How long things happen where nobody says otherwise. */
  readonly seconds: number;
  readonly rhythms: readonly Rhythm[];
}

/** One thing that happens, and to which of the processes of its kind. */
export interface Planned {
  readonly atMs: number;
  readonly blow: Blow;
  readonly target: number;
  /** How long it lasts, of a blow that ends by itself. */
  readonly forMs: number;
}

/** An idempotency key that a client holds, and what it was told. */
export interface Held {
  readonly key: string;
  readonly tool: string;
  /** Undefined: no answer ever named the call. */
  readonly executionId: string | undefined;
  /** The end that an answer told, if one did. */
  readonly toldStatus: string | undefined;
}

/** A call as the ledger has it when all is over. */
export interface Row {
  readonly executionId: string;
  readonly tool: string;
  readonly status: string;
  /** Why it parked or failed. */
  readonly reason: string;
  readonly approvalId: string | null;
}

/** A handler was entered. The file in which they stand is the truth about side effects, whatever the ledger says. */
export interface Entry {
  readonly callId: string;
  readonly fence: number;
  readonly tool: string;
}

export interface Report {
  readonly story: string;
  readonly calls: number;
  /** Blows of any kind. */
  readonly kills: number;
  readonly lost: number;
  readonly unsafeRepeats: number;
  readonly stranded: number;
  /** How many of each reason. */
  readonly indeterminate: Readonly<Record<string, number>>;
  /** Whatever else is not as it must be, in words. */
  readonly problems: readonly string[];
}
