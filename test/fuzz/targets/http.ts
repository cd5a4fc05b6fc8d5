// Requests to every route of the HTTP door, spoilt as documents, as texts and as bytes: always an answer of the table, and soon.
import fc from "fast-check";
import { anyMutations, spoil } from "../../support/mutations.ts";
import { checkAnswer } from "../answer.ts";
import { House, type Request } from "../house.ts";
import { spoiltBytes, spoiltText } from "../mutate.ts";
import { seeds, type Seed } from "../requests.ts";
import { target } from "../target.ts";

/** A house fills up with what was made in it, and with brakes that were pulled. */
const asksPerHouse = 400;
const msMax = 8_000;

export const httpTarget = target<Request>({
  name: "http",
  about: "requests to every route",
  async open() {
    let house = await House.open();
    let asks = 0;
    return {
      inputs: anyRequest,
      async check(input) {
        if (asks++ % asksPerHouse === asksPerHouse - 1) {
          await house.close();
          house = await House.open();
        }
        const began = performance.now();
        checkAnswer(house, await house.ask(filled(input, house.ids)));
        const spent = performance.now() - began;
        if (spent > msMax) throw new Error(`was answered after ${Math.round(spent)} ms`);
      },
      write: writeRequest,
      read: readRequest,
      close: () => house.close(),
    };
  },
});

const words = [
  ..."tool version input mode sync async stream limits timeout_ms idempotency_key decision args_hash approve reason".split(" "),
  ..."mirror pay asked acme beta shop production 1.0.0 ^1 user:alice service:ci tools:invoke * sha256: 10m 2026-01-31T12:00:00Z".split(" "),
];
const json = { "content-type": "application/json" };

/** Most often what says something, least often a page without a parameter. */
const anySeed: fc.Arbitrary<Seed> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...seeds.filter(({ path }) => path === "/v1/executions")) },
  { weight: 12, arbitrary: fc.constantFrom(...seeds.filter(({ body }) => body !== undefined)) },
  { weight: 6, arbitrary: fc.constantFrom(...seeds.filter(({ query }) => query !== undefined)) },
  { weight: 1, arbitrary: fc.constantFrom(...seeds) },
);

const anyRequest: fc.Arbitrary<Request> = anySeed.chain((seed) => fc.record({ place: placeOf(seed), body: bodyOf(seed), headers: headersOf(seed) }).map(({ place, body, headers }) => ({ method: seed.method, ...place, headers, body })));

/** The path mostly as it is; a parameter or a part of the query that means nothing now and then. */
function placeOf({ path, query = "" }: Seed): fc.Arbitrary<{ readonly path: string }> {
  const value = fc.oneof(fc.constantFrom("", "x", "..", "%00", "{call}", "{foreign}", "0", "-1", "a".repeat(2_000)), fc.string({ unit: "binary", maxLength: 12 }));
  const param = fc.record({ name: fc.constantFrom("limit", "cursor", "after_seq", "status", "tool", "x", "from", "project"), value });
  return fc.record({ drop: fc.nat(9), add: fc.option(param, { nil: undefined, freq: 6 }), swap: fc.option(value, { nil: undefined, freq: 20 }) }).map(({ drop, add, swap }) => {
    const there = query === "" || drop === 0 ? [] : query.split("&").slice(Math.max(0, drop - 5));
    const all = add === undefined ? there : [...there, `${add.name}=${escaped(add.value)}`];
    const way = swap === undefined ? path : path.replace(/\{\w+\}|mirror|pay|ops|acme/, escaped(swap));
    return { path: all.length === 0 ? way : `${way}?${all.join("&")}` };
  });
}

/** Ids stay to be filled in; everything else is as a careful client would send it. */
const escaped = (text: string): string => encodeURIComponent(text.toWellFormed()).replaceAll("%7B", "{").replaceAll("%7D", "}");

function bodyOf({ body }: Seed): fc.Arbitrary<Uint8Array | undefined> {
  if (body === undefined) return fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constant(Buffer.from("{}")) });
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const spoilt = anyMutations(words).map((mutations) => textOf(spoil(body, mutations)));
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(Buffer.from(text)) },
    { weight: 6, arbitrary: spoilt.map((one) => Buffer.from(one)) },
    { weight: 3, arbitrary: spoiltText([text]).map((one) => Buffer.from(one)) },
    { weight: 2, arbitrary: spoiltBytes([Buffer.from(text)]) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

/** What is no JSON becomes some: a bigint its digits, and nothing at all null. */
function textOf(value: unknown): string {
  const writing = (_key: string, one: unknown): unknown => (typeof one === "bigint" ? String(one) : one);
  try {
    return JSON.stringify(value, writing) ?? "null";
  } catch {
    return "null";
  }
}

function headersOf({ body }: Seed): fc.Arbitrary<Readonly<Record<string, string>>> {
  const usual = body === undefined ? {} : json;
  const odd = fc.constantFrom({}, { "content-type": "application/yaml" }, { "content-type": "text/plain" }, { ...json, "content-encoding": "gzip" }, { ...json, "idempotency-key": "first" });
  return fc.oneof({ weight: 20, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: odd });
}

function filled(input: Request, ids: Readonly<Record<string, string>>): Request {
  const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (all, name: string) => ids[name] ?? all);
  // Bytes as Latin-1, so that what is no text comes out as it went in.
  const body = input.body === undefined ? undefined : Buffer.from(fill(Buffer.from(input.body).toString("latin1")), "latin1");
  const path = fill(input.path).replaceAll("{", "%7B").replaceAll("}", "%7D");
  return { ...input, path, body };
}

export function writeRequest({ method, path, headers, body }: Request): Uint8Array {
  const head = [`${method} ${path}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  return Buffer.concat([Buffer.from(`${head.join("\n")}\n${body === undefined ? "" : "\n"}`), body ?? Buffer.alloc(0)]);
}

export function readRequest(bytes: Uint8Array): Request {
  const all = Buffer.from(bytes);
  const gap = all.indexOf("\n\n");
  const [first = "", ...rest] = all.subarray(0, gap === -1 ? all.length : gap).toString().trimEnd().split("\n");
  const [method = "GET", path = "/"] = first.split(" ");
  const headers = Object.fromEntries(rest.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
  return { method, path, headers, body: gap === -1 ? undefined : all.subarray(gap + 2) };
}
