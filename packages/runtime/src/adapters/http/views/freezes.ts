// Freezes as callers see them.
import { iso } from "../../../call/view.ts";
import type { Freeze } from "../../../registry/types.ts";

/** `tenant` tells a freeze of one's own from one of the whole runtime; an empty `tool` stands for all of them. */
export function freezeView({ tenant, tool, reason, at, by }: Freeze): Record<string, unknown> {
  return { tenant, tool, reason, at: iso(at), by };
}
