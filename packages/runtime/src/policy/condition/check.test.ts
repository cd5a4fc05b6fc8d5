// The check of types: what a tool's schema makes of a condition when it is published.
import { expect, test } from "vitest";
import { checkCondition, compileCondition } from "../condition.ts";
import { inputShape } from "./shape.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  required: ["amount", "currency", "to"],
  properties: {
    amount: { type: "number" },
    n: { type: "integer" },
    currency: { enum: ["EUR", "USD"] },
    payee: { type: "string" },
    note: { type: ["string", "null"] },
    to: {
      type: "object",
      additionalProperties: false,
      required: ["iban"],
      properties: { iban: { type: "string" }, bic: { type: "string" } },
    },
    items: { type: "array", items: { type: "object", required: ["price"], properties: { price: { type: "number" } } } },
    from: { type: "object", properties: { iban: { type: "string" } } },
    extra: {},
  },
};

function checked(source: string): string[] {
  const compiled = compileCondition(source);
  if (!compiled.ok) return compiled.problems.map(({ message }) => `refused: ${message}`);
  const { problems, warnings, mayBeAbsent, unknown } = checkCondition(compiled.condition, inputShape(schema));
  return [
    ...problems.map(({ message, hint }) => `problem: ${message}${hint === undefined ? "" : ` (${hint})`}`),
    ...warnings.map(({ message, hint }) => `warning: ${message}${hint === undefined ? "" : ` (${hint})`}`),
    ...mayBeAbsent.map((path) => `absent: ${path}`),
    ...unknown.map(({ path, hint }) => `unknown: ${path}${hint === undefined ? "" : ` (${hint})`}`),
  ];
}

