// Reads a request's protobuf message as the data that the same request would be in JSON: strictly, by the rules of the HTTP door.
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { jsonPointer, SignalboxError } from "@signalbox/protocol";
import { parseJsonBody } from "../../http/body.ts";
import { faultAt } from "../../http/schemas/check.ts";
import type { FieldPlan, MessagePlan, ValueKind } from "./plan.ts";

export type Values = Record<string, unknown>;
type Path = readonly (string | number)[];

/**
 * Fields that are not set are absent, and so are empty lists and maps; where that matters a message holds the list.
 * Integers that a double would round come as bigints, which no schema takes.
 * @throws SignalboxError `invalid_input`
 */
export function readMessage(plan: MessagePlan, bytes: Uint8Array): Values {
  try {
    return readFields(plan, bytes, {}, []);
  } catch (error) {
    if (error instanceof SignalboxError) throw error;
    // The reader's own words are kept out: they could quote the message.
    throw new SignalboxError(
      "invalid_input",
      `the request is no readable ${plan.name} message; check that both sides have the same proto files`,
      { cause: error },
    );
  }
}

function readFields(plan: MessagePlan, bytes: Uint8Array, into: Values, path: Path): Values {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const field = plan.byNumber.get(number);
    if (field === undefined) throw unknownField(plan, number, path);
    if (type !== (field.many === "map" ? WireType.LengthDelimited : wireTypes[field.kind])) {
      throw faultAt("body", jsonPointer([...path, field.name]), "type", "has another type in this message");
    }
    take(field, reader, into, path);
  }
  for (const field of plan.fields) {
    // Without presence the default is a value like any other.
    if (!field.presence && field.many === "one" && into[field.name] === undefined && field.kind in defaults)
      into[field.name] = defaults[field.kind];
  }
  return into;
}

const wireTypes: Readonly<Record<ValueKind, WireType>> = {
  string: WireType.LengthDelimited,
  bytes: WireType.LengthDelimited,
  json: WireType.LengthDelimited,
  message: WireType.LengthDelimited,
  bool: WireType.Varint,
  int: WireType.Varint,
  double: WireType.Bit64,
};

const defaults: Readonly<Partial<Record<ValueKind, unknown>>> = { string: "", bool: false, int: 0, double: 0 };

function take(field: FieldPlan, reader: BinaryReader, into: Values, path: Path): void {
  const { name } = field;
  if (field.many === "map") {
    const entries = (into[name] ??= Object.create(null)) as Values;
    const { key, value } = entryOf(field, reader.bytes(), path);
    entries[key] = value;
  } else if (field.many === "list") {
    const items = (into[name] ??= []) as unknown[];
    items.push(valueOf(field, reader, [...path, name, items.length], undefined));
  } else if (field.nullOf === undefined) {
    if (into[name] === null) throw bothSaid(path, name);
    into[name] = valueOf(field, reader, [...path, name], into[name]);
  } else if (reader.bool()) {
    if (into[field.nullOf] !== undefined && into[field.nullOf] !== null) throw bothSaid(path, field.nullOf);
    into[field.nullOf] = null;
  }
}

function bothSaid(path: Path, name: string): SignalboxError {
  return faultAt(
    "body",
    jsonPointer([...path, name]),
    "not",
    "is given, and said to be none as well; send one of the two",
  );
}

function entryOf(field: FieldPlan, bytes: Uint8Array, path: Path): { readonly key: string; readonly value: unknown } {
  const reader = new BinaryReader(bytes);
  let key = "";
  let value: unknown = defaults[field.kind];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === 1 && type === WireType.LengthDelimited) key = textOf(reader.bytes(), [...path, field.name]);
    else if (number === 2 && type === wireTypes[field.kind])
      value = valueOf(field, reader, [...path, field.name, key], value);
    else throw new Error("an entry of a map has a key and a value");
  }
  return { key, value };
}

/** @param before a message that is sent in pieces is put together, as protobuf asks */
function valueOf(field: FieldPlan, reader: BinaryReader, path: Path, before: unknown): unknown {
  switch (field.kind) {
    case "string":
      return textOf(reader.bytes(), path);
    case "bool":
      return reader.bool();
    case "int":
      return integerOf(BigInt(reader.int64()));
    case "double":
      return reader.double();
    case "bytes":
      return reader.bytes();
    case "json":
      return parseJsonBody(textOf(reader.bytes(), path), path);
    case "message":
      return messageOf(field, reader.bytes(), before, path);
  }
}

function messageOf({ message }: FieldPlan, bytes: Uint8Array, before: unknown, path: Path): unknown {
  if (message === undefined) throw new Error("a field of messages has their plan");
  const { unwrapped } = message;
  if (unwrapped === undefined) return readFields(message, bytes, (before ?? {}) as Values, path);
  const inside = readFields(message, bytes, before === undefined ? {} : { [unwrapped.name]: before }, path);
  return inside[unwrapped.name] ?? (unwrapped.many === "list" ? [] : {});
}

function integerOf(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Fatal: text with a byte that is no UTF-8 is refused, never repaired. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array, path: Path): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw faultAt("body", jsonPointer(path), "format", "must be well-formed UTF-8");
  }
}

function unknownField(plan: MessagePlan, number: number, path: Path): SignalboxError {
  const place = jsonPointer([...path, number]);
  return faultAt("body", place, "additionalProperties", `is not a known field number of ${plan.name}`);
}
