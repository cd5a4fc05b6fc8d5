// What the load process needs of a door, whatever it speaks.

/** Makes one call; resolves with undefined when the answer is good, else with an error code. Never rejects. */
export type Caller = () => Promise<string | undefined>;

/** Open connections to a door. */
export interface Callers {
  /** One for each call in flight. */
  readonly callers: readonly Caller[];
  close(): Promise<void>;
}
