// Spoilt documents and made-up conditions: each is refused by its place, or is a rule that lets nothing through by mistake.
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyMutations, spoil } from "../../../../test/support/mutations.ts";
import { policySubject, policyVersion } from "../../../../test/support/policies.ts";
import { inputShape } from "./condition/shape.ts";
import { beginDecision, conclude, concludeTrigger, hearArgs, hearCounts, type Judgement } from "./decide.ts";
import { compileCondition } from "./condition.ts";
import { readPolicy } from "./document.ts";
import { explain, explanationLines } from "./explain.ts";
import { lintPlaces, lintShadows, lintTools } from "./lints.ts";
import { createPolicySet } from "./set.ts";
import type { PolicyVersion, Subject } from "./types.ts";

const still = (): number => 0;
const noon = Date.UTC(2026, 2, 2, 12);
const counts = { turn: 1, session: 4, windows: new Map([[600_000, 3]]) };
const shape = inputShape({
  type: "object",
  properties: {
    amount: { type: "number" },
    payee: { type: "string" },
    n: { type: "integer" },
    list: { type: "array", items: { type: "integer" } },
  },
});
const tools = [{ name: "payments.charge", input: () => shape }];

const head = { apiVersion: "signalbox.dev/v1", kind: "Policy" };
const documents: readonly unknown[] = [
  {
    ...head,
    metadata: { name: "payments-need-a-person", version: "1.0.0", level: "tenant" },
    spec: {
      mode: "enforce",
      match: {
        tools: ["payments.*"],
        agents: ["buyer"],
        principals: ["user:*"],
        environments: ["production"],
        triggers: [],
      },
      when: "args.amount > 1000.0 || !has(args.payee)",
      missing: "match",
      then: {
        decision: "require_approval",
        reason: "Ask",
        approval: {
          route: "finance",
          approvals: 2,
          timeout: "24h",
          on_timeout: "escalate",
          escalate_to: "lead",
          on_reject: "fail",
          comprehension: true,
        },
        obligations: {
          limits: { timeout: "5s", memory: "64Mi" },
          sandbox: "microvm",
          egress: ["*.example.com:443"],
          paths: { read: ["/data"], write: [] },
        },
      },
    },
  },
  {
    ...head,
    metadata: { name: "small", version: "0.1.0-rc.1", level: "project", project: "shop" },
    spec: {
      match: { tools: ["payments.charge"] },
      when: "args.amount < 10.0 && 8 / args.n > 2",
      missing: "skip",
      then: { decision: "allow" },
    },
  },
  {
    ...head,
    metadata: { name: "attached", version: "2.0.0" },
    spec: {
      match: {},
      when: "args.list[1] > 5 || 10 % args.n == 1 || calls.window('10m') > 9",
      missing: "deny",
      then: { decision: "deny", reason: "No" },
    },
  },
  {
    ...head,
    metadata: { name: "nobody-there", version: "1.0.0", level: "tenant" },
    spec: {
      mode: "observe",
      match: { triggers: ["dispatch.no_handler", "limit.steps"] },
      then: { decision: "require_approval", reason: "Ask", approval: { route: "ops" } },
    },
  },
];
const words = [
  ..."allow deny require_approval dney enforce observe match skip platform tenant project 1.0.0 v1 5s -5s 99999h 64Mi microvm finance".split(
    " ",
  ),
  ..."payments.* pay*ments * a.b.* dispatch.no_handler limit.steps metadata spec when then decision approval obligations limits tools missing".split(
    " ",
  ),
  ..."args.amount>1.0 args.n%0==1 1/0==1 args args.a.b has(args) now.getHours()<6 calls.turn>0 f(args) [1].all(x,x>0)".split(
    " ",
  ),
];

/** Good conditions that fail or go without on some arguments. */
const conditions = fc.constantFrom<unknown>(
  undefined,
  "8 / args.n > 2",
  "args.list[2] > 0 || args.amount > 1.0",
  "int(args.payee) > 5",
  "args.list.all(x, 8 % x == 0)",
);

