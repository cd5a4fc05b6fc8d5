// Turns ajv's errors into the few that a caller sees: a pointer, the keyword, and a sentence without ajv's own words.
import type { ErrorObject } from "ajv";
import { jsonPointer } from "@signalbox/protocol";
import { bounds } from "../bounds.ts";

export interface SchemaError {
  /** RFC 6901, into the value; for a missing or surplus property, where it is or would be. */
  readonly pointer: string;
  readonly keyword: string;
  readonly message: string;
}

export function keysOf(instancePath: string): readonly string[] {
  return instancePath
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The property that an error is about but that its path does not hold. */
function propertyOf({ params, propertyName }: ErrorObject): readonly string[] {
  const named: readonly unknown[] = [
    propertyName,
    params["missingProperty"],
    params["additionalProperty"],
    params["unevaluatedProperty"],
    params["propertyName"],
  ];
  return named.filter((name) => typeof name === "string").slice(0, 1);
}

const cut = (text: string): string =>
  text.length > bounds.errorTextCharsMax ? `${text.slice(0, bounds.errorTextCharsMax)}…` : text;

function messageOf({ keyword, params, message }: ErrorObject): string {
  if (keyword === "required") return "is required";
  if (keyword === "dependentRequired" || keyword === "dependencies")
    return `is required when ${JSON.stringify(params["property"])} is given`;
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties" || keyword === "false schema")
    return "is not allowed here";
  if (keyword === "const") return `must be ${JSON.stringify(params["allowed"])}`;
  if (keyword === "enum")
    return `must be one of ${(params["allowed"] as unknown[])
      .slice(0, 20)
      .map((value) => JSON.stringify(value))
      .join(", ")}`;
  return message ?? "is not valid";
}

/** At most ten, without repetitions (branches of anyOf often say the same). */
export function schemaErrors(errors: readonly ErrorObject[]): readonly SchemaError[] {
  const found = new Map<string, SchemaError>();
  for (const error of errors) {
    if (found.size >= bounds.schemaErrorsMax) break;
    const pointer = jsonPointer([...keysOf(error.instancePath), ...propertyOf(error)]);
    const one = { pointer, keyword: error.keyword, message: cut(messageOf(error)) };
    found.set(JSON.stringify(one), one);
  }
  return [...found.values()];
}
