// The old place of a document's problems, for those who still import it from here; they stand in document/.
export type { Problem } from "../document/problems.ts";
