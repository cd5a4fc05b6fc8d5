// Conditions of policies: whatever the text and the arguments, a verdict or an error within its steps, never an exception, and soon.
import { limits, parseJson } from "@signalbox/protocol";
import fc from "fast-check";
import { policySubject, policyVersion } from "../../support/policies.ts";
import { compileCondition } from "../../../packages/runtime/src/policy/condition.ts";
import { untyped } from "../../../packages/runtime/src/policy/condition/shape.ts";
import { beginDecision, conclude, hearArgs, hearCounts } from "../../../packages/runtime/src/policy/decide.ts";
import { createPolicySet } from "../../../packages/runtime/src/policy/set.ts";
import { spoiltText } from "../mutate.ts";
import { target, within } from "../target.ts";

interface Asked {
  readonly when: string;
  /** JSON text. */
  readonly args: string;
}

const good = [
  'args.amount > 1000.0 && tool.name.startsWith("pay") && principal.roles.exists(r, r == "clerk")',
  'has(args.note) ? args.note.matches("^[a-z]{1,20}$") : size(args.items) < 10',
  'calls.window("10m") >= 3 || calls.turn > 5 || now.getHours("Europe/Berlin") < 8',
  "args.items.all(i, i.price * i.count <= 10.5) && !(args.id in [1, 2, 3])",
  'args["a b"].c[0] != null && duration("1h30m") > duration("90s")',
  'context.workflow_id == "w1" && environment != "production" && -args.n % 7 == 3',
];
const cpuMsMax = 1_000;
const now = 1_767_225_600_000;

export const conditionsTarget = target<Asked>({
  name: "conditions",
  about: "conditions of policies, and what they say of arguments",
  async open() {
    return {
      inputs: fc.record({ when: spoiltText(good), args: fc.oneof(fc.json({ maxDepth: 3 }), fc.constantFrom(...knownArgs)) }),
      check: (asked) => within(cpuMsMax, () => checkCondition(asked)),
      write: ({ when, args }) => Buffer.from(`${when}\n===\n${args}`),
      read(bytes) {
        const [when = "", args = "{}"] = Buffer.from(bytes).toString().split("\n===\n");
        return { when, args };
      },
      close: async () => undefined,
    };
  },
});

const knownArgs = [
  '{"amount":1500,"note":"abc","items":[{"price":1.5,"count":2}],"id":2,"n":9223372036854775807,"a b":{"c":[1]}}',
  '{"amount":9007199254740993,"items":[],"note":null,"n":-9223372036854775808}',
  '{"amount":"1e400","items":{"0":1},"a b":[[[]]],"id":{}}',
  "{}",
];

function checkCondition({ when, args }: Asked): void {
  const compiled = compileCondition(when);
  if (!compiled.ok) {
    if (compiled.problems.length === 0) throw new Error("is refused without a problem");
    for (const { message } of compiled.problems) if (message === "" || message.length > 400) throw new Error("a problem that cannot be told");
    return;
  }
  const read = parseJson(args, { depthMax: limits.jsonDepthMax });
  if (!read.ok) return;
  for (const decision of ["deny", "allow"] as const) checkDecision(when, decision, read.value);
}

function checkDecision(when: string, decision: "deny" | "allow", args: unknown): void {
  const set = createPolicySet([policyVersion({ when, decision, missing: null })]);
  const begun = beginDecision(set, policySubject({ context: { workflow_id: "w1" } }), now, () => 0);
  const heard = hearArgs(begun, args, untyped, () => 0);
  const windows = new Map([[600_000, 2]]);
  const { code, decision: said } = conclude(hearCounts(heard, { turn: 0, session: 0, windows }, () => 0), "dec_1", {});
  if (said.outcome === "allow" && code !== null) throw new Error(`allows with the code ${code}`);
  if (said.outcome === "deny" && code === null) throw new Error("denies without a code");
  if (said.reason.length > 500) throw new Error("gives a reason that is too long");
}
