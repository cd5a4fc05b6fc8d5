// How a protobuf message stands for JSON, worked out once from its descriptor: what reading and writing then follow.
import { getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { content, header, json, null_of, nullable, only_from, query, unwrapped } from "@signalbox/protocol/v1/options";

/** How one value stands on the wire and in JSON. `bytes` is base64 there, `json` is the text itself. */
export type ValueKind = "string" | "bool" | "int" | "double" | "json" | "bytes" | "message";

export interface FieldPlan {
  readonly number: number;
  /** The same in the proto file and in JSON. */
  readonly name: string;
  /** Of the item of a list, or the value of a map. */
  readonly kind: ValueKind;
  /** `map`: its keys are texts. */
  readonly many: "one" | "list" | "map";
  /** Of `message`. */
  readonly message: MessagePlan | undefined;
  /** Whether it can be told apart from its default; a field that cannot always stands in JSON. */
  readonly presence: boolean;
  readonly nullable: boolean;
  /** Whether JSON always has it, in answers that may have it at all. */
  readonly required: boolean;
  /** `Service.Rpc` names, in whose answers it stands and nowhere else; empty: in all that have its message. */
  readonly onlyFrom: readonly string[];
  /** The field that is null where this one is true. */
  readonly nullOf: string | undefined;
  /** Where a request's field stands in REST, if not in its path, nor where the route's other fields stand. */
  readonly place: "query" | "content" | "header" | undefined;
  /** Of a header. */
  readonly header: string;
}

export interface MessagePlan {
  readonly name: string;
  readonly fields: readonly FieldPlan[];
  readonly byNumber: ReadonlyMap<number, FieldPlan>;
  readonly byName: ReadonlyMap<string, FieldPlan>;
  /** How many fields every JSON object has that this message stands for … */
  readonly requiredCount: number;
  /** … and those that it has in some answers alone. */
  readonly requiredFromSome: readonly FieldPlan[];
  /** In JSON this field's value stands in place of an object around it. */
  readonly unwrapped: FieldPlan | undefined;
}

const scalarKinds: ReadonlyMap<ScalarType | undefined, ValueKind> = new Map([
  [ScalarType.STRING, "string"],
  [ScalarType.BOOL, "bool"],
  [ScalarType.INT32, "int"],
  [ScalarType.INT64, "int"],
  [ScalarType.DOUBLE, "double"],
  [ScalarType.BYTES, "bytes"],
]);

const plans = new WeakMap<DescMessage, MessagePlan>();

/** @throws Error for a descriptor that no message for callers may have (groups, enums, keys that are no texts …) */
export function planOf(desc: DescMessage): MessagePlan {
  const known = plans.get(desc);
  if (known !== undefined) return known;
  const fields = desc.fields.map(fieldPlan);
  const [only] = fields;
  const plan: MessagePlan = {
    name: desc.typeName,
    fields,
    byNumber: new Map(fields.map((field) => [field.number, field])),
    byName: new Map(fields.map((field) => [field.name, field])),
    requiredCount: fields.filter((field) => field.required && field.onlyFrom.length === 0).length,
    requiredFromSome: fields.filter((field) => field.required && field.onlyFrom.length > 0),
    unwrapped: getOption(desc, unwrapped) ? only : undefined,
  };
  plans.set(desc, plan);
  return plan;
}

function fieldPlan(field: DescField): FieldPlan {
  const message = messageOf(field);
  const presence = field.proto.proto3Optional || field.oneof !== undefined;
  return {
    number: field.number,
    name: field.name,
    kind: message === undefined ? scalarKind(field) : "message",
    many: field.fieldKind === "list" || field.fieldKind === "map" ? field.fieldKind : "one",
    message: message === undefined ? undefined : planOf(message),
    presence,
    nullable: getOption(field, nullable),
    required: !presence || getOption(field, nullable) || getOption(field, only_from).length > 0,
    onlyFrom: getOption(field, only_from),
    nullOf: hasOption(field, null_of) ? getOption(field, null_of) : undefined,
    place: placeOf(field),
    header: getOption(field, header),
  };
}

function messageOf(field: DescField): DescMessage | undefined {
  if (field.fieldKind === "message") return field.message;
  if (field.fieldKind === "list" && field.listKind === "message") return field.message;
  if (field.fieldKind === "map" && field.mapKind === "message") return field.message;
  return undefined;
}

function scalarKind(field: DescField): ValueKind {
  if (field.fieldKind === "map" && field.mapKey !== ScalarType.STRING)
    throw new Error(`${field.toString()}: the keys of a map must be strings`);
  const kind = field.fieldKind === "enum" ? undefined : scalarKinds.get(field.scalar);
  if (kind === undefined) throw new Error(`${field.toString()}: is of a type that messages for callers do not have`);
  return kind === "bytes" && getOption(field, json) ? "json" : kind;
}

function placeOf(field: DescField): FieldPlan["place"] {
  if (getOption(field, query)) return "query";
  if (getOption(field, content)) return "content";
  return hasOption(field, header) ? "header" : undefined;
}
