// An agent's manifest: what is read, with every default, and every way to be wrong with its path.
import { describe, expect, test } from "vitest";
import { parseDocument } from "../yaml.ts";
import { agentText, readAgent, wholeAgent } from "./manifest.ts";
import { looserThanTool } from "./tighten.ts";

type Fields = Record<string, unknown>;

const metadata = { name: "support", version: "1.0.0", owner: "team-help", description: "Helps customers" };
const model = { provider: "anthropic", name: "some-model" };
const charge = { tool: "payments.charge@1.0.0" };

/** A small correct manifest with parts replaced; undefined takes a key out. */
function agent(changes: { metadata?: Fields; spec?: Fields; top?: Fields } = {}): Fields {
  const kept = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return kept({
    apiVersion: "signalbox.dev/v1",
    kind: "Agent",
    metadata: kept({ ...metadata, ...changes.metadata }),
    spec: kept({ model, instructions: "Be kind.", ...changes.spec }),
    ...changes.top,
  });
}

function problemsOf(document: unknown): readonly string[] {
  const outcome = readAgent(document);
  return outcome.ok ? [] : outcome.problems.map(({ path, message, hint }) => `${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`);
}

const refused = (spec: Fields): readonly string[] => problemsOf(agent({ spec }));
const bound = (...tools: Fields[]): readonly string[] => refused({ tools });
const limited = (limits: Fields): readonly string[] => refused({ limits });

function specOf(spec: Fields) {
  const outcome = readAgent(agent({ spec }));
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.problems));
  return outcome.spec;
}

test("the smallest manifest, with every default", () => {
  expect(readAgent(agent())).toEqual({
    ok: true,
    metadata: { ...metadata, labels: {} },
    spec: {
      model: { provider: "anthropic", name: "some-model", maxOutputTokens: 4_096, temperature: undefined },
      instructions: "Be kind.",
      tools: [],
      defaultPolicies: [],
      permissions: ["*"],
      limits: {
        stepsMax: 20,
        tokensMax: 200_000,
        wallClockMsMax: 600_000,
        toolCallsMax: 50,
        approvalWaitMsMax: 86_400_000,
        concurrentCallsMax: 8,
        onLimit: "halt",
      },
      secrets: {},
    },
    warnings: [],
  });
});

test("everything said, in YAML", () => {
  const parsed = parseDocument(`
apiVersion: signalbox.dev/v1
kind: Agent
metadata: { name: support, version: 2.1.0-rc.1, owner: team-x, description: "Answers", labels: { team: help } }
spec:
  model: { provider: openai, name: big-one, max_output_tokens: 512, temperature: 0.2 }
  instructions: |
    Be kind.
    Be short.
  tools:
    - tool: payments.charge@1.0.0
      as: charge
      input: { type: object, properties: { amount: { maximum: 500 } } }
      scheduling: serial(args.account)
      side_effect_class: irreversible_action
      policies: [payments-need-a-person@1.0.0]
    - { tool: notes.add@2.0.0 }
  default_policies: [house-rules@1.0.0]
  permissions: ["net:egress:api.example.com", "tool:invoke:payments.*"]
  limits: { max_loop_iterations: 3, max_tokens: 1000, max_wall_clock: 30s, max_tool_calls: 4, max_approval_wait: 1h, max_concurrent_calls: 2, on_limit: escalate }
  secrets: { STRIPE: "secret://stripe", OTHER: "env:OTHER_KEY", DEEP: "secret://payments/stripe" }
`);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  expect(readAgent(parsed.value)).toEqual({
    ok: true,
    metadata: { name: "support", version: "2.1.0-rc.1", owner: "team-x", description: "Answers", labels: { team: "help" } },
    spec: {
      model: { provider: "openai", name: "big-one", maxOutputTokens: 512, temperature: 0.2 },
      instructions: "Be kind.\nBe short.\n",
      tools: [
        {
          tool: "payments.charge",
          version: "1.0.0",
          alias: "charge",
          input: { type: "object", properties: { amount: { maximum: 500 } } },
          scheduling: "serial(args.account)",
          sideEffectClass: "irreversible_action",
          policies: ["payments-need-a-person@1.0.0"],
        },
        { tool: "notes.add", version: "2.0.0", alias: "notes_add", input: undefined, scheduling: undefined, sideEffectClass: undefined, policies: [] },
      ],
      defaultPolicies: ["house-rules@1.0.0"],
      permissions: ["net:egress:api.example.com", "tool:invoke:payments.*"],
      limits: {
        stepsMax: 3,
        tokensMax: 1_000,
        wallClockMsMax: 30_000,
        toolCallsMax: 4,
        approvalWaitMsMax: 3_600_000,
        concurrentCallsMax: 2,
        onLimit: "escalate",
      },
      secrets: { STRIPE: "secret://stripe", OTHER: "env:OTHER_KEY", DEEP: "secret://payments/stripe" },
    },
    warnings: [],
  });
});