const number = fc.oneof(fc.integer(), fc.double({ noNaN: true }));
const anyArgs = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record(
      { amount: number, payee: fc.string(), n: fc.integer({ min: -1, max: 9 }), list: fc.array(fc.integer()) },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

function withCondition(document: unknown, when: unknown): unknown {
  const { spec, ...rest } = document as { spec: object };
  return { ...rest, spec: { ...spec, when, missing: "deny" } };
}

interface Decided {
  readonly judgement: Judgement | undefined;
  /** A rule in force could not be evaluated. */
  readonly failed: boolean;
}

function decide(
  policies: readonly PolicyVersion[],
  args: unknown,
  subject: Partial<Subject> = {},
  closed = false,
): Decided {
  const attached = policies.map(({ tenant, name }) => ({ tenant, reference: name }));
  const begun = beginDecision(
    createPolicySet(policies),
    policySubject({ agent: "buyer", attached, ...subject }),
    noon,
    still,
  );
  const heard = hearCounts(hearArgs(begun, args, shape, still), counts, still);
  const defaults = closed ? ({ tenant: "deny" } as const) : {};
  const judgement = heard.subject.trigger === null ? conclude(heard, "d", defaults) : concludeTrigger(heard, "d");
  const enforced = heard.rulings.filter(({ rule }) => rule.policy.mode === "enforce");
  // Whoever asks why gets an answer, whatever the rule is.
  expect(explanationLines(explain(heard, "d", defaults)).length).toBeGreaterThan(0);
  return { judgement, failed: enforced.some(({ because }) => because.kind === "error") };
}

/** Wall time of the slowest single step; far above what one takes, far below what a runaway would. */
function slowest(): { readonly time: <T>(work: () => T) => T; readonly check: () => void } {
  let most = 0;
  return {
    time(work) {
      const began = performance.now();
      const result = work();
      most = Math.max(most, performance.now() - began);
      return result;
    },
    check: () => expect(most).toBeLessThan(2_000),
  };
}

test("a spoilt document is refused by its place, or is a policy that fails closed", () => {
  const watch = slowest();
  const seen = { refused: 0, read: 0, failed: 0 };
  fc.assert(
    fc.property(
      fc.constantFrom(...documents),
      conditions,
      fc.option(anyMutations(words), { nil: [], freq: 2 }),
      anyArgs,
      (document, when, mutations, args) => {
        const spoilt = spoil(when === undefined ? document : withCondition(document, when), mutations);
        const owner = mutations.length % 2 === 0 ? "tenant" : "platform";
        const outcome = watch.time(() => readPolicy(spoilt, { tools, ...(mutations.length <= 1 ? {} : { owner }) }));
        if (!outcome.ok) {
          seen.refused++;
          expect(outcome.problems.length).toBeGreaterThan(0);
          expect(outcome.problems.length).toBeLessThanOrEqual(100);
          for (const { path, message } of outcome.problems) {
            expect(message).not.toBe("");
            expect(message.length + path.length).toBeLessThan(2_000);
            // Only of the document as a whole is there no place to name.
            if (path === "") expect(message).toMatch(/must be a mapping|is not|has a key|holds half|more than/);
          }
          return;
        }
        seen.read++;
        const version = { ...policyVersion(), ...outcome.policy };
        expect(["allow", "deny", "require_approval"]).toContain(version.decision);
        expect(version.approval === null).toBe(version.decision !== "require_approval");
        watch.time(() => [
          lintTools(version.match, ["payments.charge"]),
          lintPlaces(version, []),
          lintShadows(version, [policyVersion()]),
        ]);
        for (const trigger of [null, "dispatch.no_handler"] as const) {
          const { judgement, failed } = watch.time(() => decide([version], args, { trigger }));
          if (!failed) continue;
          seen.failed++;
          expect(judgement).toMatchObject({ code: "policy_error", decision: { outcome: "deny" } });
        }
      },
    ),
    { seed: 20_260_302, numRuns: 1_500 },
  );
  watch.check();
  // The generator makes all three, or the test says nothing.
  expect(Math.min(seen.refused, seen.read, seen.failed)).toBeGreaterThan(40);
});

const field = fc.constantFrom(
  "args.amount",
  "args.payee",
  "args.n",
  "args.list",
  "args.gone",
  "args.payee.deep",
  "args",
  "args['n']",
  "args.list[0]",
  "context.x",
);
const literal = fc.constantFrom("1", "0", "-3", "2.5", "'x'", "''", "true", "false", "null", "[1, 2]", "'(a+)+$'");
const other = fc.constantFrom(
  "principal.name",
  "principal.roles",
  "tool.labels.team",
  "agent",
  "environment",
  "now.getHours()",
  "now",
  "calls.turn",
  "calls.window('10m')",
  "duration('5m')",
  "timestamp('2026-03-02T12:00:00Z')",
);

/** Conditions as an author might write them, the types right or wrong. */
const { truth } = fc.letrec<{ truth: string; value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    field,
    literal,
    other,
    fc
      .tuple(tie("value"), fc.constantFrom("+", "-", "*", "/", "%"), tie("value"))
      .map(([one, sign, two]) => `(${one} ${sign} ${two})`),
    fc
      .tuple(fc.constantFrom("size", "int", "double", "string"), tie("value"))
      .map(([name, inner]) => `${name}(${inner})`),
    fc.tuple(tie("truth"), tie("value"), tie("value")).map((parts) => `(${parts[0]} ? ${parts[1]} : ${parts[2]})`),
  ),
  truth: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc
      .tuple(tie("value"), fc.constantFrom("<", ">", "==", "!=", ">=", "in"), tie("value"))
      .map(([one, sign, two]) => `${one} ${sign} ${two}`),
    fc
      .tuple(tie("truth"), fc.constantFrom("&&", "||"), tie("truth"))
      .map(([one, sign, two]) => `(${one} ${sign} ${two})`),
    tie("truth").map((inner) => `!(${inner})`),
    fc.constantFrom(
      "has(args.gone)",
      "has(args.payee)",
      "!has(args.n)",
      "args.payee.startsWith('A')",
      "args.payee.matches('^A+$')",
    ),
    fc
      .tuple(fc.constantFrom("exists", "all"), tie("truth"))
      .map(([name, inner]) => `args.list.${name}(i, i > 2 || ${inner})`),
    field,
  ),
}));

