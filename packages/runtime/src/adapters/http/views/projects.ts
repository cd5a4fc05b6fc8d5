// Projects as callers see them.
import { iso } from "../../../call/view.ts";
import type { Project } from "../../../tenancy/types.ts";

export function projectView({ project, environment, createdAt }: Project): Record<string, unknown> {
  return { project, environment, created_at: iso(createdAt) };
}
