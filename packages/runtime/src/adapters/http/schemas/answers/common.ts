// The parts that many answers share: instants, hashes, pages of lists.
import { z } from "zod";

/** RFC 3339 in UTC, with ms. */
export const at = z.iso.datetime();
export const atOrNull = at.nullable();

export const count = z.int().min(0);
export const countOrNull = count.nullable();

/** A length of time in ms that may have a fraction. */
export const ms = z.number().min(0);

export const hash = z.string().regex(/^[0-9a-f]{64}$/);
/** The hash of what is not known yet, or not kept, is empty. */
export const hashOrEmpty = z.string().regex(/^(?:[0-9a-f]{64})?$/);

export const texts = z.array(z.string());

/** What somebody else gave: any JSON object. */
export const anyObject = z.record(z.string(), z.unknown());

export const labels = z.record(z.string(), z.string());

/** @param id of the page's own schema in the document */
export function pageOf(id: string, item: z.ZodType): z.ZodType {
  return z
    .strictObject({
      items: z.array(item),
      next_cursor: z.string().nullable().describe("For the next page; null on the last one"),
    })
    .meta({ id, description: "One page of a list" });
}
