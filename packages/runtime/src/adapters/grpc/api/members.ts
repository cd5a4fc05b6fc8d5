// Walks JSON text that the runtime has written itself: which members and items it has, and where each stands.

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Member extends Span {
  readonly key: string;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** @throws Error for what is no JSON object */
export function membersOf(text: string, from: number): Member[] {
  const members: Member[] = [];
  let at = afterOpening(text, from, openBrace);
  if (text.charCodeAt(at) === closeBrace) return members;
  for (;;) {
    const keyEnd = endOfString(text, at);
    const key = textOf(text, at, keyEnd);
    at = afterSpace(text, keyEnd);
    if (text.charCodeAt(at) !== colon) throw broken();
    at = afterSpace(text, at + 1);
    const to = endOfValue(text, at);
    members.push({ key, from: at, to });
    at = afterSpace(text, to);
    if (text.charCodeAt(at) === closeBrace) return members;
    if (text.charCodeAt(at) !== comma) throw broken();
    at = afterSpace(text, at + 1);
  }
}

/** @throws Error for what is no JSON list */
export function itemsOf(text: string, from: number): Span[] {
  const items: Span[] = [];
  let at = afterOpening(text, from, openBracket);
  if (text.charCodeAt(at) === closeBracket) return items;
  for (;;) {
    const to = endOfValue(text, at);
    items.push({ from: at, to });
    at = afterSpace(text, to);
    if (text.charCodeAt(at) === closeBracket) return items;
    if (text.charCodeAt(at) !== comma) throw broken();
    at = afterSpace(text, at + 1);
  }
}

/** The text that a JSON string stands for. @param to behind the closing quote */
export function textOf(text: string, from: number, to: number): string {
  const inside = text.slice(from + 1, to - 1);
  return inside.includes("\\") ? (JSON.parse(text.slice(from, to)) as string) : inside;
}

function afterOpening(text: string, from: number, bracket: number): number {
  const at = afterSpace(text, from);
  if (text.charCodeAt(at) !== bracket) throw broken();
  return afterSpace(text, at + 1);
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** Index behind the closing quote. */
function endOfString(text: string, from: number): number {
  if (text.charCodeAt(from) !== quote) throw broken();
  for (let at = from + 1; ;) {
    const end = text.indexOf('"', at);
    if (end === -1) throw broken();
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end + 1;
    at = end + 1;
  }
}

/** Index behind the value: strings are leapt over, and brackets counted; what a plain value is made of is not looked at. */
function endOfValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === quote) return endOfString(text, from);
  const nested = first === openBrace || first === openBracket;
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at) - 1;
    else if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (!nested && (code === comma || code <= 0x20)) return at;
  }
  if (nested) throw broken();
  return text.length;
}

function broken(): Error {
  return new Error("an answer of the runtime is not the JSON that its message stands for");
}
