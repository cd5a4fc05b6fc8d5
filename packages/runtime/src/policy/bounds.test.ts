// Every bound on what a policy, a condition or a file of cases may say: exactly that much is taken, and one more is refused.
import { describe, expect, test } from "vitest";
import { policySubject, policyVersion } from "../../../../test/support/policies.ts";
import { readCases } from "./cases.ts";
import { compileCondition } from "./condition.ts";
import { beginDecision, conclude } from "./decide.ts";
import { readPolicy } from "./document.ts";
import { createPolicySet } from "./set.ts";

type Fields = Readonly<Record<string, unknown>>;

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const nested = (levels: number): unknown => times(levels, () => 0).reduce<unknown>((inner) => [inner], 1);
const text = (size: number): string => "a".repeat(size);
const dayMs = 86_400_000;

function document(spec: Fields, metadata: Fields = {}): Fields {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Policy",
    metadata: { name: "rule", version: "1.0.0", level: "tenant", ...metadata },
    spec: { match: { tools: ["pay"] }, then: { decision: "deny", reason: "no" }, ...spec },
  };
}

function problemsOf(policy: unknown): readonly string[] {
  const outcome = readPolicy(policy);
  return outcome.ok ? [] : outcome.problems.map(({ path, message }) => `${path} ${message}`);
}

const asking = (approval: Fields): Fields =>
  document({ then: { decision: "require_approval", reason: "look", approval: { route: "finance", ...approval } } });
const naming = (match: Fields): Fields => document({ match });
const obliging = (limits: Fields): Fields =>
  document({ then: { decision: "allow", obligations: { limits } }, match: { tools: ["pay"] } });

describe("documents", () => {
  test.each<[string, number, (size: number) => unknown, string]>([
    ["nameCharsMax", 128, (size) => document({}, { name: text(size) }), "metadata.name is longer than 128 characters"],
    [
      "reasonCharsMax",
      500,
      (size) => document({ then: { decision: "deny", reason: text(size) } }),
      "spec.then.reason is longer than 500 characters",
    ],
    [
      "patternCharsMax",
      256,
      (size) => naming({ tools: [text(size)] }),
      "spec.match.tools[0] is longer than 256 characters",
    ],
    [
      "listItemsMax",
      256,
      (size) => naming({ tools: times(size, (at) => `t${at}`) }),
      "spec.match.tools has more than 256 entries",
    ],
    [
      "roleCharsMax",
      128,
      (size) => asking({ route: text(size) }),
      "spec.then.approval.route is longer than 128 characters",
    ],
    ["approvalsMax", 16, (size) => asking({ approvals: size }), "spec.then.approval.approvals must be at most 16"],
    [
      "approvalTimeoutMsMax",
      30 * dayMs,
      (size) => asking({ timeout: `${size}ms` }),
      "spec.then.approval.timeout must be at most 30 days",
    ],
    [
      "runTimeoutMsMax",
      dayMs,
      (size) => obliging({ timeout: `${size}ms` }),
      "spec.then.obligations.limits.timeout must be at most 24 h",
    ],
  ])("%s", (_name, most, make, problem) => {
    expect(problemsOf(make(most))).toEqual([]);
    expect(problemsOf(make(most + 1))).toEqual([problem]);
  });

  test("approvalTimeoutMsMin: a second is a time in which a person can decide, less is not", () => {
    expect(problemsOf(asking({ timeout: "1s" }))).toEqual([]);
    expect(problemsOf(asking({ timeout: "999ms" }))).toEqual(["spec.then.approval.timeout must be at least 1 s"]);
  });

  test("approvalTimeoutMs: a day where a policy says nothing of it", () => {
    const outcome = readPolicy(asking({}));
    expect(outcome.ok && outcome.policy.approval?.timeoutMs).toBe(dayMs);
  });

  test("documentDepthMax: 16 levels are looked at, one more is not", () => {
    // The document, its `spec`, its `match`, and then the lists: what is no text is refused by its place.
    const deep = (levels: number): unknown => naming({ tools: nested(levels - 3) });
    expect(problemsOf(deep(16))).toEqual(["spec.match.tools[0] must be text, not a list"]);
    expect(problemsOf(deep(17)).join()).toContain("is nested more than 16 levels deep");
  });

  test("documentValuesMax: 5 000 values are looked at, one more is not", () => {
    // Beside the entries of the list there are 13 values.
    const wide = (values: number): unknown => naming({ tools: times(values - 13, () => "pay") });
    expect(problemsOf(wide(5_000))[0]).toBe("spec.match.tools has more than 256 entries");
    expect(problemsOf(wide(5_001))).toEqual([" has more than 5000 values"]);
  });
});