describe("refusals name the place and the next step", () => {
  test("what is missing or unknown", () => {
    expect(problemsOf({ apiVersion: "signalbox.dev/v1", kind: "Agent" })).toEqual(["metadata: is required", "spec: is required"]);
    expect(problemsOf(agent({ metadata: { owner: undefined, description: undefined, name: undefined } }))).toEqual([
      "metadata.name: is required (lower-case letters and digits, with . _ - inside, like support)",
      "metadata.owner: is required (the team or person who answers for this agent)",
      "metadata.description: is required (say what the agent is for)",
    ]);
    expect(refused({ model: undefined, instructions: undefined })).toEqual(["spec.model: is required", "spec.instructions: is required"]);
    expect(refused({ instuctions: "x" })).toEqual([`spec.instuctions: is an unknown key (did you mean "instructions"?)`]);
    expect(bound({ ...charge, schedulling: "exclusive" })).toEqual([`spec.tools[0].schedulling: is an unknown key (did you mean "scheduling"?)`]);
    expect(limited({ max_stepz: 3 })).toEqual([`spec.limits.max_stepz: is an unknown key (did you mean "max_steps"?)`]);
    expect(problemsOf(agent({ top: { kind: "Tool" } }))).toEqual([`kind: must be Agent, not "Tool" (kind: Agent)`]);
  });

  test("A1: a version that is none", () => {
    expect(problemsOf(agent({ metadata: { version: "not-a-version" } }))).toEqual([
      `metadata.version: "not-a-version" is no version (one exact version, like 1.0.0)`,
    ]);
  });

  test("A2: the same tool bound twice, or two tools under one name", () => {
    expect(bound(charge, { ...charge, as: "again" })).toEqual([
      `spec.tools[1].tool: payments.charge is bound twice, 1.0.0 as "payments_charge" before (keep one binding of each tool)`,
    ]);
    expect(bound(charge, { tool: "payments.charge@2.0.0", as: "newer" })).toHaveLength(1);
    expect(bound({ ...charge, as: "pay" }, { tool: "money.send@1.0.0", as: "pay" })).toEqual([
      `spec.tools[1].as: the model would call it "pay", and so it calls payments.charge (as: another name for money.send)`,
    ]);
    expect(bound({ tool: "a.b@1.0.0" }, { tool: "a_b@1.0.0" })).toEqual([
      `spec.tools[1].tool: the model would call it "a_b", and so it calls a.b (as: another name for a_b)`,
    ]);
  });

  test("A4: policies written in place", () => {
    const inline = { apiVersion: "signalbox.dev/v1", kind: "Policy", metadata: {}, spec: {} };
    const said = "is a policy written in place, and policies are published apart from agents (publish it with 'signalbox policies publish' and write its name@version here)";
    expect(refused({ default_policies: [inline] })).toEqual([`spec.default_policies[0]: ${said}`]);
    expect(bound({ ...charge, policies: [inline] })).toEqual([`spec.tools[0].policies[0]: ${said}`]);
    expect(refused({ policies: [inline] })).toEqual([
      "spec.policies: is an unknown key (policies are published apart from agents, with 'signalbox policies publish'; name them in default_policies: [name@version])",
    ]);
  });

  test("A6: a side-effect class that is none", () => {
    expect(bound({ ...charge, side_effect_class: "destructive" })).toEqual([
      `spec.tools[0].side_effect_class: must be one of read_only, idempotent_write, non_idempotent_write, irreversible_action, not "destructive"`,
    ]);
  });

  test("tools without an exact version, or under names that no provider takes", () => {
    const hint = "one exact version, like payments.charge@1.0.0";
    expect(bound({ tool: "payments.charge" })).toEqual([`spec.tools[0].tool: "payments.charge" names no version (${hint})`]);
    expect(bound({ tool: "payments.charge@^1.0.0" })).toEqual([`spec.tools[0].tool: "^1.0.0" is no version (${hint})`]);
    expect(bound({})).toEqual(["spec.tools[0].tool: is required"]);
    expect(bound({ ...charge, as: "a.b" })).toEqual([
      `spec.tools[0].as: "a.b" is not valid here (1 to 64 letters, digits, _ and -: what the model calls the tool)`,
    ]);
    expect(bound({ ...charge, scheduling: "sometimes" })[0]).toMatch(/^spec\.tools\[0\]\.scheduling: "sometimes" is not valid here/);
  });

  test("a schema that is none, by its place in the binding", () => {
    expect(bound(charge, { tool: "a@1.0.0", input: { type: "object", properties: { n: { type: "numbr" } } } })).toEqual([
      expect.stringMatching(/^spec\.tools\[1\]\.input#\/properties\/n\/type: /),
    ]);
    expect(bound({ ...charge, input: { type: "object", properties: { n: { pattern: "(" } } } })).toEqual([
      expect.stringMatching(/^spec\.tools\[0\]\.input#\/properties\/n/),
    ]);
    expect(bound({ ...charge, input: true })).toEqual(["spec.tools[0].input: must be a JSON Schema object, not true"]);
  });

  test("secrets as values", () => {
    const hint = "secrets are named, never written down: secret://name or env:NAME";
    expect(refused({ secrets: { STRIPE: "sk_live_123" } })).toEqual([`spec.secrets.STRIPE: is no reference to a secret (${hint})`]);
    expect(refused({ secrets: { STRIPE: "env:not a name" } })).toHaveLength(1);
    expect(refused({ secrets: { "1X": "env:A" } })).toHaveLength(1);
  });

  test("limits: without a unit, out of range, under both names", () => {
    const hint = "write a whole number and one of ms, s, m, h, like 500ms or 30s";
    expect(limited({ max_wall_clock: 600 })).toEqual([`spec.limits.max_wall_clock: is a duration without a unit (${hint})`]);
    expect(limited({ max_wall_clock: "25h" })).toEqual(["spec.limits.max_wall_clock: must be at most 24 h"]);
    expect(limited({ max_steps: 0 })).toEqual(["spec.limits.max_steps: must be at least 1"]);
    expect(limited({ max_steps: 1_001 })).toEqual(["spec.limits.max_steps: must be at most 1000"]);
    expect(limited({ max_concurrent_calls: 1.5 })).toEqual(["spec.limits.max_concurrent_calls: must be a whole number, not 1.5 (1 to 256)"]);
    expect(limited({ max_steps: 3, max_loop_iterations: 3 })).toEqual([
      "spec.limits.max_loop_iterations: is another name of max_steps, and both are there (write one of the two)",
    ]);
    expect(limited({ on_limit: "ask" })).toEqual([`spec.limits.on_limit: must be one of halt, escalate, not "ask"`]);
  });

  test("models", () => {
    const withModel = (more: Fields): readonly string[] => refused({ model: { ...model, ...more } });
    expect(withModel({ temperature: 3 })).toEqual(["spec.model.temperature: must be a number from 0 to 2, not 3"]);
    expect(withModel({ max_output_tokens: 0 })).toEqual(["spec.model.max_output_tokens: must be at least 1"]);
    expect(withModel({ name: "two words" })).toHaveLength(1);
    expect(withModel({ api_key: "sk" })).toEqual(["spec.model.api_key: is an unknown key (known keys: provider, name, max_output_tokens, temperature)"]);
  });

  test("permissions", () => {
    expect(specOf({ permissions: [] }).permissions).toEqual([]);
    expect(refused({ permissions: ["everything"] })[0]).toMatch(/^spec\.permissions\[0\]: "everything" is not valid here/);
  });
});

describe("instructions in a file", () => {
  const named = agent({ spec: { instructions: { file: "instructions.md" } } });
  const files = (path: string): string | undefined => (path === "instructions.md" ? "Be\r\nkind." : undefined);

  test("are read, and stand in the digest's text in their place", () => {
    const outcome = readAgent(named, files);
    expect(outcome.ok && outcome.spec.instructions).toBe("Be\nkind.");
    expect(agentText(named, files)).toBe(agentText(agent({ spec: { instructions: "Be\nkind." } })));
    expect(wholeAgent(named, files)).toEqual(agent({ spec: { instructions: "Be\nkind." } }));
    expect(agentText({ ...agent(), metadata: { ...metadata, labels: {} } })).not.toBe(agentText(agent()));
  });

  test("that is not there, leads out, or was not sent", () => {
    const with_ = (file: string): readonly string[] => {
      const outcome = readAgent(agent({ spec: { instructions: { file } } }), files);
      return outcome.ok ? [] : outcome.problems.map(({ path, message }) => `${path}: ${message}`);
    };
    expect(with_("other.md")).toEqual(["spec.instructions.file: there is no file other.md"]);
    expect(with_("../secret.md")).toEqual(["spec.instructions.file: leads outside: .. is not accepted"]);
    expect(with_("/etc/passwd")).toEqual(["spec.instructions.file: must be a relative path"]);
    expect(problemsOf(named)).toEqual([
      "spec.instructions.file: names a file, but only the manifest itself was sent (write the text in place, or publish from the folder: signalbox agents publish <folder>)",
    ]);
  });
});

test("bounds: instructions in bytes, tools, schemas in all, aliases cut", () => {
  expect(refused({ instructions: "é".repeat(65_537) })).toEqual(["spec.instructions: is 131074 bytes of text; at most 131072 are accepted"]);
  expect(refused({ instructions: "e".repeat(131_073) })).toEqual(["spec.instructions: is longer than 131072 characters"]);
  expect(specOf({ instructions: "é".repeat(65_536) }).instructions).toHaveLength(65_536);
  const many = (count: number): Fields[] => Array.from({ length: count }, (_, index) => ({ tool: `t${index}@1.0.0` }));
  expect(specOf({ tools: many(128) }).tools).toHaveLength(128);
  expect(bound(...many(129))).toEqual(["spec.tools: has more than 128 entries"]);
  expect(specOf({ tools: [{ tool: `${"a.".repeat(60)}b@1.0.0` }] }).tools[0]?.alias).toBe("a_".repeat(32));
  const wide = { type: "object", description: "x".repeat(50_000) };
  expect(bound(...many(3).map((one) => ({ ...one, input: wide })))[0]).toMatch(/^spec\.tools: has schemas of 150[0-9]{3} bytes in all; at most 131072/);
  expect(refused({ secrets: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`S${index}`, "env:A"])) })).toEqual([
    "spec.secrets: has more than 64 entries",
  ]);
});

