// The parts that many requests share: names, instants, list limits and cursors.
import { callIdCharsMax, limits, sideEffectClasses } from "@signalbox/protocol";
import { z } from "zod";
import { callStates } from "../../../call/types.ts";
import { triggers } from "../../../policy/types.ts";
import { scopes } from "../../../tenancy/types.ts";
import { httpLimits } from "../http-limits.ts";
import { toldAs } from "./told-as.ts";

export const name = z.string().min(1).max(limits.nameCharsMax);

/** Whole number of at least 1. No upper bound of its own: what is larger than a tool allows is cut by the tool's limit. */
export const positive = z.int().min(1);

/** RFC 3339 in requests as in answers; becomes ms since 1970. */
export const instant = z.iso
  .datetime({ offset: true, error: "must be an RFC 3339 instant, such as 2026-01-31T12:00:00Z" })
  .transform((text) => Date.parse(text));

/** Absent: the default. Over the maximum: the maximum. Anything but a whole number of at least 1 is refused. */
export const listLimit = z
  .string()
  .regex(/^0*[1-9][0-9]*$/, { error: `must be a whole number from 1 to ${limits.listItemsMax}` })
  .transform((text) => Math.min(Number(text), limits.listItemsMax))
  .optional()
  .transform((count) => count ?? limits.listItemsDefault)
  .register(toldAs, { schema: { type: "integer", minimum: 1, default: limits.listItemsDefault } })
  .describe(`Items on one page; more than ${limits.listItemsMax} counts as ${limits.listItemsMax}`);

export const cursor = z
  .string()
  .min(1)
  .max(httpLimits.cursorCharsMax)
  .describe("Where the page begins: `next_cursor` of the page before; opaque");

/** What a list takes that has no filters. */
export const pageQuery = z.strictObject({ limit: listLimit, cursor: cursor.optional() });

/** `true` or `false`, written out; a parameter that is there but empty says neither. */
export const flag = z
  .enum(["true", "false"])
  .transform((text) => text === "true")
  .optional()
  .register(toldAs, { schema: { type: "boolean" } });

/** The number of an event; of its stream or of its record. */
export const eventSeq = z
  .string()
  .regex(/^[0-9]{1,15}$/, { error: "must be a whole number of at least 0" })
  .transform(Number)
  .register(toldAs, { schema: { type: "integer", minimum: 0, maximum: 999_999_999_999_999 } });

export const principalName = z
  .string()
  .max(limits.nameCharsMax)
  // Two names that look alike would count twice on a route of an approval.
  .regex(/^(?:user|service|agent):[!-9;-~][!-~]*$/, {
    error: "must be user:<name>, service:<name> or agent:<name>, in visible ASCII characters",
  })
  .describe("`user:<name>`, `service:<name>` or `agent:<name>`");

export const roles = z.array(name).max(httpLimits.rolesMax);

/** Why somebody does it; for people and the audit. */
export const reason = z.string().max(httpLimits.reasonCharsMax);

export const executionId = z.string().min(1).max(callIdCharsMax);

/** Free JSON, but an object and of bounded size. A raw number is an object to JavaScript, so its text decides. */
export const context = z
  .custom<Readonly<Record<string, unknown>>>(
    (value) => {
      if (typeof value !== "object" || value === null) return false;
      const text = JSON.stringify(value);
      return text.startsWith("{") && Buffer.byteLength(text) <= limits.contextBytesMax;
    },
    { error: `must be an object of at most ${limits.contextBytesMax} bytes` },
  )
  .register(toldAs, { schema: { type: "object" } })
  .describe(
    `What rules and people may know of the call's surroundings (workflow_id, agent, correlation_id …); at most ${limits.contextBytesMax} bytes of JSON`,
  );

const madeId = /^[A-Za-z0-9_-]{1,128}$/;

/** In a path. What does not look like one is answered like one that is not there. */
export const idInPath = z.string().min(1);

/** In a path; percent-encoded, where it has a slash. */
export const nameInPath = z.string().min(1);

/** Whether the runtime can have made this id; a path may hold anything. */
export function isMadeId(text: string): boolean {
  return madeId.test(text);
}

export const scopeName = z
  .enum([...scopes, "*"])
  .meta({ id: "Scope", description: "What a key may ask of the API; `*` stands for all" });

export const callState = z.enum(callStates).meta({
  id: "CallState",
  description:
    "`awaiting_approval` and `indeterminate` wait for people; `denied`, `succeeded`, `failed`, `timed_out` and `cancelled` are ends",
});

export const trigger = z.enum(triggers).meta({
  id: "PolicyTrigger",
  description: "What may go wrong with a call or a session after it was allowed",
});

export const sideEffectClass = z.enum(sideEffectClasses).meta({
  id: "SideEffectClass",
  description:
    "What a call does to the world; `read_only` and `idempotent_write` are run again where their end was lost, the others never",
});

/** A body that has nothing to say: absent, or an object without fields. */
export const nothing = z.strictObject({}).meta({ id: "Nothing", description: "An empty object; or no body at all" });
