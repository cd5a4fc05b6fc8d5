// A very small assembler for the fixtures: a subset of the WebAssembly text format, instructions one after another, no folding.

type Node = string | Node[];

const opcodes: Readonly<Record<string, number>> = {
  unreachable: 0x00,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  try: 0x06,
  end: 0x0b,
  br: 0x0c,
  br_if: 0x0d,
  return: 0x0f,
  call: 0x10,
  catch_all: 0x19,
  drop: 0x1a,
  "local.get": 0x20,
  "local.set": 0x21,
  "i32.load": 0x28,
  "i64.load": 0x29,
  "i32.load8_u": 0x2d,
  "i32.store": 0x36,
  "i64.store": 0x37,
  "i32.store8": 0x3a,
  "memory.size": 0x3f,
  "memory.grow": 0x40,
  "i32.const": 0x41,
  "i64.const": 0x42,
  "i32.eqz": 0x45,
  "i32.eq": 0x46,
  "i64.eqz": 0x50,
  "i32.add": 0x6a,
  "i32.sub": 0x6b,
  "i32.div_u": 0x6e,
  "i32.rem_u": 0x70,
  "i64.rem_u": 0x82,
};
const blockStarts = new Set(["block", "loop", "if", "try"]);
const withIndex = new Set(["local.get", "local.set", "br", "br_if", "call"]);
const types: Readonly<Record<string, number>> = { i32: 0x7f, i64: 0x7e, funcref: 0x70 };
const voidType = 0x40;
const exportKinds = { func: 0, memory: 2 } as const;

interface Func {
  readonly name: string;
  readonly type: number;
  readonly body: number[] | null;
}

/** @throws Error when the text is not of the subset */
export function assemble(text: string): Uint8Array {
  const [module, ...rest] = parse(text);
  if (!Array.isArray(module) || module[0] !== "module" || rest.length > 0) throw new Error("not one (module …)");
  const fields = module.slice(1) as Node[][];
  const of = (kind: string): Node[][] => fields.filter((field) => field[0] === kind);
  const typeTable: string[] = [];
  const typeIndex = (field: Node[]): number => {
    const params = field.filter(isList).flatMap((part) => (part[0] === "param" ? part.slice(1).map(valueType) : []));
    const results = field.filter(isList).flatMap((part) => (part[0] === "result" ? part.slice(1).map(valueType) : []));
    const key = JSON.stringify([0x60, ...vector(params), ...vector(results)]);
    const known = typeTable.indexOf(key);
    return known === -1 ? typeTable.push(key) - 1 : known;
  };
  const imports = of("import").map((field) => ({ field, inner: listAt(field, 3) }));
  const names = [...imports.map(({ inner }) => wordAt(inner, 1)), ...of("func").map((field) => wordAt(field, 1))];
  const importTypes = imports.map(({ inner }) => typeIndex(inner));
  const functions: Func[] = of("func").map((field) => ({
    name: wordAt(field, 1),
    type: typeIndex(field),
    body: bodyOf(field, names),
  }));
  const exported: number[][] = [];
  of("func").forEach((field, at) => addExport(exported, field, exportKinds.func, imports.length + at));
  of("memory").forEach((field) => addExport(exported, field, exportKinds.memory, 0));
  const sections: [number, number[][]][] = [
    [1, typeTable.map((key) => JSON.parse(key) as number[])],
    [
      2,
      imports.map(({ field }, at) => [
        ...name(stringAt(field, 1)),
        ...name(stringAt(field, 2)),
        0,
        ...unsigned(importTypes[at] ?? 0),
      ]),
    ],
    [3, functions.map(({ type }) => unsigned(type))],
    [4, of("table").map((field) => [types["funcref"] ?? 0, ...limitsOf(field)])],
    [5, of("memory").map(limitsOf)],
    [7, exported],
    [10, functions.map(({ body }) => [...unsigned((body ?? []).length), ...(body ?? [])])],
    [11, of("data").map(dataOf)],
  ];
  const bytes = sections.flatMap(([id, items]) => {
    if (items.length === 0) return [];
    const body = [...unsigned(items.length), ...items.flat()];
    return [id, ...unsigned(body.length), ...body];
  });
  return Uint8Array.from([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, ...bytes]);
}

function addExport(exported: number[][], field: Node[], kind: number, index: number): void {
  for (const part of field.filter(isList)) {
    if (part[0] === "export") exported.push([...name(stringAt(part, 1)), kind, ...unsigned(index)]);
  }
}

function limitsOf(field: Node[]): number[] {
  const numbers = field.filter((part) => typeof part === "string" && /^\d+$/.test(part)).map(Number);
  const [min = 0, max] = numbers;
  return max === undefined ? [0, ...unsigned(min)] : [1, ...unsigned(min), ...unsigned(max)];
}