describe("a binding may only tighten its tool", () => {
  const binding = { tool: "payments.charge", version: "1.0.0", alias: "charge", input: undefined, scheduling: undefined, sideEffectClass: undefined, policies: [] };
  const looser = (more: { scheduling?: string; sideEffectClass?: string }, scheduling = "parallel"): readonly string[] =>
    looserThanTool({ ...binding, ...more }, { sideEffectClass: "non_idempotent_write", scheduling }, "spec.tools[0]").map(({ path, message }) => `${path}: ${message}`);

  test("its class", () => {
    expect(looser({})).toEqual([]);
    expect(looser({ sideEffectClass: "non_idempotent_write" })).toEqual([]);
    expect(looser({ sideEffectClass: "irreversible_action" })).toEqual([]);
    expect(looser({ sideEffectClass: "idempotent_write" })).toEqual([
      "spec.tools[0].side_effect_class: idempotent_write is looser than non_idempotent_write, which payments.charge@1.0.0 says",
    ]);
  });

  test.each([
    ["parallel", "parallel", true],
    ["serial(args.a)", "parallel", true],
    ["exclusive", "parallel", true],
    ["parallel", "serial(args.a)", false],
    ["serial(args.a)", "serial(args.a)", true],
    ["serial(args.b)", "serial(args.a)", false],
    ["exclusive", "serial(args.a)", true],
    ["parallel", "exclusive", false],
    ["serial(args.a)", "exclusive", false],
    ["exclusive", "exclusive", true],
  ])("its scheduling: %s over %s", (scheduling, tool, kept) => {
    expect(looser({ scheduling }, tool)).toEqual(
      kept ? [] : [`spec.tools[0].scheduling: ${scheduling} is looser than ${tool}, which payments.charge@1.0.0 says`],
    );
  });
});
