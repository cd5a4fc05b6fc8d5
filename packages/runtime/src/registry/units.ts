// The old place of durations and sizes, for those who still import them from here; they stand in document/.
export { parseDuration, parseSize } from "../document/units.ts";
