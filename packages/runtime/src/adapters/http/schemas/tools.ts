// What requests about tools may say; a manifest itself is checked by the registry.
import { z } from "zod";
import { packageRef } from "./files.ts";
import type { ToolQuery } from "../../../registry/types.ts";
import { httpLimits } from "../http-limits.ts";
import { check } from "./check.ts";
import { defined } from "./defined.ts";
import { cursor, flag, listLimit, name, reason } from "./fields.ts";

export const toolsQuery = z.strictObject({
  search: z
    .string()
    .min(1)
    .max(httpLimits.searchCharsMax)
    .optional()
    .describe("Words that all occur in name, description, category, owner or a label"),
  category: name.optional().describe("Tools of this category"),
  owner: name.optional().describe("Tools of this owner"),
  label: z.string().min(1).max(httpLimits.labelFilterCharsMax).optional().describe("`name=value`, or `name` for any value"),
  limit: listLimit,
  cursor: cursor.optional(),
});

export interface ToolListing {
  readonly query: ToolQuery;
  readonly limit: number;
  readonly cursor: string | undefined;
}

export function toolListing(query: unknown): ToolListing {
  const { search, limit, cursor: from, ...rest } = check(toolsQuery, query, "query");
  return { query: defined({ ...rest, text: search }), limit, cursor: from };
}

export const toolQuery = z.strictObject({
  version: name.optional().describe("The version to show: exact or a range; else what a caller gets that names none"),
});

export const registerQuery = z.strictObject({
  activate: flag.describe("Whether callers that name no version get it; without it, only the first version of a tool"),
  package: packageRef.optional().describe("Digest of the package of code that a sandbox tool runs"),
});

const version = name.describe("An exact version");
const allWithout = name.optional().describe("One version; all of them, without it");

export const activateBody = z
  .strictObject({ version })
  .meta({ id: "ActivateRequest", description: "The version to run" });

export const pinBody = z
  .strictObject({ version: name.describe("An exact version or a range") })
  .meta({ id: "PinRequest", description: "What callers get that name no version" });

export const rollbackBody = z
  .strictObject({ version: name.optional().describe("The version to go back to; the one active before, without it") })
  .meta({ id: "RollbackRequest", description: "Where to go back to" });

export const deprecateBody = z
  .strictObject({ version, deprecated: z.boolean().optional().describe("`false` takes it back") })
  .meta({ id: "DeprecateRequest", description: "The version that ranges are to pass over" });

export const quarantineBody = z
  .strictObject({ version: allWithout, reason: reason.min(1).describe("For people and the audit") })
  .meta({ id: "QuarantineRequest", description: "What may not run any more" });

export const releaseBody = z
  .strictObject({ version: allWithout, reason: reason.optional().describe("For people and the audit") })
  .meta({ id: "ReleaseRequest", description: "What may run again" });

export const enableBody = z
  .strictObject({ project: name.optional().describe("The caller's own, without it") })
  .meta({ id: "EnableRequest", description: "The project that it is about" });
