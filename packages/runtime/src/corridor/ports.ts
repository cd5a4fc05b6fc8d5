// What the corridor needs of the world besides the ledger: a clock, chance, hashing, meters and a log.

export interface Clock {
  /** Wall clock, ms since 1970; for what is stored. */
  now(): number;
  /** Monotonic, ms with fractions; for durations. */
  monotonic(): number;
  /** Calls back once, no earlier than `ms` from now; the returned function takes it back. */
  after(ms: number, callback: () => void): () => void;
}

export interface Chance {
  /** Fresh, unpredictable bytes. */
  bytes(count: number): Uint8Array;
}

/** SHA-256 of UTF-8 text, as lower-case hex. */
export type Hash = (text: string) => string;

export type Labels = Readonly<Record<string, string>>;

/** Counts and distributions; names and labels are design 06's. No ids as labels. */
export interface Meters {
  count(name: string, labels?: Labels, by?: number): void;
  /** Seconds, bytes or a plain size, as the name says. */
  observe(name: string, value: number, labels?: Labels): void;
  /** Prometheus text format 0.0.4. */
  text(): Promise<string>;
}

export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}
