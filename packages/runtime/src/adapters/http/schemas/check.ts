// Checks a request's parts against their schemas and tells every fault by its place, in the words of JSON Schema.
import { jsonPointer, SignalboxError } from "@signalbox/protocol";
import type { FieldFault } from "@signalbox/protocol";
import type { z } from "zod";
import { httpLimits } from "../http-limits.ts";
import { at, withBounds } from "./long-numbers.ts";

/** One fault; its keyword is one of those that the faults of a tool's own input have. */
export type Fault = FieldFault;

export type Part = "body" | "query" | "header";

/** @param faults where the request is at fault; their places become `details.fields` */
export function invalidInput(message: string, faults: readonly Fault[] = []): SignalboxError {
  if (faults.length === 0) return new SignalboxError("invalid_input", message);
  const fields = faults.slice(0, httpLimits.faultsMax);
  const more = faults.length - fields.length;
  return new SignalboxError("invalid_input", message, {
    details: more === 0 ? { fields } : { fields, more_faults: more },
  });
}

export function faultAt(part: Part, pointer: string, keyword: string, message: string): SignalboxError {
  return invalidInput(`${placeOf(part, pointer)} ${message}`, [{ pointer, keyword, message }]);
}

/** @throws SignalboxError `invalid_input` that names every fault; the message tells the first ones */
export function check<Schema extends z.ZodType>(schema: Schema, value: unknown, part: Part): z.output<Schema> {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const issues = withBounds(schema, value, checked.error.issues);
  const faults = issues.flatMap((issue) => faultsOf(issue, value, part));
  const told = faults.slice(0, 3).map(({ pointer, message }) => `${placeOf(part, pointer)} ${message}`);
  const more = faults.length - told.length;
  throw invalidInput(`${told.join("; ")}${more > 0 ? `; and ${more} more` : ""}`, faults);
}

function placeOf(part: Part, pointer: string): string {
  if (part === "query") return `query parameter ${JSON.stringify(pointer.slice(1))}`;
  if (part === "header") return `header ${pointer.slice(1)}`;
  return pointer === "" ? "the body" : `field ${pointer}`;
}

function faultsOf(issue: z.core.$ZodIssue, value: unknown, part: Part): readonly Fault[] {
  const pointer = pointerTo(issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      pointer: pointerTo([...issue.path, key]),
      keyword: "additionalProperties",
      message: part === "query" ? "is not known here" : "is not a known field",
    }));
  }
  return [{ pointer, ...told(issue, at(value, issue.path)) }];
}

function told(issue: z.core.$ZodIssue, found: unknown): { readonly keyword: string; readonly message: string } {
  if (found === undefined) return { keyword: "required", message: "is required" };
  switch (issue.code) {
    case "invalid_type":
      return { keyword: "type", message: `must be ${typeNames[issue.expected] ?? issue.expected}` };
    case "invalid_value":
      return {
        keyword: "enum",
        message: `must be one of ${issue.values.map((one) => JSON.stringify(one)).join(", ")}`,
      };
    case "too_small":
      return tooSmall(issue.origin, Number(issue.minimum));
    case "too_big":
      return tooBig(issue.origin, Number(issue.maximum));
    default:
      // Checks of our own, which bring their own words ("must be …").
      return { keyword: issue.code === "custom" ? "format" : "pattern", message: issue.message };
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a whole number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
};

function tooSmall(origin: string, minimum: number): { readonly keyword: string; readonly message: string } {
  if (origin === "string")
    return {
      keyword: "minLength",
      message: minimum === 1 ? "must not be empty" : `must have at least ${minimum} characters`,
    };
  if (origin === "array")
    return { keyword: "minItems", message: `must have at least ${minimum} item${minimum === 1 ? "" : "s"}` };
  return { keyword: "minimum", message: `must be at least ${minimum}` };
}

function tooBig(origin: string, maximum: number): { readonly keyword: string; readonly message: string } {
  if (origin === "string") return { keyword: "maxLength", message: `must have at most ${maximum} characters` };
  if (origin === "array") return { keyword: "maxItems", message: `must have at most ${maximum} items` };
  return { keyword: "maximum", message: `must be at most ${maximum}` };
}

const pointerTo = (path: readonly PropertyKey[]): string =>
  jsonPointer(path.map((step) => (typeof step === "number" ? step : String(step))));
