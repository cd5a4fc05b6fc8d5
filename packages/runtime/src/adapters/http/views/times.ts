// Instants that may be missing, as callers see them.
import { iso } from "../../../call/view.ts";

export function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : iso(atMs);
}
