// The closed lists of what a condition may say: its variables, their fields, and how many arguments a function takes.
import type { FunctionName } from "./tree.ts";

/** Variables, each with its fields where those are fixed. */
export const variables: Readonly<Record<string, readonly string[] | undefined>> = {
  args: undefined,
  tool: ["name", "version", "class", "labels"],
  principal: ["name", "roles"],
  agent: undefined,
  tenant: undefined,
  project: undefined,
  environment: undefined,
  context: undefined,
  now: undefined,
  calls: ["turn", "session", "window"],
};

export const variableNames = Object.keys(variables);

/** `method`: called on its first argument; `either`: both ways. `args` counts that first one. */
export const functions: Readonly<
  Record<FunctionName, { readonly form: "function" | "method" | "either"; readonly args: number }>
> = {
  size: { form: "either", args: 1 },
  contains: { form: "method", args: 2 },
  startsWith: { form: "method", args: 2 },
  endsWith: { form: "method", args: 2 },
  lowerAscii: { form: "method", args: 1 },
  upperAscii: { form: "method", args: 1 },
  int: { form: "function", args: 1 },
  double: { form: "function", args: 1 },
  string: { form: "function", args: 1 },
  timestamp: { form: "function", args: 1 },
  duration: { form: "function", args: 1 },
};

/** Everything that can be called, for the hint at a misspelt name. */
export const callable: readonly string[] = [
  ...Object.keys(functions),
  "matches",
  "has",
  "exists",
  "all",
  "exists_one",
  "filter",
  "map",
  "window",
  "getFullYear",
  "getMonth",
  "getDate",
  "getDayOfMonth",
  "getDayOfWeek",
  "getDayOfYear",
  "getHours",
  "getMinutes",
  "getSeconds",
  "getMilliseconds",
];
