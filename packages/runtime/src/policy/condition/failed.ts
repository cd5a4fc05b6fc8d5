// What a condition throws when it cannot go on; the decision becomes a denial.

/** Something that a condition cannot do with the values at hand. */
export class Failed extends Error {
  override readonly name = "Failed";
}
