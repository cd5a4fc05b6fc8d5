// JSON bodies as protobuf messages and back, for tests that ask through gRPC what others ask through REST; wrong JSON becomes wrong bytes.
import { getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { json, null_of, nullable, only_from, unwrapped } from "@signalbox/protocol/v1/options";

/** Raw JSON text by field, in the order of the text; of a name that stands twice both are there. */
export type RawFields = readonly (readonly [name: string, raw: string])[];

/** A number that no message for callers has. */
export const unknownField = 20_000;

/** @throws Error for what has not even the brackets of an object */
export function rawFields(text: string): RawFields {
  return parts(text, "{", "}").map((part) => {
    const colon = endOf(part, 0, ":");
    return [JSON.parse(part.slice(0, colon)) as string, part.slice(colon + 1).trim()];
  });
}

const rawItems = (text: string): readonly string[] => parts(text, "[", "]");

/** What stands between the commas of one level. */
function parts(text: string, open: string, close: string): readonly string[] {
  const inside = text.trim();
  if (!inside.startsWith(open) || !inside.endsWith(close)) throw new Error(`no ${open}…${close}: ${text.slice(0, 80)}`);
  const found: string[] = [];
  for (let at = 1; at < inside.length - 1;) {
    const end = endOf(inside, at, ",");
    const part = inside.slice(at, Math.min(end, inside.length - 1)).trim();
    if (part !== "") found.push(part);
    at = end + 1;
  }
  return found;
}

/** Index of the mark on the level where it starts; the text's length when there is none. */
function endOf(text: string, from: number, mark: string): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at] ?? "";
    if (depth === 0 && char === mark) return at;
    if (char === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++;
    } else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
  }
  return text.length;
}

/** The message that says what the fields say; what no message can say goes out under an unknown number or as another type. */
export function encode(desc: DescMessage, fields: RawFields, into = new BinaryWriter()): BinaryWriter {
  for (const [name, raw] of fields) {
    const field = desc.fields.find((one) => one.name === name);
    const nothing = desc.fields.find((one) => hasOption(one, null_of) && getOption(one, null_of) === name);
    if (raw === "null" && nothing !== undefined) into.tag(nothing.number, WireType.Varint).bool(true);
    else if (field === undefined) into.tag(unknownField, WireType.LengthDelimited).string(raw);
    else encodeField(field, raw, into);
  }
  return into;
}

function encodeField(field: DescField, raw: string, into: BinaryWriter): void {
  if (field.fieldKind === "list" && raw.startsWith("[")) {
    for (const item of rawItems(raw)) encodeValue(field, field.number, item, into);
  } else if (field.fieldKind === "map" && raw.startsWith("{")) {
    for (const [key, value] of rawFields(raw)) {
      into.tag(field.number, WireType.LengthDelimited).fork();
      encodeValue(field, 2, value, into.tag(1, WireType.LengthDelimited).string(key));
      into.join();
    }
  } else if (field.fieldKind === "list" || field.fieldKind === "map") {
    into.tag(field.number, WireType.Varint).int32(0);
  } else {
    encodeValue(field, field.number, raw, into);
  }
}

function encodeValue(field: DescField, number: number, raw: string, into: BinaryWriter): void {
  if (field.message !== undefined) {
    encodeMessage(field.message, number, raw, into);
    return;
  }
  const scalar = field.fieldKind === "enum" ? undefined : field.scalar;
  if (scalar === ScalarType.BYTES && getOption(field, json))
    into.tag(number, WireType.LengthDelimited).bytes(bytesOf(raw));
  else if (scalar === ScalarType.STRING && raw.startsWith('"'))
    into.tag(number, WireType.LengthDelimited).string(JSON.parse(raw) as string);
  else if (scalar === ScalarType.BOOL && (raw === "true" || raw === "false"))
    into.tag(number, WireType.Varint).bool(raw === "true");
  else if ((scalar === ScalarType.INT64 || scalar === ScalarType.INT32) && /^-?\d{1,18}$/.test(raw))
    into.tag(number, WireType.Varint).int64(raw);
  else if (scalar === ScalarType.DOUBLE && /^-?\d/.test(raw)) into.tag(number, WireType.Bit64).double(Number(raw));
  // The right field, in a type that it does not have.
  else if (scalar === ScalarType.STRING) into.tag(number, WireType.Varint).int32(0);
  else into.tag(number, WireType.LengthDelimited).string(raw);
}

/** Letters of the private use area from here on stand for bytes that are no UTF-8. */
export const strayByte = 0xe000;

function bytesOf(raw: string): Uint8Array {
  const stray = /[\ue080-\ue0ff]/;
  if (!stray.test(raw)) return new TextEncoder().encode(raw);
  return Uint8Array.from(raw, (char) => char.charCodeAt(0) & 0xff);
}

function encodeMessage(message: DescMessage, number: number, raw: string, into: BinaryWriter): void {
  const [only] = message.fields;
  const fields = getOption(message, unwrapped) && only !== undefined ? ([[only.name, raw]] as const) : undefined;
  if (fields === undefined && !raw.startsWith("{")) {
    into.tag(number, WireType.Varint).int32(0);
    return;
  }
  into.tag(number, WireType.LengthDelimited).fork();
  encode(message, fields ?? rawFields(raw), into).join();
}

/** The JSON that the message stands for, as REST would have it. @param from the rpc that answered, as `Service.Rpc` */
export function jsonOf(desc: DescMessage, message: ReflectMessage, from: string): string {
  const members = desc.fields.flatMap((field) => {
    const text = memberOf(field, message, from);
    return text === undefined ? [] : [`${JSON.stringify(field.name)}:${text}`];
  });
  return `{${members.join(",")}}`;
}

function memberOf(field: DescField, message: ReflectMessage, from: string): string | undefined {
  const only = getOption(field, only_from);
  const here = only.length === 0 || only.includes(from);
  const set = message.isSet(field);
  if (!here) {
    if (set) throw new Error(`${field.toString()} is set in an answer of ${from}`);
    return undefined;
  }
  if (field.fieldKind === "list") return listOf(field, message, from);
  if (field.fieldKind === "map") return mapOf(field, message, from);
  if (set) return valueOf(field, message.get(field), from);
  if (getOption(field, nullable)) return "null";
  if (field.proto.proto3Optional || field.oneof !== undefined) return undefined;
  if (field.fieldKind === "message") throw new Error(`${field.toString()} is not set in an answer of ${from}`);
  return valueOf(field, message.get(field), from);
}

function listOf(field: DescField & { fieldKind: "list" }, message: ReflectMessage, from: string): string {
  return `[${Array.from(message.get(field), (item) => valueOf(field, item, from)).join(",")}]`;
}

function mapOf(field: DescField & { fieldKind: "map" }, message: ReflectMessage, from: string): string {
  const entries = Array.from(
    message.get(field),
    ([key, value]) => `${JSON.stringify(key)}:${valueOf(field, value, from)}`,
  );
  return `{${entries.join(",")}}`;
}

function valueOf(field: DescField, value: unknown, from: string): string {
  if (field.message !== undefined) {
    const inner = value as ReflectMessage;
    const [only] = field.message.fields;
    if (getOption(field.message, unwrapped) && only !== undefined) return memberOf(only, inner, from) ?? "null";
    return jsonOf(field.message, inner, from);
  }
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Uint8Array)
    return getOption(field, json)
      ? new TextDecoder("utf-8", { fatal: true }).decode(value)
      : JSON.stringify(Buffer.from(value).toString("base64"));
  return JSON.stringify(value);
}

export { reflect };
