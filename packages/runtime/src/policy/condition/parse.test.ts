// What the condition language takes and what it refuses, with the words it refuses it in.
import { expect, test } from "vitest";
import { policyBounds } from "../bounds.ts";
import { parseCondition } from "./parse.ts";
import { textOf } from "./text.ts";

function said(source: string): string {
  const parsed = parseCondition(source);
  if (parsed.ok) return textOf(parsed.root);
  return parsed.problems
    .map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`))
    .join(" | ");
}

test.each([
  ["args.amount > 1000.0 || !has(args.payee)", "args.amount > 1000.0 || !has(args.payee)"],
  ["((args.a))", "args.a"],
  ["args.a && args.b || args.c && args.d", "args.a && args.b || args.c && args.d"],
  ["args.a && (args.b || args.c) && args.d", "args.a && (args.b || args.c) && args.d"],
  ["args.a || args.b || args.c || args.d", "args.a || args.b || args.c || args.d"],
  ["args['pay ee'] == args[\"b\"]", 'args["pay ee"] == args.b'],
  ["1 + 2 * 3 - (4 - 5)", "1 + 2 * 3 - (4 - 5)"],
  ["(1 + 2) * 3", "(1 + 2) * 3"],
  ["-args.n", "-args.n"],
  ["!(args.a == 1)", "!(args.a == 1)"],
  ["args.a ? args.b : args.c ? 1 : 2", "args.a ? args.b : args.c ? 1 : 2"],
  ["args.items.exists(i, i.price > 2.5)", "args.items.exists(i, i.price > 2.5)"],
  ["args.items.map(i, i.ok, i.price)[0] == 1.0", "args.items.map(i, i.ok, i.price)[0] == 1.0"],
  ["args.items.existsOne(i, i == 1.0)", "args.items.exists_one(i, i == 1.0)"],
  ["args.items.filter(i, i.ok).size() == size(args.items)", "size(args.items.filter(i, i.ok)) == size(args.items)"],
  ["args.host.lowerAscii().endsWith('.example.com')", 'args.host.lowerAscii().endsWith(".example.com")'],
  ["now.getHours('Europe/Berlin') < 8", 'now.getHours("Europe/Berlin") < 8'],
  [
    "now - timestamp('2026-01-01T00:00:00Z') > duration('1h')",
    'now - timestamp("2026-01-01T00:00:00.000Z") > duration("1h")',
  ],
  [
    "calls.window('10m') > 5 || calls.turn > 1 || calls.session > 9",
    'calls.window("10m") > 5 || calls.turn > 1 || calls.session > 9',
  ],
  ["'finance' in principal.roles", '"finance" in principal.roles'],
  [
    "tool.labels.tier == 'gold' && tool.class != 'read_only'",
    'tool.labels.tier == "gold" && tool.class != "read_only"',
  ],
])("%s reads as %s", (source, text) => {
  expect(said(source)).toBe(text);
});

test.each([
  ["args.amont >", /^is no condition: .*/],
  ["", /^is no condition/],
  [
    "x.a == 1",
    /^"x" is no variable \(variables: args, tool, principal, agent, tenant, project, environment, context, now, calls\)$/,
  ],
  ["argss.a == 1", /^"argss" is no variable \(did you mean "args"\?\)$/],
  ["tool.nmae == 'x'", /^tool has no "nmae" \(did you mean "name"\?\)$/],
  ["tool == 'x'", /^tool stands alone \(name one of name, version, class, labels\)$/],
  ["principal['name'] == principal.email", /^principal has no "email"/],
  ["calls.day > 5", /^calls has no "day" \(it has turn, session, window\)$/],
  ["calls.window > 5", /^calls.window stands without a length/],
  ["calls.window(args.w) > 5", /^calls.window\(\) needs a length in quotes/],
  ["calls.window('10') > 5", /^calls.window\("10"\) is not a duration/],
  ["calls.window('1ms') > 5", /^calls.window\("1ms"\) is out of range \(1 s to 7 days\)$/],
  ["calls.count('1m') > 5", /^calls has no "count"/],
  [
    "['1m','2m','3m','4m','5m'].size() > 0 && calls.window('1m') + calls.window('2m') + calls.window('3m') + calls.window('4m') + calls.window('5m') > 1",
    /^counts calls in more than 4 windows$/,
  ],
  ["has(args)", /^has\(\) is given something else than a field \(like has\(args.payee\)\)$/],
  ["has(args['a'])", /^has\(\) is given something else than a field/],
  ["has(tool.name)", /^has\(tool.name\) asks for what is always there$/],
  ["args.a.contain('x')", /^"contain" is no function that a condition can use \(did you mean "contains"\?\)$/],
  ["now() > 1", /^"now" is no function/],
  ["type(args.a) == string", /"type" is no function/],
  [
    "contains(args.a, 'x')",
    /^contains\(\) is not called as it should be \(it is a method of a text with 1 argument\)$/,
  ],
  ["args.a.int() == 1", /^int\(\) is not called as it should be \(it is a function with 1 argument\)$/],
  ["size(args.a, args.b) == 1", /^size\(\) is not called as it should be/],
  ["args.items.exists(i.x, true)", /^exists\(\) is not called as it should be/],
  ["args.items.exists(i, args.more.exists(j, j == i))", /^has exists\(\) inside another loop/],
  ["args.items.filter(i, i.ok).exists(j, j.ok)", /^has filter\(\) inside another loop/],
  ["args.items.exists(args, true)", /^calls a loop's variable args, which is a variable already/],
  ["args.items.exists(i, true) && i == 1", /^"i" is no variable/],
  ["{'a': 1}.a == 1", /^builds a map or a message/],
  ["google.protobuf.Duration{} == 1", /^builds a map or a message/],
  ["b'x' == args.a", /^has a value that is not accepted/],
  ["1u == args.a", /^has a value that is not accepted/],
  ["9223372036854775808 == args.a", /^9223372036854775808 is out of range for an int/],
  ["1e999 == args.a", /^has a value that is not accepted/],
  ["args.a.matches(args.b)", /^matches\(\) needs a pattern in quotes/],
  ["args.a.matches('(?=x)')", /^has a pattern that is not accepted: /],
  ["args.a.matches('(.{1,1000}){1,5}')", /^has a pattern that is (too large|not accepted)/],
  ["args.a.matches('x{1,1000}y{1,1000}')", /^has a pattern that is too large/],
  ["now.getHours('Mars/Olympus') < 8", /^"Mars\/Olympus" is no time zone/],
  ["now.getHours(args.zone) < 8", /^getHours\(\) needs a time zone in quotes/],
  ["now > timestamp('yesterday')", /^"yesterday" is no timestamp \(like 2026-03-01T08:00:00Z\)$/],
  ["now - now > duration('soon')", /^"soon" is no duration/],
  ["tool.nmae == 'x' || argss.a == 1", /^tool has no "nmae".* \| "argss" is no variable/],
])("%s is refused", (source, words) => {
  expect(parseCondition(source).ok).toBe(false);
  expect(said(source)).toMatch(words);
});

test("length, parts and depth are bounded", () => {
  expect(said("a".repeat(policyBounds.conditionCharsMax + 1))).toBe("is longer than 4096 characters");
  expect(said(`args.a in [${"1,".repeat(600)}1]`)).toBe("has more than 500 parts (split it into several policies)");
  expect(said(`${"args.a+(".repeat(70)}1${")".repeat(70)} == 1`)).toBe("is nested too deeply");
  expect(said(`${"(".repeat(2_000)}1${")".repeat(2_000)}`)).toMatch(/^is nested too deeply$|^is no condition/);
});
