// Lets go of a session in the middle of an effect: nothing is recorded of it, and whoever takes the session up goes on there.

/** `people`: all that is left waits for them. `leaving`: this replica stops. */
export class Suspended extends Error {
  override readonly name = "Suspended";
  readonly why: "people" | "leaving";
  /** Spent in the effect so far, without the time in which people were waited for. */
  readonly activeMs: number;

  constructor(why: Suspended["why"], activeMs: number) {
    super(why === "people" ? "the session waits for people" : "this replica lets go of the session");
    this.why = why;
    this.activeMs = activeMs;
  }
}
