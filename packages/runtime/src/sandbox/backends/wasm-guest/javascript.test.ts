// JavaScript in its guest: what a source may look like, what it is given, what becomes of its result, and what stops it.
import { beforeAll, describe, expect, test } from "vitest";
import type { GuestEnd } from "../../guest/end.ts";
import { codeFileName } from "../../guest/javascript/source.ts";
import type { TreeDir, TreeFile, TreeNode } from "../../guest/tree.ts";
import type { WasmModule } from "./engine.ts";
import { compileEngine, readyJs, warmUp, type JsLimits } from "./javascript.ts";

const MiB = 1024 * 1024;
const limits: JsLimits = { memoryBytes: 32 * MiB, timeoutMs: 5_000, resultBytes: 64 * 1024 };

const file = (content: string | Uint8Array): TreeFile => {
  const bytes = Buffer.from(content);
  return { kind: "file", sizeBytes: bytes.length, read: () => bytes };
};
/** Not written out: the house has no default exports, and looks for the words. */
const asDefault = ["export", "default"].join(" ");

const dir = (entries: Readonly<Record<string, TreeNode>> = {}): TreeDir => ({
  kind: "dir",
  entries: new Map(Object.entries(entries)),
});

let engine: WasmModule;
beforeAll(async () => {
  engine = await compileEngine();
});

interface Ran {
  readonly end: GuestEnd;
  readonly out: string;
  readonly err: string;
  readonly events: readonly string[];
}

interface Given {
  readonly limits?: Partial<JsLimits>;
  readonly input?: string;
  readonly context?: string;
  readonly secrets?: string;
  readonly package?: TreeDir;
  readonly workspace?: TreeDir;
  readonly fileName?: string;
}

async function run(code: string, given: Given = {}): Promise<Ran> {
  const said = { 1: "", 2: "" };
  const events: string[] = [];
  const ready = await readyJs(
    engine,
    { ...limits, ...given.limits },
    {
      write: (fd, text) => void (said[fd] += text),
      event: (line) => void events.push(line),
      monotonicMs: () => performance.now(),
    },
  );
  const { input = "null", context = "{}", secrets = "{}", fileName = codeFileName } = given;
  const folders = { package: given.package ?? dir(), workspace: given.workspace ?? dir() };
  const end = ready.run({ code, fileName, input, context, secrets }, folders, { LANG: "C" });
  return { end, out: said[1], err: said[2], events };
}

/** The result's text, or the failure's message. */
async function result(code: string, given: Given = {}): Promise<string | null> {
  const { end } = await run(code, given);
  if (end.reason === "done") return end.resultText;
  return end.reason === "failed" ? end.message : JSON.stringify(end);
}

describe("a source is", () => {
  test.each([
    ["a script, and its last expression counts", "const a = 20; a + 1 + input", "26"],
    ["a script that waits", "const a = await Promise.resolve(2); a * 3", "6"],
    ["a script that ends with a promise", "Promise.resolve([1])", "[1]"],
    ["a script with a function main", "function main(input) { return { got: input } }", `{"got":5}`],
    ["a script with a constant main that waits", "const main = async (x) => (await x) + 1; 'not this'", "6"],
    ["a body with a return", "if (input > 4) return 'large';\nreturn 'small'", `"large"`],
    ["a body that waits", "const x = await Promise.resolve(input); return x", "5"],
    ["a module with a default function", `${asDefault} async (input) => [input]`, "[5]"],
    ["a module with a default value", `${asDefault} { a: 1 }`, `{"a":1}`],
    ["a module with main", "export function main(x) { return -x }", "-5"],
    ["a module that waits", `const x = await Promise.resolve(1); ${asDefault} x`, "1"],
    ["nothing at all", "", "null"],
    [
      "one with a hashbang and strictness",
      "#!/usr/bin/env node\n'use strict'; (function () { return this === undefined })()",
      "true",
    ],
  ])("%s", async (_, code, expected) => {
    expect(await result(code, { input: "5" })).toBe(expected);
  });

  test.each([
    ["a syntax error is told with its place", "let x = 1;\nlet ((", /^SyntaxError: .+\n +at code\.js:2:/],
    ["a module's syntax error is told as such", `${asDefault} (`, /^SyntaxError: .+\n +at code\.js:1:/],
    [
      "an error is told with its place",
      "function f() { throw new TypeError('no') }\nf()",
      /^TypeError: no\n +at f \(code\.js:1:\d+\)/,
    ],
    ["what is thrown need not be an error", "throw { code: 7 }", /^thrown: \{ code: 7 \}$/],
    ["a promise may be rejected", "await Promise.reject(new Error('late'))", /^Error: late/],
    ["a module without an export says what it lacks", "export const x = 1", /neither `default` nor `main`/],
    ["a promise that nobody settles is named", "new Promise(() => {})", /nothing is left to settle/],
    ["nothing else is imported", `import fs from 'node:fs'; ${asDefault} 1`, /^(Reference|Syntax)?Error: .*node:fs/],
    ["nothing else is imported later", "await import('./x.js')", /^ReferenceError: .*x\.js/],
  ])("wrong: %s", async (_, code, said) => {
    expect(await result(code)).toMatch(said);
  });
});

