// What conditions come to: values by the tool's schema, absent fields noticed, errors never swallowed, work bounded.
import { expect, test } from "vitest";
import { parseJson } from "@signalbox/protocol";
import { policyBounds } from "../bounds.ts";
import { evaluate, type Evaluation } from "./evaluate.ts";
import { parseCondition } from "./parse.ts";
import { inputShape, unknownArgs, untyped } from "./shape.ts";
import { bind, type Value } from "./values.ts";

const schema = {
  type: "object",
  properties: {
    amount: { type: "number" },
    n: { type: "integer" },
    text: { type: "string" },
    maybe: { type: ["string", "null"] },
    ok: { type: "boolean" },
    at: { type: "string", format: "date-time" },
    big: { type: "integer" },
    tags: { type: "array", items: { type: "string" } },
    items: {
      type: "array",
      items: { type: "object", properties: { price: { type: "number" }, count: { type: "integer" } } },
    },
    payee: { type: "object", properties: { iban: { type: "string" } } },
    any: {},
  },
};
const args = {
  amount: 1500,
  n: 7,
  text: "Grüße 🚀",
  maybe: null,
  ok: true,
  at: "2026-03-01T08:30:00+01:00",
  tags: ["a", "b"],
  items: [{ price: 2.5, count: 2 }, { price: 30 }],
  payee: { iban: "DE02" },
  any: { n: 3, list: [1, [2]] },
};

function on(source: string, given: unknown = args): Evaluation {
  // Without the check of types, so that the walk is seen to hold on its own.
  const parsed = parseCondition(source);
  if (!parsed.ok) throw new Error(parsed.problems.map(({ message }) => message).join());
  const variables = new Map<string, Value>([
    ["args", bind(given, inputShape(schema))],
    ["agent", "billing"],
    ["now", { type: "timestamp", ms: Date.UTC(2026, 6, 29, 22, 15, 30, 123) }],
  ]);
  const counts = { turn: 1, session: 4, windows: new Map([[600_000, 3]]) };
  return evaluate(parsed.root, { variables, counts }, policyBounds.evaluationStepsMax);
}

test.each([
  ["args.amount > 1000.0", true],
  ["args.amount > 1000", true],
  ["args.amount == 1500 && args.amount / 2.0 == 750.0", true],
  ["args.n % 2 == 1", true],
  ["args.n / 2 == 3 && -args.n == -7 && args.n - 8 == -1 && args.n * args.n == 49", true],
  ["args.n == 7.0 && 7.0 == args.n && args.n < 7.5 && args.n in [1.0, 7.0]", true],
  ["args.any.n == 3.0 && args.any.n + 1.0 == 4.0", true],
  ["int(args.any.n) % 2 == 1", true],
  ["args.any.list == [1, [2]] && args.any.list != [1, [3]]", true],
  ["size(args.text) == 7 && args.text.size() == 7", true],
  ["args.text.contains('üß') && args.text.startsWith('Gr') && args.text.endsWith('🚀')", true],
  ["'ABCÄ'.lowerAscii() == 'abcÄ' && 'abcä'.upperAscii() == 'ABCä'", true],
  ["args.text.matches('^Gr.*') && args.text.matches('ü') && !args.text.matches('^ü')", true],
  ["args.maybe == null && has(args.maybe)", true],
  ["args.maybe != 'x'", true],
  ["has(args.payee.iban) && !has(args.payee.bic) && !has(args.gone.deeper.still)", true],
  ["!has(args.constructor) && !has(args.__proto__) && !('toString' in args)", true],
  ["'iban' in args.payee && size(args.payee) == 1", true],
  ["'b' in args.tags && !('c' in args.tags) && args.tags[1] == 'b' && args.tags[1.0] == 'b'", true],
  ["args.tags + ['c'] == ['a', 'b', 'c']", true],
  ["args.items.exists(i, i.price > 10.0) && !args.items.all(i, i.price > 10.0)", true],
  ["args.items.exists_one(i, has(i.count)) && args.items.filter(i, has(i.count)).size() == 1", true],
  ["args.items.map(i, has(i.count), i.count * 2) == [4]", true],
  ["args.payee.all(name, name == 'iban') && args.payee.map(name, name) == ['iban']", true],
  ["timestamp(args.at) == timestamp('2026-03-01T07:30:00Z')", true],
  ["now - timestamp('2026-07-29T22:00:00Z') == duration('15m30.123s')", true],
  ["now + duration('1h45m') > timestamp('2026-07-30T00:00:00Z')", true],
  ["now.getHours() == 22 && now.getMinutes() == 15 && now.getSeconds() == 30 && now.getMilliseconds() == 123", true],
  ["now.getHours('Europe/Berlin') == 0 && now.getDate('Europe/Berlin') == 30 && now.getHours('-03:30') == 18", true],
  ["now.getFullYear() == 2026 && now.getMonth() == 6 && now.getDayOfMonth() == 28 && now.getDayOfWeek() == 3", true],
  ["now.getDayOfYear() == 209 && (now - now).getHours() == 0 && duration('90m').getMinutes() == 90", true],
  ["calls.turn == 1 && calls.session > 3 && calls.window('10m') == 3", true],
  ["string(args.n) == '7' && double('2.5') == 2.5 && int('-3') == -3 && int(2.9) == 2", true],
  ["string(now) == '2026-07-29T22:15:30.123Z' && int(timestamp('1970-01-01T00:01:00Z')) == 60", true],
  ["args.ok ? args.amount > 1.0 : args.gone > 1.0", true],
  ["args.ok || args.gone > 1.0", true],
  ["!args.ok && args.gone > 1.0", false],
  ["agent == 'billing' && 'a' < 'b' && false < true", true],
  ["'\\uffff' < '🚀' && '🚀' > 'z'", true],
  ["1 == 1.0 && 1 != 2.5 && 9007199254740993 != 9007199254740992.0", true],
  ["0.0 / 0.0 == 0.0 / 0.0", false],
  ["0.0 / 0.0 < 1.0 || 0.0 / 0.0 >= 1.0", false],
])("%s is %s", (source, result) => {
  expect(on(source)).toMatchObject({ result, absent: [], error: undefined });
});

