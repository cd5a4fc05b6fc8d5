// Writes an answer's JSON text as the protobuf message that stands for it; what is JSON in there stays the text it was.
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { itemsOf, membersOf, textOf } from "./members.ts";
import type { Member, Span } from "./members.ts";
import type { FieldPlan, MessagePlan, ValueKind } from "./plan.ts";

/** Told of every difference between what the runtime says and what its message has room for. */
export type OnStray = (what: string) => void;

/** @param from the rpc that answers, as `Service.Rpc` */
export function writeMessage(plan: MessagePlan, text: string, from: string, onStray: OnStray): Uint8Array<ArrayBuffer> {
  const writer = new BinaryWriter();
  new Writing(writer, text, from, onStray).object(plan, 0);
  return writer.finish();
}

/** How JSON of this kind can begin. */
const beginnings: Readonly<Record<ValueKind, string>> = {
  string: '"',
  bytes: '"',
  bool: "tf",
  int: "-0123456789",
  double: "-0123456789",
  message: "{",
  json: "",
};

const longText = 1_024;
const isInteger = /^-?\d{1,18}$/;

class Writing {
  readonly #writer: BinaryWriter;
  readonly #text: string;
  readonly #from: string;
  readonly #onStray: OnStray;

  constructor(writer: BinaryWriter, text: string, from: string, onStray: OnStray) {
    this.#writer = writer;
    this.#text = text;
    this.#from = from;
    this.#onStray = onStray;
  }

  object(plan: MessagePlan, from: number): void {
    if (plan.unwrapped !== undefined) {
      this.#field(plan.unwrapped, { from, to: from });
      return;
    }
    const members = membersOf(this.#text, from);
    let required = 0;
    for (const member of members) {
      const field = plan.byName.get(member.key);
      if (field === undefined) {
        this.#onStray(`${plan.name} has no field ${member.key}`);
        continue;
      }
      if (field.required && field.onlyFrom.length === 0) required++;
      this.#member(plan, field, member);
    }
    // As a rule none is missing, and then counting is all that it takes to know.
    const always = required < plan.requiredCount ? plan.fields.filter(({ onlyFrom }) => onlyFrom.length === 0) : [];
    for (const field of [...always, ...plan.requiredFromSome]) {
      const wanted = field.required && (field.onlyFrom.length === 0 || field.onlyFrom.includes(this.#from));
      if (wanted && !members.some(({ key }) => key === field.name))
        this.#onStray(`${plan.name} wants ${field.name}, which the answer lacks`);
    }
  }

  #member(plan: MessagePlan, field: FieldPlan, member: Member): void {
    if (field.kind !== "json" && this.#text.startsWith("null", member.from)) {
      if (!field.nullable) this.#onStray(`${plan.name}.${field.name} is null in the answer`);
      return;
    }
    if (field.onlyFrom.length > 0 && !field.onlyFrom.includes(this.#from))
      this.#onStray(`${plan.name}.${field.name} is not said to come from ${this.#from}`);
    this.#field(field, member);
  }

  #field(field: FieldPlan, span: Span): void {
    if (field.many === "one") {
      this.#value(field, span);
    } else if (this.#text[span.from] !== (field.many === "list" ? "[" : "{")) {
      this.#onStray(`${field.name} is no ${field.many} in the answer`);
    } else if (field.many === "list") {
      for (const item of itemsOf(this.#text, span.from)) this.#value(field, item);
    } else {
      for (const entry of membersOf(this.#text, span.from)) this.#entry(field, entry);
    }
  }

  #entry(field: FieldPlan, entry: Member): void {
    this.#writer.tag(field.number, WireType.LengthDelimited).fork();
    this.#writer.tag(1, WireType.LengthDelimited).string(entry.key);
    this.#value({ ...field, number: 2 }, entry);
    this.#writer.join();
  }

  /** What is of another type is left out: the act that the answer tells of is done, and a broken message would hide it. */
  #value({ kind, number, message, name }: FieldPlan, { from, to }: Span): void {
    const writer = this.#writer;
    if (!beginnings[kind].includes(this.#text[from] ?? "") && message?.unwrapped === undefined && kind !== "json") {
      this.#onStray(`${name} is no ${kind} in the answer`);
      return;
    }
    switch (kind) {
      case "message":
        writer.tag(number, WireType.LengthDelimited).fork();
        if (message !== undefined) this.object(message, from);
        writer.join();
        return;
      case "json":
        this.#string(number, this.#text.slice(from, to));
        return;
      case "string":
        this.#string(number, textOf(this.#text, from, to));
        return;
      case "bytes":
        writer.tag(number, WireType.LengthDelimited).bytes(Buffer.from(textOf(this.#text, from, to), "base64"));
        return;
      case "bool":
        writer.tag(number, WireType.Varint).bool(this.#text.startsWith("true", from));
        return;
      case "int":
        // Anything else would end the whole message.
        if (!isInteger.test(this.#text.slice(from, to))) {
          this.#onStray(`${name} is no int in the answer`);
          return;
        }
        writer.tag(number, WireType.Varint).int64(this.#text.slice(from, to));
        return;
      case "double":
        writer.tag(number, WireType.Bit64).double(Number(this.#text.slice(from, to)));
    }
  }

  /** The writer's own way with text is fast for short ones, and makes room for three times as much. */
  #string(number: number, text: string): void {
    const writer = this.#writer.tag(number, WireType.LengthDelimited);
    if (text.length > longText) writer.bytes(Buffer.from(text));
    else writer.string(text);
  }
}
