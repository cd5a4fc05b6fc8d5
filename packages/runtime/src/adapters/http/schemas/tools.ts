// What requests about tools may say; a manifest itself is checked by the registry.
import { z } from "zod";
import { packageRef } from "./files.ts";
import type { ToolQuery } from "../../../registry/types.ts";
import { httpLimits } from "../http-limits.ts";
import { check } from "./check.ts";
import { defined } from "./defined.ts";
import { cursor, flag, listLimit, name, reason } from "./fields.ts";

const labelCharsMax = 300;

export const toolsQuery = z.strictObject({
  search: z.string().min(1).max(httpLimits.searchCharsMax).optional(),
  category: name.optional(),
  owner: name.optional(),
  label: z.string().min(1).max(labelCharsMax).optional(),
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

export const toolQuery = z.strictObject({ version: name.optional() });

export const registerQuery = z.strictObject({ activate: flag, package: packageRef.optional() });

export const activateBody = z.strictObject({ version: name });

/** An exact version or a range. */
export const pinBody = z.strictObject({ version: name });

export const rollbackBody = z.strictObject({ version: name.optional() });

export const deprecateBody = z.strictObject({ version: name, deprecated: z.boolean().optional() });

export const quarantineBody = z.strictObject({ version: name.optional(), reason: reason.min(1) });

export const releaseBody = z.strictObject({ version: name.optional(), reason: reason.optional() });

export const enableBody = z.strictObject({ project: name.optional() });