test.each([
  // An absent part leaves the whole open, unless the present ones decide it.
  ["args.gone > 1.0", undefined, ["args.gone"]],
  ["!(args.gone > 1.0)", undefined, ["args.gone"]],
  ["args.gone > 1.0 || args.amount > 1.0", true, ["args.gone"]],
  ["args.gone > 1.0 && args.amount > 1.0", undefined, ["args.gone"]],
  ["args.gone > 1.0 && args.amount < 1.0", false, ["args.gone"]],
  ["args.gone.deeper == 1.0", undefined, ["args.gone"]],
  ["args.maybe.deeper == 1.0", undefined, ["args.maybe.deeper"]],
  ["args.payee.bic == 'x' || args['no such'] == 'y'", undefined, ["args.payee.bic", 'args["no such"]']],
  ["args.tags[2] == 'c'", undefined, ["args.tags[2]"]],
  ["args.payee[args.text] == 'c'", undefined, ["args.payee[…]"]],
  ["(args.gone ? 1 : 2) == 1", undefined, ["args.gone"]],
  ["args.gone in ['a'] || [args.gone] == ['a']", undefined, ["args.gone"]],
  ["args.items.exists(i, i.count == 2)", true, []],
  ["args.items.exists(i, i.count == 3)", undefined, ["i.count"]],
  ["args.items.all(i, i.count == 2)", undefined, ["i.count"]],
  ["args.items.all(i, i.price > 100.0 && i.count == 2)", false, []],
  ["args.items.filter(i, i.count == 2).size() == 1", undefined, ["i.count"]],
  ["args.items.map(i, i.count).size() == 2", undefined, ["i.count"]],
  ["args.items.exists_one(i, i.count == 2)", undefined, ["i.count"]],
  ["args.gone.exists(i, true)", undefined, ["args.gone"]],
])("%s comes to %s, reading %j absent", (source, result, absent) => {
  expect(on(source)).toMatchObject({ result, absent, error: undefined });
});