test.each([
  [
    "args.amount > 1000.0 && args.to.iban != '' && args.items.size() > 1 && args.payee == 'x'",
    ["absent: args.items", "absent: args.payee"],
  ],
  ["args.amount > 1000", []],
  // has() and comparisons with null are understood, to either side and through negation.
  ["has(args.payee) && args.payee == 'x'", []],
  ["!has(args.payee) || args.payee == 'x'", []],
  ["has(args.payee) ? args.payee == 'x' : true", []],
  ["has(args.payee) || args.payee == 'x'", ["absent: args.payee"]],
  ["!(has(args.payee) && args.amount > 1.0) || args.payee == 'x'", []],
  ["'payee' in args && args.payee == 'x'", []],
  ["has(args.payee) && (args.amount > 5.0 || args.payee == 'x')", []],
  ["(has(args.payee) || args.amount > 5.0) && args.payee == 'x'", ["absent: args.payee"]],
  ["args.payee == 'x' && has(args.payee)", ["absent: args.payee"]],
  ["has(args.note) && args.note != null && args.note.startsWith('a')", []],
  [
    "has(args.note) && args.note.startsWith('a')",
    ["warning: args.note may be null, with which startsWith() does not go: the call is then denied"],
  ],
  ["has(args.to.bic) && args.to.bic.size() == 8", []],
  ["args.items.exists(i, i.price > 1.0 && has(i.sku) && i.sku == 'x')", ["absent: args.items"]],
  ["has(args.items) && args.items.all(i, i.sku == 'x')", ["absent: i.sku"]],
  ["has(args.from.iban) && args.from.iban == 'x' && args.from != null", []],
  ["has(args.from) && args.from.iban == 'x'", ["absent: args.from.iban"]],
  ["has(args.items) && args.items.map(i, has(i.sku), i.sku) == ['x']", []],
  ["has(args.items) && args.items[0].price > 1.0", ["absent: args.items[0]"]],
  ["has(args.extra) && args.extra == 'x'", []],
  ["has(args.extra) && args.extra > 5", []],
  ["context.ticket == 'x'", ["absent: context.ticket"]],
  ["tool.labels.tier == 'gold'", ["absent: tool.labels.tier"]],
  // Misspelt, also where only its presence is asked for.
  ["args.amont > 1000.0", ['unknown: args.amont (did you mean "amount"?)']],
  ["!has(args.paye)", ['unknown: args.paye (did you mean "payee"?)']],
  ["'paye' in args", ['unknown: args.paye (did you mean "payee"?)']],
  ["args.to.swift == 'x'", ["unknown: args.to.swift (it has iban, bic)"]],
  // Types that never fit.
  [
    "args.amount > '1000'",
    [
      'problem: > does not go with args.amount (a number) and "1000" (a text) (write a text in quotes and a number without)',
    ],
  ],
  [
    "args.amount == '1000'",
    ['problem: args.amount (a number) is never equal to "1000" (a text) (write a text in quotes and a number without)'],
  ],
  [
    "args.amount % 2 == 0",
    [
      "problem: % does not go with args.amount (a number) and 2 (a whole number) (whole numbers and other numbers do not mix: write 2.0 for 2, or double(…) or int(…) around one of them)",
    ],
  ],
  ["has(args.n) && args.n % 2 == 0", []],
  [
    "args.amount * 2 > 1.0",
    [
      "problem: * does not go with args.amount (a number) and 2 (a whole number) (whole numbers and other numbers do not mix: write 2.0 for 2, or double(…) or int(…) around one of them)",
    ],
  ],
  [
    "args.amount.startsWith('1')",
    [
      'problem: startsWith() does not go with args.amount (a number) and "1" (a text) (write a text in quotes and a number without)',
    ],
  ],
  ["args.currency.exists(c, true)", ["problem: exists() goes over lists and mappings; args.currency is a text"]],
  ["args.amount.value > 1.0", ["problem: args.amount has no fields: it is a number"]],
  ["args.amount && args.currency == 'EUR'", ["problem: args.amount is a number, where true or false is needed"]],
  ["args.amount", ["problem: comes to a number, not to true or false (compare it with something)"]],
  ["args.amount in [1, 2.5, 'x']", ['problem: args.amount (a number) is never "x"']],
  [
    "args.amount in args.to.iban",
    [
      "problem: in does not go with args.amount (a number) and args.to.iban (a text) (write a text in quotes and a number without)",
    ],
  ],
  ["args.currency[0] == 'E'", ["problem: args.currency[0] does not work: a text, at a whole number"]],
  ["args.amount != null && args.currency == null", []],
  ["args.currency == 'EURO'", ['warning: args.currency is never "EURO" (did you mean "EUR"?)']],
  ["args.currency in ['EUR', 'GBP']", ['warning: args.currency is never "GBP" (it is one of EUR, USD)']],
  ["tool.class == 'readonly'", ['refused: tool.class is never "readonly"']],
  ["tool.name > 5", ["refused: > does not go with tool.name (a text) and 5 (a whole number)"]],
  ["now > '2026'", ['refused: > does not go with now (a timestamp) and "2026" (a text)']],
  ["calls.turn > 1.5", []],
  ["principal.roles == 'x'", ['refused: principal.roles (a list) is never equal to "x" (a text)']],
  [
    "principal.name in principal.roles && 5 in principal.roles",
    ["refused: 5 (a whole number) is never in principal.roles"],
  ],
])("%s: %j", (source, expected) => {
  expect(checked(source)).toEqual(expected);
});

test("without a schema every field of the arguments may be absent, and either kind of number", () => {
  const compiled = compileCondition("args.n % 2 == 0 || args.a.b > 1.5 || has(args.c)");
  expect(compiled).toMatchObject({
    ok: true,
    condition: {
      readsArgs: true,
      argPaths: ["args.n", "args.a.b", "args.c"],
      mayBeAbsent: ["args.n", "args.a", "args.a.b"],
      countsCalls: false,
    },
  });
});

test("what must be counted is known beforehand", () => {
  const compiled = compileCondition(
    "calls.window('10m') > 1 || calls.window('1m') > 1 || calls.window('600s') > 2 || calls.turn > 1",
  );
  expect(compiled).toMatchObject({
    ok: true,
    condition: {
      readsArgs: false,
      countsCalls: true,
      counts: { turn: true, session: false, windowsMs: [60_000, 600_000] },
    },
  });
});
