// What a scheduling text means, and which key a call has by its arguments.
import { describe, expect, test } from "vitest";
import { preparedCall } from "../../../../../test/support/batches.ts";
import { conflict, readScheduling, wantedBy } from "./scheduling.ts";

describe("texts", () => {
  test.each([
    ["parallel", { mode: "parallel" }],
    ["exclusive", { mode: "exclusive" }],
    ["serial", { mode: "serial", pieces: [] }],
    ["serial(args.account)", { mode: "serial", pieces: [{ path: ["account"] }] }],
    ["serial({args.account})", { mode: "serial", pieces: [{ path: ["account"] }] }],
    ["serial({ args.to.account })", { mode: "serial", pieces: [{ path: ["to", "account"] }] }],
    ["serial(ledger)", { mode: "serial", pieces: [{ text: "ledger" }] }],
    ["serial(bank {args.bank}/{args.account}.)", { mode: "serial", pieces: [{ text: "bank " }, { path: ["bank"] }, { text: "/" }, { path: ["account"] }, { text: "." }] }],
  ])("%s", (text, meaning) => {
    expect(readScheduling(text)).toEqual(meaning);
  });

  test.each(["", "serially", "serial()", "serial({args})", "serial({account})", "serial({args.})", "serial({args.a)", "serial(args.a})", "serial({{args.a}})", "Parallel", " parallel", "serial(a)b"])(
    "%s is none, and the call is taken for exclusive",
    (text) => {
      expect(readScheduling(text)).toBeUndefined();
      expect(wantedBy(preparedCall(0, text))).toEqual({ all: true });
    },
  );
});

describe("keys", () => {
  const key = (scheduling: string, args: unknown) => {
    const wanted = wantedBy(preparedCall(0, scheduling, args));
    return wanted.all ? "everything" : wanted.key;
  };

  test.each([
    ["serial(args.account)", { account: "acct_7" }, "key acct_7"],
    ["serial(bank {args.bank}/{args.account})", { bank: "N26", account: 12 }, "key bank N26/12"],
    ["serial({args.to.0.iban})", { to: [{ iban: "DE1" }] }, "key DE1"],
    ["serial({args.where})", { where: { b: 2, a: [1, null, true] } }, 'key {"a":[1,null,true],"b":2}'],
    ["serial({args.account})", {}, "key (missing)"],
    ["serial({args.account})", { account: "" }, "key "],
    ["serial({args.account})", { account: null }, "key null"],
    ["serial({args.account.id})", { account: "text" }, "key (missing)"],
    ["serial({args.toString})", {}, "key (missing)"],
    ["serial({args.account})", [], "key (missing)"],
    ["serial(ledger)", { account: 1 }, "key ledger"],
    ["serial", { account: 1 }, "tool shop.tool-0"],
    ["parallel", {}, null],
    ["exclusive", {}, "everything"],
  ])("%s of %j is %s", (scheduling, args, expected) => {
    expect(key(scheduling, args)).toBe(expected);
  });

  test("numbers keep their digits, and arguments that cannot be read have no field", () => {
    const of = (argsJson: string | null) => wantedBy(preparedCall(0, "serial({args.n})", {}, { argsJson }));
    expect(of('{"n":9007199254740993}')).toEqual({ all: false, key: "key 9007199254740993" });
    expect(of('{"n":9007199254740992}')).toEqual({ all: false, key: "key 9007199254740992" });
    expect(of("{")).toEqual({ all: false, key: "key (missing)" });
    expect(of(null)).toEqual({ all: false, key: "key (missing)" });
  });

  test("plain serial is one key for a tool; a template's key is the same for every tool", () => {
    const plain = (tool: string) => wantedBy(preparedCall(0, "serial", {}, { tool }));
    const template = (tool: string) => wantedBy(preparedCall(0, "serial(args.account)", { account: "a" }, { tool }));
    expect(conflict(plain("pay"), plain("pay"))).toBe(true);
    expect(conflict(plain("pay"), plain("refund"))).toBe(false);
    expect(conflict(template("pay"), template("refund"))).toBe(true);
    expect(conflict(plain("a"), wantedBy(preparedCall(0, "serial(a)")))).toBe(false);
  });
});

test("who conflicts with whom", () => {
  const [everything, nothing, a, b] = [{ all: true } as const, { all: false, key: null } as const, { all: false, key: "a" } as const, { all: false, key: "b" } as const];
  expect([everything, nothing, a, b].map((one) => [everything, nothing, a, b].map((other) => conflict(one, other)))).toEqual([
    [true, true, true, true],
    [true, false, false, false],
    [true, false, true, false],
    [true, false, false, true],
  ]);
});