const rule = (name: string, when: string, more: Partial<PolicyVersion> = {}): PolicyVersion =>
  policyVersion({ name, when, ...more });

test("a guard and its opposite leave nothing between them, whatever the condition and the arguments", () => {
  const watch = slowest();
  const seen = { compiled: 0, held: 0, failed: 0 };
  fc.assert(
    fc.property(truth, anyArgs, fc.constantFrom("match", "deny"), (when, args, missing) => {
      const compiled = watch.time(() => compileCondition(when));
      if (!compiled.ok) {
        expect(compiled.problems.every(({ message }) => message !== "")).toBe(true);
        return;
      }
      seen.compiled++;
      const { judgement, failed } = watch.time(() =>
        decide([rule("one", when, { missing }), rule("other", `!(${when})`, { missing })], args),
      );
      expect(judgement?.decision.outcome).toBe("deny");
      if (failed) seen.failed++;
      else if (judgement?.decision.rules.length === 1) seen.held++;
    }),
    { seed: 20_260_303, numRuns: 800 },
  );
  watch.check();
  expect(Math.min(seen.compiled, seen.held, seen.failed)).toBeGreaterThan(50);
});

test("an allow under a closed default opens on true alone; what fails, and what is absent, opens nothing", () => {
  const seen = { opened: 0, kept: 0 };
  fc.assert(
    fc.property(truth, anyArgs, fc.constantFrom("skip", "deny", null), (when, args, missing) => {
      if (!compileCondition(when).ok) return;
      const allow = decide([rule("open", when, { decision: "allow", missing })], args, {}, true);
      if (allow.judgement?.decision.outcome !== "allow") {
        seen.kept++;
        return;
      }
      seen.opened++;
      expect(allow.failed).toBe(false);
      // The very same condition on a denial must hold too, and its opposite must not.
      expect(decide([rule("shut", when, { missing })], args).judgement?.decision.outcome).toBe("deny");
      expect(
        decide([rule("open", `!(${when})`, { decision: "allow", missing })], args, {}, true).judgement?.decision
          .outcome,
      ).toBe("deny");
    }),
    { seed: 20_260_304, numRuns: 800 },
  );
  expect(Math.min(seen.opened, seen.kept)).toBeGreaterThan(50);
});

test("a condition with a character spoilt is refused, or decides without an accident", () => {
  const watch = slowest();
  const signs = fc.constantFrom(
    ..."()[]{}.,'\"\\!&|<>=%?:+-*/ \n\t0aé\u0000\u2028🚀".split(""),
    "&&",
    "||",
    "//",
    "r'",
    "0x",
    "..",
  );
  const edit = fc.record({ at: fc.nat(200), cut: fc.nat(3), put: fc.oneof(signs, fc.constant("")) });
  fc.assert(
    fc.property(truth, fc.array(edit, { minLength: 1, maxLength: 3 }), anyArgs, (when, edits, args) => {
      const text = edits.reduce((before, { at, cut, put }) => {
        const place = at % (before.length + 1);
        return before.slice(0, place) + put + before.slice(place + cut);
      }, when);
      const document = {
        ...head,
        metadata: { name: "a", version: "1.0.0", level: "tenant" },
        spec: {
          match: { tools: ["payments.*"] },
          when: text,
          missing: "deny",
          then: { decision: "deny", reason: "No" },
        },
      };
      const outcome = watch.time(() => readPolicy(document, { tools, owner: "tenant" }));
      if (!outcome.ok) {
        expect(outcome.problems.every(({ path }) => path === "spec.when" || path === "spec.missing")).toBe(true);
        return;
      }
      const { judgement, failed } = watch.time(() => decide([{ ...policyVersion(), ...outcome.policy }], args));
      if (failed) expect(judgement).toMatchObject({ code: "policy_error", decision: { outcome: "deny" } });
    }),
    { seed: 20_260_305, numRuns: 1_000 },
  );
  watch.check();
});
