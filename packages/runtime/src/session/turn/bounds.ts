// How much one turn takes from a model at once, and how often it lets the same mistake pass.

export const turnBounds = {
  /** Calls that one answer of a model may make; those behind them are told so and are not run. */
  callsPerCompletionMax: 128,
  /** From this failure of the same name with the same arguments on, the model is told to stop repeating it. */
  sameFailuresMax: 5,
  /** Names of tools that an answer to an unknown name lists, where none is near. */
  namesToldMax: 20,
  /** Of a name that a model made up, as it is told back. */
  nameToldCharsMax: 64,
} as const;