function dataOf(field: Node[]): number[] {
  const offset = Number(wordAt(listAt(field, 1), 1));
  const bytes = stringBytes(stringAt(field, 2));
  return [0, 0x41, ...signed(BigInt(offset)), 0x0b, ...vector(bytes)];
}

function bodyOf(field: Node[], functionNames: readonly string[]): number[] {
  const locals: { readonly name: string; readonly type: number | null }[] = [];
  const words: string[] = [];
  for (const part of field.slice(2)) {
    if (typeof part === "string") words.push(part);
    else if (part[0] === "param") for (const each of part.slice(1)) locals.push({ name: String(each), type: null });
    else if (part[0] === "local") locals.push({ name: wordAt(part, 1), type: valueType(part[2] ?? "") });
  }
  const declared = locals.filter(({ type }) => type !== null).map(({ type }) => [1, type ?? 0]);
  const code: number[] = [...unsigned(declared.length), ...declared.flat()];
  const labels: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const opcode = opcodes[word];
    if (opcode === undefined) throw new Error(`unknown instruction ${word}`);
    code.push(opcode);
    if (word === "end") labels.pop();
    if (blockStarts.has(word)) {
      const label = words[at + 1]?.startsWith("$") === true ? (words[++at] ?? "") : "";
      labels.push(label);
      code.push(voidType);
    } else if (withIndex.has(word)) {
      code.push(...unsigned(indexOf(word, words[++at] ?? "", functionNames, labels, locals)));
    } else if (word.endsWith(".const")) code.push(...signed(BigInt(words[++at] ?? "0")));
    else if (/\.(load|store)/.test(word)) code.push(0, ...unsigned(0));
    else if (word.startsWith("memory.")) code.push(0);
  }
  return [...code, 0x0b];
}

function indexOf(
  word: string,
  target: string,
  functionNames: readonly string[],
  labels: readonly string[],
  locals: readonly { readonly name: string }[],
): number {
  if (/^\d+$/.test(target)) return Number(target);
  const found = word.startsWith("local")
    ? locals.findIndex(({ name: each }) => each === target)
    : word === "call"
      ? functionNames.indexOf(target)
      : labels.toReversed().indexOf(target);
  if (found === -1) throw new Error(`${word} does not find ${target}`);
  return found;
}

function parse(text: string): Node[] {
  const tokens = text.replaceAll(/;;.*$/gm, "").match(/"(?:\\.|[^"\\])*"|[()]|[^\s()]+/g) ?? [];
  const stack: Node[][] = [[]];
  for (const token of tokens) {
    if (token === "(") stack.push([]);
    else if (token === ")") {
      const list = stack.pop() ?? [];
      stack.at(-1)?.push(list);
    } else stack.at(-1)?.push(token);
  }
  if (stack.length !== 1) throw new Error("brackets do not match");
  return stack[0] ?? [];
}

const isList = (node: Node): node is Node[] => Array.isArray(node);

function listAt(list: Node[], at: number): Node[] {
  const node = list[at];
  if (node === undefined || !isList(node)) throw new Error(`a list is missing in (${String(list[0])} …)`);
  return node;
}

function wordAt(list: Node[], at: number): string {
  const node = list[at];
  if (typeof node !== "string") throw new Error(`a word is missing in (${String(list[0])} …)`);
  return node;
}

const stringAt = (list: Node[], at: number): string => wordAt(list, at).slice(1, -1);

function valueType(node: Node): number {
  const type = typeof node === "string" ? types[node] : undefined;
  if (type === undefined) throw new Error(`unknown type ${String(node)}`);
  return type;
}

/** `\n` and `\hh` are the escapes of the text format that the fixtures use, and `\"`. */
function stringBytes(text: string): number[] {
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const escape = text[at] === "\\" ? text[at + 1] : undefined;
    if (escape === undefined) bytes.push(...Buffer.from(text[at] ?? ""));
    else if (escape === "n" || escape === '"') {
      bytes.push(escape === "n" ? 10 : 34);
      at++;
    } else {
      bytes.push(Number.parseInt(text.slice(at + 1, at + 3), 16));
      at += 2;
    }
  }
  return bytes;
}

const name = (text: string): number[] => vector([...Buffer.from(text)]);
const vector = (bytes: readonly number[]): number[] => [...unsigned(bytes.length), ...bytes];

function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...unsigned(Math.floor(value / 0x80))];
}

function signed(value: bigint): number[] {
  const low = Number(BigInt.asUintN(7, value));
  const rest = value >> 7n;
  const done = (rest === 0n && low < 0x40) || (rest === -1n && low >= 0x40);
  return done ? [low] : [low | 0x80, ...signed(rest)];
}
