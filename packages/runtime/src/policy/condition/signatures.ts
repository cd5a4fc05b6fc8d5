// Which kinds of value each operator and function takes and gives: what the check of types goes by.
import type { Kind } from "./shape.ts";
import type { FunctionName, Operator } from "./tree.ts";

export interface Signature {
  readonly takes: readonly (readonly Kind[])[];
  readonly gives: Kind;
}

const anything: readonly Kind[] = ["null", "bool", "int", "double", "string", "list", "map", "timestamp", "duration"];
const numbers: readonly Kind[] = ["int", "double"];

const alike = (of: readonly Kind[], gives?: Kind): Signature[] =>
  of.map((kind) => ({ takes: [[kind], [kind]], gives: gives ?? kind }));

const ordered: readonly Signature[] = [
  { takes: [numbers, numbers], gives: "bool" },
  ...alike(["string", "bool", "timestamp", "duration"], "bool"),
];

/** `==` and `!=` take any two; whether they can ever be equal is looked at apart. */
export const operatorSignatures: Readonly<Record<Operator, readonly Signature[]>> = {
  "==": [{ takes: [anything, anything], gives: "bool" }],
  "!=": [{ takes: [anything, anything], gives: "bool" }],
  "<": ordered,
  "<=": ordered,
  ">": ordered,
  ">=": ordered,
  "+": [
    ...alike(["int", "double", "string", "list", "duration"]),
    { takes: [["timestamp"], ["duration"]], gives: "timestamp" },
    { takes: [["duration"], ["timestamp"]], gives: "timestamp" },
  ],
  "-": [
    ...alike(["int", "double", "duration"]),
    { takes: [["timestamp"], ["timestamp"]], gives: "duration" },
    { takes: [["timestamp"], ["duration"]], gives: "timestamp" },
  ],
  "*": alike(["int", "double"]),
  "/": alike(["int", "double"]),
  "%": alike(["int"]),
  in: [
    { takes: [anything, ["list"]], gives: "bool" },
    { takes: [["string"], ["map"]], gives: "bool" },
  ],
};

const one = (takes: readonly Kind[], gives: Kind): readonly Signature[] => [{ takes: [takes], gives }];
const twoTexts: readonly Signature[] = [{ takes: [["string"], ["string"]], gives: "bool" }];

export const functionSignatures: Readonly<Record<FunctionName, readonly Signature[]>> = {
  size: one(["string", "list", "map"], "int"),
  contains: twoTexts,
  startsWith: twoTexts,
  endsWith: twoTexts,
  lowerAscii: one(["string"], "string"),
  upperAscii: one(["string"], "string"),
  int: one(["int", "double", "string", "timestamp"], "int"),
  double: one(["int", "double", "string"], "double"),
  string: one(["string", "int", "double", "bool", "timestamp", "duration"], "string"),
  timestamp: one(["timestamp", "string"], "timestamp"),
  duration: one(["duration", "string"], "duration"),
};

export const notSignature = one(["bool"], "bool");
export const negativeSignatures: readonly Signature[] = [...one(["int"], "int"), ...one(["double"], "double")];
export const clockSignature = one(["timestamp", "duration"], "int");
export const matchesSignature = one(["string"], "bool");
