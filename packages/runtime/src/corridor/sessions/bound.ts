// What an agent adds to a tool that it calls, as far as rules and permissions are concerned.

/** The agent's part in a call: what is heard and asked beside what the tool itself brings. */
export interface Bound {
  readonly agent: string;
  /** References to policies of the agent's tenant. */
  readonly attached: readonly { readonly tenant: string; readonly reference: string }[];
  /** What its calls may need at most, whoever started it. */
  readonly ceiling: readonly string[];
}