describe("given are", () => {
  test("input, its exact text, context, secrets and environment", async () => {
    const given = { input: `{"id":12345678901234567890}`, context: `{"call_id":"c"}`, secrets: `{"key":"s"}` };
    expect(await result("[inputText, context.call_id, secrets.key, env.LANG]", given)).toBe(
      `["{\\"id\\":12345678901234567890}","c","s","C"]`,
    );
  });
  test("console, on the two streams", async () => {
    const code = `console.log("a", 1, [1, { b: null }], new Map([[1, 2]])); console.error(new Error("x").message); console.log("z\\0")`;
    expect(await run(code)).toMatchObject({ out: "a 1 [1, { b: null }] Map { 1 => 2 }\nz\ufffd\n", err: "x\n" });
  });
  test("events, one line each", async () => {
    const { events } = await run(
      `progress(40, "reading"); progress(-1); log("a\\nb", 1); partial([1]); emit("seen", { n: 2n })`,
    );
    expect(events).toEqual([
      `{"progress":{"percent":40,"message":"reading"}}`,
      `{"progress":{"percent":0,"message":""}}`,
      `{"log":"a\\nb 1"}`,
      `{"partial":[1]}`,
      `{"emit":{"type":"seen","payload":{"n":2}}}`,
    ]);
    const dropped = await run("emit('', 1); emit('e', 'x'.repeat(300000))");
    expect(dropped.events).toEqual([
      `{"log":"an event was dropped: an event type is a text of 1 to 128 characters"}`,
      expect.stringMatching(/^\{"log":"an event was dropped: the emit is larger/),
    ]);
  });
  test("files, to read", async () => {
    const given = {
      package: dir({ "p.txt": file("of the package") }),
      workspace: dir({
        "w.txt": file("grüße"),
        "n.bin": file(Uint8Array.from([1, 0, 2])),
        inner: dir({ x: file("") }),
      }),
    };
    expect(
      await result("[files.read('w.txt'), files.read('/package/p.txt'), [...files.readBytes('n.bin')]]", given),
    ).toBe(`["grüße","of the package",[1,0,2]]`);
    expect(await result("files.list()", given)).toBe(
      `["/package/p.txt","/workspace/inner/x","/workspace/n.bin","/workspace/w.txt"]`,
    );
    expect(await result("files.read('n.bin')", given)).toContain("use files.readBytes");
    expect(await result("files.read('inner')", given)).toContain("is a folder");
    expect(await result("files.read('../../etc/passwd')", given)).toContain("there is no file");
    expect(await result("files.read({ toString() { return 'w.txt' } })", given)).toContain("a file's path is a text");
  });
  test("files of its package as modules", async () => {
    const given = {
      package: dir({
        lib: dir({ "a.js": file("import { b } from '../b.js'; export const a = b + 1") }),
        "b.js": file("export const b = 1"),
      }),
      fileName: "index.js",
    };
    expect(await result(`import { a } from './lib/a.js'; ${asDefault} () => a`, given)).toBe("2");
    expect(await result(`import '../../x.js'; ${asDefault} 1`, given)).toContain("only files of the package");
    expect(await result(`import 'node:fs'; ${asDefault} 1`, given)).toContain("only files of the package");
    expect(await result(`import './c.js'; ${asDefault} 1`, given)).toContain("the package has no file c.js");
  });
  test("text as bytes and back", async () => {
    const text = "a\u00e9\u20ac\u{1f600}";
    expect(await result(`new TextDecoder().decode(new TextEncoder().encode(${JSON.stringify(text)}))`)).toBe(
      JSON.stringify(text),
    );
    // Overlong, surrogate, above the range, cut off, stray.
    const bad = "[0xc0,0x80, 0xed,0xa0,0x80, 0xf4,0x90,0x80,0x80, 0xe2,0x82, 0x41, 0x80]";
    const expected = new TextDecoder().decode(
      Uint8Array.from([0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf4, 0x90, 0x80, 0x80, 0xe2, 0x82, 0x41, 0x80]),
    );
    expect(await result(`new TextDecoder().decode(Uint8Array.from(${bad}))`)).toBe(JSON.stringify(expected));
    expect(await result(`new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.of(0xff))`)).toMatch(
      /^TypeError: the bytes/,
    );
  });
  test("nothing of the host", async () => {
    const names = [
      "process",
      "require",
      "module",
      "global",
      "fetch",
      "WebAssembly",
      "setTimeout",
      "performance",
      "Atomics",
      "std",
      "os",
      "host",
      "Deno",
    ];
    expect(await result(`${JSON.stringify(names)}.filter((name) => eval("typeof " + name) !== "undefined")`)).toBe(
      "[]",
    );
  });
});

describe("a result", () => {
  test.each([
    ["undefined", "null"],
    ["[undefined, null, -0, 1e21, 0.1]", "[null,null,0,1e+21,0.1]"],
    ["({ a: undefined, b: 'x\\u2028\\ud800' })", `{"b":"x\u2028\\ud800"}`],
    ["123456789012345678901234567890n", "123456789012345678901234567890"],
    ["({ id: 2n ** 64n })", `{"id":18446744073709551616}`],
    ["new Date(0)", `"1970-01-01T00:00:00.000Z"`],
    ["[Object('s'), Object(1), Object(false)]", `["s",1,false]`],
    ["({ ['__proto__']: 1 })", `{"__proto__":1}`],
    ["Object.create({ inherited: 1 })", "{}"],
  ])("%s is %s", async (code, expected) => {
    expect(await result(code)).toBe(expected);
  });

  test.each([
    ["NaN", "$ is NaN"],
    ["[[1 / 0]]", "$[0][0] is Infinity"],
    ["({ a: { b: () => 1 } })", "$.a.b is a function"],
    ["Symbol()", "$ is a symbol"],
    ["new Map()", "$ is a Map (return Object.fromEntries(map))"],
    ["[new Set()]", "$[0] is a Set (return [...set])"],
    ["({ p: Promise.resolve(1) })", "$.p is a promise (await it)"],
    ["new Uint8Array(2)", "$ is bytes"],
    ["new Error('x')", "$ is an Error"],
    ["const a = {}; a.a = a; a", "$.a is inside itself"],
    ["let a = 1; for (let i = 0; i < 65; i++) a = [a]; a", "deeper than 64 levels"],
  ])("%s is refused: %s", async (code, said) => {
    expect(await result(code)).toContain(`TypeError: the result is not JSON: `);
    expect(await result(code)).toContain(said);
  });

  test("may be as large as its limit, and no larger", async () => {
    const given = { limits: { resultBytes: 100 } };
    expect(await result("'x'.repeat(98)", given)).toBe(`"${"x".repeat(98)}"`);
    expect((await run("'x'.repeat(99)", given)).end).toEqual({
      reason: "exceeded",
      resource: "output",
      limit: 100,
      observed: 101,
    });
    expect((await run("'é'.repeat(50)", given)).end).toEqual({
      reason: "exceeded",
      resource: "output",
      limit: 100,
      observed: 102,
    });
    expect((await run("new Array(1e5).fill(1)", given)).end).toMatchObject({ reason: "exceeded", resource: "output" });
    const endless = "new Proxy([], { get: (t, k) => k === 'length' ? Infinity : k === 'toJSON' ? undefined : 1 })";
    expect((await run(endless, given)).end).toMatchObject({ reason: "exceeded", resource: "output" });
  });
});

describe("time runs out for", () => {
  const given = { limits: { timeoutMs: 150 } };
  test.each([
    ["a loop", "for (;;);"],
    ["a loop that catches everything", "for (;;) { try { for (;;); } catch {} }"],
    ["a loop in finally", "try { for (;;); } finally { for (;;); }"],
    ["a flood of promises", "(async () => { for (;;) await 0 })()"],
    ["a chain of promises", "const f = () => Promise.resolve().then(f); f(); new Promise(() => {})"],
    ["a flood of promises behind a result", "(async () => { for (;;) await 0 })(); await new Promise(() => {})"],
    ["a getter of the result", "({ get a() { for (;;); } })"],
    ["a toJSON of the result", "({ toJSON() { for (;;); } })"],
    [
      "a proxy without end",
      "[].indexOf.call(new Proxy({}, { get: (t, k) => (k === 'length' ? Infinity : 0), has: () => true }), 1)",
    ],
    ["a thenable", "await { then() { for (;;); } }"],
    ["a regular expression", "/^(a+)+$/.test('a'.repeat(40) + 'b')"],
    ["a comparison", "[1, 2, 3].sort(() => { for (;;); })"],
    ["a message", "throw { get message() { for (;;); }, toString() { for (;;); }, get x() { for (;;); } }"],
    ["what console prints", "console.log({ get a() { for (;;); } })"],
    ["a generator", "function* g() { for (;;) yield 1 } [...{ [Symbol.iterator]: g }].length; for (const x of g());"],
    ["a class without end", "class A { static { for (;;); } }"],
    ["main", "const main = () => { for (;;); }"],
    ["a module", `${asDefault} 1; for (;;);`],
  ])("%s", async (_, code) => {
    expect((await run(code, given)).end).toEqual({ reason: "timeout" });
  });
});

describe("memory runs out for", () => {
  test.each([
    ["a growing list", "const a = []; for (;;) a.push(new Array(1e5).fill(7))"],
    ["a growing text", "let s = 'abcdefgh'; const a = []; for (;;) { s += s; a.push(s.slice(1)) }"],
    ["one large buffer", "new ArrayBuffer(1e9)"],
    ["one large text", "'x'.repeat(2 ** 30 - 2)"],
    ["a map of maps", "const m = new Map(); for (let i = 0; ; i++) m.set(i, new Map([[i, 'x'.repeat(1000)]]))"],
    ["closures", "let f = null; for (;;) { const g = f, pad = new Uint8Array(1000); f = () => [g, pad] }"],
    [
      "a fresh error about it",
      "try { const a = []; for (;;) a.push(new Array(1e5).fill(7)) } catch (e) { throw new Error('my own: ' + e.name) }",
    ],
    ["jobs", "for (;;) Promise.resolve().then(() => new Uint8Array(100000))"],
  ])("%s", async (_, code) => {
    const { end } = await run(code);
    if (end.reason !== "exceeded") throw new Error(JSON.stringify(end));
    expect([end.resource, end.limit, end.observed >= end.limit]).toEqual(["memory", 32 * MiB, true]);
  });

  test("but code that catches it may go on", async () => {
    expect(await result("try { const a = []; for (;;) a.push(new Array(1e5).fill(7)) } catch { 'went on' }")).toBe(
      `"went on"`,
    );
  });
});

describe("too deep is", () => {
  test.each([
    ["a function that calls itself", "function f() { return f() + 1 } f()"],
    ["a getter that asks for itself", "const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x"],
    ["JSON in brackets", "JSON.parse('['.repeat(1e5) + ']'.repeat(1e5))"],
    ["an object in objects, written", "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; JSON.stringify(o)"],
    ["source in brackets", "eval('['.repeat(1e5))"],
    ["toString of itself", "const o = { toString() { return String(o) } }; String(o)"],
    ["a pattern in brackets", "new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5)).test('x')"],
  ])("%s, and it ends as the tool's own failure", async (_, code) => {
    const { end } = await run(code);
    expect(end.reason).toBe("failed");
  });
});

describe("games with prototypes", () => {
  test.each([
    ["a toJSON for all objects", "Object.prototype.toJSON = () => 1; ({ a: 2 })", "1"],
    [
      "a setter for all objects",
      "Object.defineProperty(Object.prototype, 'a', { set() { throw 1 } }); ({ b: 1 })",
      `{"b":1}`,
    ],
    ["then for all objects", "Object.prototype.then = undefined; ({ b: 1 })", `{"b":1}`],
    [
      "another JSON",
      "JSON.stringify = () => 'no'; JSON.parse = () => 'no'; globalThis.JSON = null; ({ a: [1] })",
      `{"a":[1]}`,
    ],
    [
      "another join",
      "Array.prototype.join = () => 'no'; Array.prototype.push = () => 0; String.prototype.split = null; String.prototype.toString = null; [{ a: 1 }]",
      `[{"a":1}]`,
    ],
    [
      "no constructors",
      "delete globalThis.Object; delete globalThis.Array; delete globalThis.Map; ({ a: 1 })",
      `{"a":1}`,
    ],
    [
      "the realm of the constructor",
      "({}).constructor.constructor('return typeof process + typeof require')()",
      `"undefinedundefined"`,
    ],
    [
      "the realm of an error",
      "try { files.read('x') } catch (e) { e.constructor === Error && e.constructor.constructor('return typeof process')() }",
      `"undefined"`,
    ],
    ["the realm of console", "console.log.constructor('return typeof process')()", `"undefined"`],
    [
      "the realm of bytes",
      "files.readBytes('b').buffer.constructor.constructor('return typeof process')()",
      `"undefined"`,
    ],
  ])("%s change no more than the game's own result", async (_, code, expected) => {
    expect(await result(code, { workspace: dir({ b: file("b") }) })).toBe(expected);
  });

  test("stay in their instance", async () => {
    await run("Object.prototype.polluted = 1; globalThis.left = 2; Array.prototype.push = null");
    expect(await result("[typeof ({}).polluted, typeof left, typeof [].push]")).toBe(
      `["undefined","undefined","function"]`,
    );
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

test("a warm-up leaves nothing behind", async () => {
  await warmUp(engine, () => performance.now());
  expect(await result("typeof main + typeof seen")).toBe(`"undefinedundefined"`);
});