describe("conditions", () => {
  const told = (source: string): string => {
    const compiled = compileCondition(source);
    return compiled.ok ? "" : compiled.problems.map(({ message }) => message).join("; ");
  };
  /** `true`, so many characters long. */
  const padded = (chars: number): string => `true${" ".repeat(chars - 4)}`;
  const windows = (count: number): string =>
    times(count, (at) => `calls.window("${at + 1}m") > 1`).join(" || ");
  const matching = (pattern: string): string => `args.a.matches("${pattern}")`;

  test.each<[string, number, (size: number) => string, string]>([
    ["conditionCharsMax", 4_096, padded, "is longer than 4096 characters"],
    [
      "conditionNodesMax",
      500,
      // A list of numbers beside its membership: the operator, what is sought, the list, and the numbers.
      (size) => `1 in [${times(size - 3, () => "1").join()}]`,
      "has more than 500 parts",
    ],
    // The whole, the operator, `args`, and a level for each field.
    ["conditionDepthMax", 64, (size) => `args${".a".repeat(size - 3)} == 1`, "is nested too deeply"],
    ["matchPatternCharsMax", 512, (size) => matching(text(size)), "has a pattern of more than 512 characters"],
    ["windowsPerConditionMax", 4, windows, "counts calls in more than 4 windows"],
    [
      "windowMsMax",
      7 * dayMs,
      (size) => `calls.window("${size}ms") > 1`,
      'calls.window("604800001ms") is out of range',
    ],
  ])("%s", (_name, most, make, problem) => {
    expect(told(make(most))).toBe("");
    expect(told(make(most + 1))).toContain(problem);
  });

  test("windowMsMin: a window of a second is one, of less it is not", () => {
    expect(told('calls.window("1s") > 1')).toBe("");
    expect(told('calls.window("999ms") > 1')).toContain("is out of range");
  });

  test("matchProgramMax: 3 000 instructions are compiled, more are not", () => {
    expect(told(matching("a{1000}b{900}c{900}"))).toBe("");
    expect(told(matching("a{1000}b{1000}c{1000}d{100}"))).not.toBe("");
  });

  test("problemCharsMax: a problem is told in 400 characters", () => {
    const longest = (chars: number): number => told(`nosuchname.${text(chars)} == 1`).length;
    expect(longest(4_000)).toBeLessThanOrEqual(400);
  });
});

describe("decisions", () => {
  const rule = (at: number) =>
    policyVersion({ name: `rule-${at}`, when: "context.list.all(x, x >= 0)", missing: "deny", decision: "allow" });
  /** What so many rules, each over so many numbers, come to: all of them would hold. */
  const judged = (rules: number, numbers: number) => {
    const subject = policySubject({ context: { list: times(numbers, (at) => at) } });
    const begun = beginDecision(createPolicySet(times(rules, rule)), subject, 0, () => 0);
    return { steps: begun.stepsLeft, code: conclude(begun, "dec_1", {}).code };
  };
  const stepsOf = (numbers: number): number => 100_000 - judged(1, numbers).steps;
  /** The longest list that one rule can look through. */
  const longest = (): number => {
    const [base, step] = [stepsOf(0), stepsOf(1) - stepsOf(0)];
    return Math.floor((25_000 - base) / step);
  };

  test("evaluationStepsMax: a rule that takes 25 000 steps is heard, one that takes more denies", () => {
    const numbers = longest();
    expect(stepsOf(numbers)).toBeLessThanOrEqual(25_000);
    expect(judged(1, numbers).code).toBeNull();
    expect(judged(1, numbers + 1).code).toBe("policy_error");
  });

  test("decisionStepsMax: rules that take 100 000 steps together are heard, a further one denies", () => {
    const quarter = longest();
    expect(judged(4, quarter).code).toBeNull();
    const fifth = judged(5, quarter);
    expect([fifth.steps, fifth.code]).toEqual([0, "policy_error"]);
  });

  test("textCharsMax: a text of 1 Mi characters is put together, one more is not", () => {
    const when = 'context.a + context.b != ""';
    const code = (chars: number) => {
      const subject = policySubject({ context: { a: text(chars - 10), b: text(10) } });
      const set = createPolicySet([policyVersion({ when, missing: "deny", decision: "deny" })]);
      return conclude(beginDecision(set, subject, 0, () => 0), "dec_1", {}).code;
    };
    expect(code(1_048_576)).toBe("forbidden");
    expect(code(1_048_577)).toBe("policy_error");
  });
});

describe("cases", () => {
  const cases = (count: number): unknown => ({
    cases: times(count, (at) => ({ name: `case ${at}`, call: { tool: "pay" }, expect: { decision: "allow" } })),
  });
  const told = (document: unknown): readonly string[] => {
    const outcome = readCases(document, "acme");
    return outcome.ok ? [] : outcome.problems.map(({ path, message }) => `${path} ${message}`);
  };

  test("casesMax: 1 000 cases are run at once, one more is refused", () => {
    expect(told(cases(1_000))).toEqual([]);
    expect(told(cases(1_001))).toEqual(["cases has more than 1000 entries"]);
  });

  test("caseTextCharsMax: a case's name has 200 characters, and no more", () => {
    const called = (chars: number): unknown => ({
      cases: [{ name: text(chars), call: { tool: "pay" }, expect: { decision: "allow" } }],
    });
    expect(told(called(200))).toEqual([]);
    expect(told(called(201))).toEqual(["cases[0].name is longer than 200 characters"]);
  });
});
