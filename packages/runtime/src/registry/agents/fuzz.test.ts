// Spoilt manifests of agents: each is refused by its place, or is an agent whose limits, names and permissions are in bounds.
import { sideEffectClasses } from "@signalbox/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyMutations, spoil } from "../../../../../test/support/mutations.ts";
import { parseVersion } from "../../document/versions.ts";
import { agentText, readAgent } from "./manifest.ts";
import type { AgentSpec } from "./types.ts";

const head = { apiVersion: "signalbox.dev/v1", kind: "Agent" };
const metadata = { name: "support", version: "1.2.0", owner: "team-help", description: "Helps.", labels: { team: "help" } };
const documents: readonly unknown[] = [
  { ...head, metadata, spec: { model: { provider: "scripted", name: "turns" }, instructions: "Be kind." } },
  {
    ...head,
    metadata,
    spec: {
      model: { provider: "anthropic", name: "some-model", max_output_tokens: 512, temperature: 0.5 },
      instructions: "Be kind.",
      tools: [
        {
          tool: "payments.charge@1.0.0",
          as: "charge",
          input: { type: "object", properties: { amount: { type: "number", maximum: 500 }, note: { pattern: "^[a-z]+$" } } },
          scheduling: "exclusive",
          side_effect_class: "irreversible_action",
          policies: ["payments-need-a-person@1.0.0"],
        },
        { tool: "notes.add@2.0.0" },
      ],
      default_policies: ["house-rules@1.0.0"],
      permissions: ["net:egress:api.example.com", "*"],
      limits: { max_steps: 5, max_tokens: 1_000, max_wall_clock: "30s", max_tool_calls: 4, max_approval_wait: "1h", max_concurrent_calls: 2, on_limit: "escalate" },
      secrets: { STRIPE: "secret://stripe", OTHER: "env:OTHER" },
    },
  },
];
const words =
  "object number #/$defs/item ^(a+)+$ $ref enum tool tools as input model anthropic max_loop_iterations max_steps halt escalate parallel serial(args.a) read_only 20s 0s 99999h 5 1.2.0 v1 payments.charge@1.0.0 notes.add@2.0.0 charge * secret://x env:X sk_live file spec metadata instructions".split(
    " ",
  );

test("a spoilt manifest is refused by its place, or is an agent within its bounds", () => {
  const seen = { refused: 0, read: 0 };
  let most = 0;
  fc.assert(
    fc.property(fc.constantFrom(...documents), fc.option(anyMutations(words), { nil: [], freq: 5 }), (document, mutations) => {
      const spoilt = spoil(document, mutations);
      const began = performance.now();
      const outcome = readAgent(spoilt);
      most = Math.max(most, performance.now() - began);
      if (outcome.ok) {
        seen.read++;
        expect(parseVersion(outcome.metadata.version)).toBeDefined();
        expectBounded(outcome.spec);
        expect(agentText(spoilt)).toMatch(/^\{/);
        return;
      }
      seen.refused++;
      expect(outcome.problems.length).toBeGreaterThan(0);
      expect(outcome.problems.length).toBeLessThanOrEqual(100);
      for (const { path, message } of outcome.problems) {
        expect(path.length + message.length).toBeLessThan(2_000);
        if (path === "") expect(message).toMatch(/must be a mapping|is not|has a key|holds half|more than/);
      }
    }),
    { seed: 20_261_130, numRuns: 2_000 },
  );
  // Far above what one takes, far below what a runaway would.
  expect(most).toBeLessThan(2_000);
  expect(Math.min(seen.refused, seen.read)).toBeGreaterThan(100);
});

function expectBounded({ model, tools, limits, permissions, secrets, instructions }: AgentSpec): void {
  expect(Number.isInteger(model.maxOutputTokens) && model.maxOutputTokens >= 1).toBe(true);
  expect(model.temperature === undefined || (model.temperature >= 0 && model.temperature <= 2)).toBe(true);
  expect(instructions.trim()).not.toBe("");
  expect(new Set(tools.map(({ alias }) => alias)).size).toBe(tools.length);
  expect(new Set(tools.map(({ tool }) => tool)).size).toBe(tools.length);
  for (const { alias, version, sideEffectClass } of tools) {
    expect(alias).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(parseVersion(version)).toBeDefined();
    expect([undefined, ...sideEffectClasses]).toContain(sideEffectClass);
  }
  const { onLimit, ...numbers } = limits;
  expect(["halt", "escalate"]).toContain(onLimit);
  for (const value of Object.values(numbers)) expect(Number.isSafeInteger(value) && value >= 1).toBe(true);
  for (const one of permissions) expect(one).toMatch(/^(\*|[a-z].*:.*:.*)$/);
  for (const one of Object.values(secrets)) expect(one).toMatch(/^(secret:\/\/|env:)/);
}