test.each([
  ["args.amount > 'x' || true", "> does not go with a number and a text"],
  ["true || args.amount > 'x'", undefined],
  ["args.maybe > 1.0 || args.ok", "> does not go with null and a number"],
  ["args.any.n % 2.0 == 1.0", "% does not go with a number and a number"],
  ["args.n + args.amount > 1.0", "+ does not go with a whole number and a number"],
  ["args.n / 0 == 1", "a whole number is divided by zero"],
  ["args.n * 9223372036854775807 > 1", "a whole number is out of range"],
  ["args.amount.deeper == 1.0", "a number has no fields"],
  ["args.text && args.ok", "&& does not go with a text"],
  ["args.amount", "comes to a number, not to true or false"],
  ["args.text ? true : false", "?: does not go with a text"],
  ["int(args.text) == 1", "int() cannot make a whole number of this: a text"],
  ["double('0x10') == 16.0", "double() cannot make a number of this: a text"],
  ["int(1e300) == 1", "int() cannot make a whole number of this: a number"],
  ["timestamp(args.text) > now", "timestamp() cannot read this: a text"],
  ["now + duration(args.text) > now", "duration() cannot read this: a text"],
  ["now + duration('80000000h') > now", "a time is out of range"],
  ["args.tags['a'] == 'a'", "a list has no fields"],
  ["args.tags[0.5] == 'a'", "a list has no place a number"],
  ["args.amount.exists(i, true)", "exists() does not go with a number"],
  ["args.items.exists(i, i.price)", "exists() does not go with a number"],
  ["args.n in args.amount", "in does not go with a whole number and a number"],
  ["calls.window('20m') > 1", "the calls it counts have not been counted"],
  ["environment == 'production'", "environment is not known at this point"],
  ["args.gone > 1.0 || args.amount > 'x'", "> does not go with a number and a text"],
])("%s fails: %s", (source, error) => {
  expect(on(source).error).toBe(error);
});

test("an error leaves no result, so that nothing can take it for a no", () => {
  expect(on("args.maybe > 1.0")).toMatchObject({ result: undefined, error: "> does not go with null and a number" });
});

test("digits past a double's precision count, whatever the schema says of the number", () => {
  const parsed = parseJson('{"big": 9007199254740993, "amount": 9007199254740993}', { depthMax: 4 });
  const given = parsed.ok ? parsed.value : undefined;
  expect(on("args.big == 9007199254740993 && args.big % 2 == 1", given).result).toBe(true);
  expect(on("args.amount == 9007199254740993", given).result).toBe(true);
  expect(on("args.amount in [9007199254740993]", given).result).toBe(true);
  expect(on("args.amount > 9007199254740992", given).result).toBe(true);
  expect(on('string(args.amount) == "9007199254740993"', given).result).toBe(true);
  expect(on("args.amount == 9007199254740992.0", given).result).toBe(false);
  expect(on("args.n == 2", { n: 2.0 }).result).toBe(true);
  expect(on("args.n == 100000000000000000000.0", { n: 1e20 }).result).toBe(true);
});

test("where both kinds of number can stand, and where nothing is known, a number is a double", () => {
  expect(
    [unknownArgs, untyped, inputShape({ type: "integer" }), inputShape({ type: "number" })].map((shape) =>
      bind(3, shape),
    ),
  ).toEqual([3, 3, 3n, 3]);
});

test("work is bounded by the steps, whatever the arguments are", () => {
  const tooMany = "takes too many steps: the arguments are too large for this condition";
  const items = Array.from({ length: 100_000 }, () => ({ price: 1 }));
  expect(on("args.items.exists(i, i.price > 5.0)", { items }).error).toBe(tooMany);
  expect(on("args.tags == args.any", { tags: Array(60_000).fill("a"), any: Array(60_000).fill("a") }).error).toBe(
    tooMany,
  );
  expect(on("'z' in args.tags", { tags: Array(60_000).fill("a") }).error).toBe(tooMany);
  expect(
    on("args.tags.filter(t, args.text.contains(t)).size() > 1", {
      text: "x".repeat(60_000),
      tags: Array(200).fill("y"),
    }).error,
  ).toBe(tooMany);
  expect(on("args.text.matches('(a|b|ab)*c$')", { text: "ab".repeat(500_000) }).error).toBe(tooMany);
  expect(on("args.text.matches('(a|b|ab)*c$')", { text: "ab".repeat(10_000) }).result).toBe(false);
  expect(on("args.text + args.text + args.text != ''", { text: "x".repeat(600_000) }).error).toBe(
    "a text becomes too long",
  );
});
