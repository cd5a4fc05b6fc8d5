// The JavaScript that stands in a guest's realm before the tool's code does: its globals, and how values become JSON text.

/** Deeper results are refused: nobody downstream reads them. */
export const resultDepthMax = 64;
/** Of one `console` line. */
export const printedCharsMax = 64 * 1024;
/** What the reader of these lines takes: more would be dropped there, with a word in the call's log only. */
export const payloadCharsMax = 256 * 1024;
export const partialCharsMax = 64 * 1024;

/**
 * Source of a function that takes the host's few functions, lays out the globals, and returns what the host calls later:
 * `begin` (texts of the request), `finish` (a value → JSON text), `describe` (anything thrown → text). All of it runs inside
 * the guest, under its limits: a getter, a proxy or a `toJSON` of the tool never runs anywhere else.
 */
export const preludeSource = String.raw`(function (host) {
"use strict";
const { parse, stringify } = JSON;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const [NumberClass, StringClass, BooleanClass] = [Number, String, Boolean];
const { keys, defineProperty } = Object;
const show = (name, value) => defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
const tooDeep = ${resultDepthMax};
const kinds = [[Map, "a Map (return Object.fromEntries(map))"], [Set, "a Set (return [...set])"], [Promise, "a promise (await it)"],
  [RegExp, "a regular expression"], [ArrayBuffer, "bytes (return Array.from(bytes) or text)"],
  [WeakMap, "a WeakMap"], [WeakSet, "a WeakSet"], [Error, "an Error (return its message, or throw it)"]];

// A value as JSON text: nothing is dropped or bent without a word, and a BigInt keeps all its digits. No method of a list or a
// text is called on the way: the tool may have put its own in their place.
const toJson = (root, what, charsMax) => {
  let text = "";
  const put = (piece) => {
    text += piece;
    if (text.length > charsMax) {
      if (what === "result") host.tooLarge(text.length);
      throw new RangeError("the " + what + " is larger than " + charsMax + " characters");
    }
  };
  const refuse = (path, why) => { throw new TypeError("the " + what + " is not JSON: " + path + " is " + why); };
  const check = (value, path, above) => {
    let depth = 0;
    for (let each = above; each !== null; each = each.above) {
      if (each.value === value) refuse(path, "inside itself");
      depth++;
    }
    if (depth >= tooDeep) refuse(path, "deeper than " + tooDeep + " levels");
    for (let at = 0; at < kinds.length; at++) if (value instanceof kinds[at][0]) refuse(path, kinds[at][1]);
    if (isView(value)) refuse(path, "bytes (return Array.from(bytes) or text)");
  };
  const walk = (given, path, name, above) => {
    let value = given;
    if (value !== null && (typeof value === "object" || typeof value === "bigint") && typeof value.toJSON === "function") value = value.toJSON(name);
    switch (typeof value) {
      case "string": return put(stringify(value));
      case "boolean": return put(value ? "true" : "false");
      case "bigint": return put("" + value);
      case "number": return value - value === 0 ? put(stringify(value)) : refuse(path, "" + value);
      case "undefined": return put("null");
      case "object": break;
      default: return refuse(path, "a " + typeof value);
    }
    if (value === null) return put("null");
    if (value instanceof NumberClass || value instanceof StringClass || value instanceof BooleanClass) return walk(value.valueOf(), path, name, above);
    check(value, path, above);
    const here = { value, above };
    if (isArray(value)) {
      put("[");
      for (let at = 0; at < value.length; at++) {
        if (at > 0) put(",");
        walk(value[at], path + "[" + at + "]", "" + at, here);
      }
      return put("]");
    }
    put("{");
    const names = keys(value);
    let first = true;
    for (let at = 0; at < names.length; at++) {
      const member = value[names[at]];
      if (member === undefined) continue;
      put((first ? "" : ",") + stringify(names[at]) + ":");
      first = false;
      walk(member, path + "." + names[at], names[at], here);
    }
    put("}");
  };
  walk(root, "$", "", null);
  return text;
};

// For people, not for machines.
const print = (value, depth, seen) => {
  if (typeof value === "string") return depth === 0 ? value : stringify(value);
  if (typeof value === "bigint") return value + "n";
  if (typeof value === "function") return "[function " + (value.name || "anonymous") + "]";
  if (value === null || typeof value !== "object") return String(value);
  if (value instanceof Error) return describe(value);
  if (seen.includes(value)) return "[circular]";
  if (depth > 4) return isArray(value) ? "[array]" : "[object]";
  const inner = [...seen, value];
  const list = (items) => items.length > 100 ? items.slice(0, 100).concat("… " + (items.length - 100) + " more") : items;
  if (value instanceof Date || value instanceof RegExp) return String(value);
  if (value instanceof Map) return "Map { " + list([...value].map(([k, v]) => print(k, depth + 1, inner) + " => " + print(v, depth + 1, inner))).join(", ") + " }";
  if (value instanceof Set) return "Set { " + list([...value].map((v) => print(v, depth + 1, inner))).join(", ") + " }";
  if (isArray(value) || ArrayBuffer.isView(value)) return "[" + list(Array.from(value).slice(0, 101).map((v) => print(v, depth + 1, inner))).join(", ") + "]";
  return "{" + list(keys(value).map((key) => " " + key + ": " + print(value[key], depth + 1, inner))).join(",") + " }";
};

const describe = (thrown) => {
  try {
    if (thrown instanceof Error) {
      // Where in here an error was made tells its reader nothing.
      const stack = typeof thrown.stack === "string" ? thrown.stack.split("\n").filter((line) => !line.includes("(prelude.js:")).join("\n") : "";
      return thrown.name + ": " + thrown.message + "\n" + stack;
    }
    return "thrown: " + print(thrown, 0, []);
  } catch {
    return "something was thrown that cannot be described";
  }
};

const line = (fd) => (...values) => {
  const text = values.map((value) => print(value, 0, [])).join(" ").replaceAll("\0", "\ufffd");
  host.write(fd, (text.length > ${printedCharsMax} ? text.slice(0, ${printedCharsMax}) + "…" : text) + "\n");
};
const out = line(1);
const err = line(2);
show("console", { log: out, info: out, debug: out, dir: out, table: out, warn: err, error: err, trace: err,
  assert: (good, ...values) => { if (!good) err("assertion failed", ...values); } });

// One line of descriptor 4 has one member that says what it is.
const event = (kind, value) => host.event("{\"" + kind + "\":" + toJson(value, kind, kind === "partial" ? ${partialCharsMax} : ${payloadCharsMax}) + "}");
show("progress", (percent, message = "") => {
  const number = Number(percent);
  event("progress", { percent: number > 0 ? Math.min(100, number) : 0, message: String(message).slice(0, 1000) });
});
show("log", (...values) => event("log", values.map((value) => print(value, 0, [])).join(" ").slice(0, 8192)));
show("partial", (value) => event("partial", value));
// An event never costs the call: what it cannot be is said in the log.
show("emit", (type, payload = null) => {
  try {
    if (typeof type !== "string" || type.length === 0 || type.length > 128) throw new RangeError("an event type is a text of 1 to 128 characters");
    event("emit", { type, payload });
  } catch (error) {
    event("log", ("an event was dropped: " + error.message).slice(0, 8192));
  }
});

const path = (name) => {
  if (typeof name !== "string") throw new TypeError("a file's path is a text");
  return name;
};
show("files", {
  read: (name) => host.readText(path(name)),
  readBytes: (name) => new Uint8Array(host.readBytes(path(name))),
  list: () => parse(host.listFiles()),
});

show("TextEncoder", class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(given = "") {
    const text = String(given).toWellFormed();
    const bytes = new Uint8Array(text.length * 3);
    let at = 0;
    for (const char of text) {
      const code = char.codePointAt(0);
      if (code < 0x80) { bytes[at++] = code; continue; }
      if (code < 0x800) bytes[at++] = 0xc0 | (code >> 6);
      else {
        if (code < 0x10000) bytes[at++] = 0xe0 | (code >> 12);
        else { bytes[at++] = 0xf0 | (code >> 18); bytes[at++] = 0x80 | ((code >> 12) & 0x3f); }
        bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
      }
      bytes[at++] = 0x80 | (code & 0x3f);
    }
    return bytes.slice(0, at);
  }
});

// Ranges of the second byte by the first: no overlong forms, no surrogates, nothing above U+10FFFF.
const lead = (byte) => {
  if (byte >= 0xc2 && byte <= 0xdf) return [1, byte & 0x1f, 0x80, 0xbf];
  if (byte >= 0xe0 && byte <= 0xef) return [2, byte & 0x0f, byte === 0xe0 ? 0xa0 : 0x80, byte === 0xed ? 0x9f : 0xbf];
  if (byte >= 0xf0 && byte <= 0xf4) return [3, byte & 0x07, byte === 0xf0 ? 0x90 : 0x80, byte === 0xf4 ? 0x8f : 0xbf];
  return null;
};
const utf8Names = ["utf-8", "utf8", "unicode-1-1-utf-8"];
show("TextDecoder", class TextDecoder {
  #fatal;
  constructor(label = "utf-8", { fatal = false } = {}) {
    if (!utf8Names.includes(String(label).toLowerCase())) throw new RangeError("only utf-8 can be decoded here");
    this.#fatal = Boolean(fatal);
  }
  get encoding() { return "utf-8"; }
  decode(given = new Uint8Array(0)) {
    const bytes = ArrayBuffer.isView(given) ? new Uint8Array(given.buffer, given.byteOffset, given.byteLength) : new Uint8Array(given);
    const texts = [];
    let codes = [];
    const put = (code) => { if (codes.push(code) === 1024) { texts.push(String.fromCodePoint(...codes)); codes = []; } };
    const bad = () => { if (this.#fatal) throw new TypeError("the bytes are no UTF-8"); put(0xfffd); };
    let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    while (at < bytes.length) {
      const byte = bytes[at++];
      if (byte < 0x80) { put(byte); continue; }
      const found = lead(byte);
      if (found === null) { bad(); continue; }
      let [more, code, low, high] = found;
      for (; more > 0 && bytes[at] >= low && bytes[at] <= high; more--) {
        code = (code << 6) | (bytes[at++] & 0x3f);
        low = 0x80;
        high = 0xbf;
      }
      if (more > 0) bad(); else put(code);
    }
    return texts.join("") + String.fromCodePoint(...codes);
  }
});

return {
  begin(input, inputText, context, secrets, env) {
    show("input", parse(input));
    show("inputText", inputText);
    show("context", parse(context));
    show("secrets", parse(secrets));
    show("env", parse(env));
  },
  finish: (value) => toJson(value, "result", host.resultCharsMax),
  describe,
};
})`;
