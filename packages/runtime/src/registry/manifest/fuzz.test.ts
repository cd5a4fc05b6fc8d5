// Spoilt manifests: each is refused by its place, or is a tool whose limits, class and permissions are in bounds.
import fc from "fast-check";
import { sideEffectClasses, limits } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { anyMutations, spoil } from "../../../../../test/support/mutations.ts";
import { parsePermission } from "../../policy/permission.ts";
import { inputShape } from "../../policy/condition/shape.ts";
import { bounds } from "../bounds.ts";
import { manifestDigest } from "../digest.ts";
import { readManifest } from "../manifest.ts";
import { compileToolSchemas } from "../schema.ts";
import type { ToolSpec } from "../types.ts";

const head = { apiVersion: "signalbox.dev/v1", kind: "Tool" };
const metadata = {
  name: "payments.charge",
  version: "1.2.0",
  owner: "team-pay",
  description: "Charges.",
  category: "money",
  labels: { team: "pay" },
};
const documents: readonly unknown[] = [
  { ...head, metadata, spec: { executor: { type: "worker" }, input: { type: "object" } } },
  {
    ...head,
    metadata,
    spec: {
      executor: { type: "sandbox", runtime: "python", entry: "main.py" },
      input: {
        type: "object",
        properties: {
          amount: { type: "number", minimum: 0 },
          items: { type: "array", items: { $ref: "#/$defs/item" } },
          note: { type: "string", pattern: "^[a-z]+$", format: "email" },
        },
        required: ["amount"],
        additionalProperties: false,
        $defs: { item: { enum: ["a", "b", 1, null] } },
      },
      output: { anyOf: [{ type: "string" }, { type: "object", properties: { id: { const: "x" } } }] },
      side_effect_class: "read_only",
      permissions: ["net:egress:api.example.com:443", "secret:read:stripe", "fs:read:/data"],
      timeout: "20s",
      grace: "2s",
      retry: { attempts: 3, strategy: "exponential", initial: "1s", max: "10s" },
      limits: { memory: "64Mi", cpu: 1 },
      secrets: { STRIPE: "stripe" },
      network: { allow: ["api.example.com:443"] },
      filesystem: { read: ["/data"], write: [] },
      env: { MODE: "live" },
      default_policies: ["payments-need-a-person@1.0.0"],
    },
  },
];
const words = [
  ..."object string number array integer obiect #/$defs/item # ^(a+)+$ \\d $ref enum items properties required type".split(
    " ",
  ),
  ..."worker sandbox mcp agent python exec read_only idempotent_write irreversible_action 20s 0s 99999h 5 64Mi 1.2.0 v1".split(
    " ",
  ),
  ..."net:egress:* fs:read:/../etc tool:invoke secret:read:x spec metadata timeout executor input permissions trust first_party".split(
    " ",
  ),
];

test("a spoilt manifest is refused by its place, or is a tool within its bounds", () => {
  const seen = { refused: 0, read: 0, compiled: 0 };
  let most = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...documents),
      fc.option(anyMutations(words), { nil: [], freq: 5 }),
      fc.jsonValue({ maxDepth: 3 }),
      (document, mutations, input) => {
        const spoilt = spoil(document, mutations);
        const began = performance.now();
        const outcome = readManifest(spoilt);
        if (outcome.ok) {
          seen.read++;
          expectBounded(outcome.spec);
          expect(manifestDigest(spoilt, (text) => text)).toMatch(/^\{/);
          inputShape(outcome.spec.input).member("amount");
          const compiled = compileToolSchemas(outcome.spec);
          if (compiled.ok) {
            seen.compiled++;
            expect(typeof compiled.input.validateInput(input).ok).toBe("boolean");
          } else expectPlaced(compiled.problems);
        } else {
          seen.refused++;
          expectPlaced(outcome.problems);
        }
        most = Math.max(most, performance.now() - began);
      },
    ),
    { seed: 20_260_306, numRuns: 1_500 },
  );
  // Far above what one takes, far below what a runaway would.
  expect(most).toBeLessThan(2_000);
  expect(Math.min(seen.refused, seen.read, seen.compiled)).toBeGreaterThan(100);
});

function expectPlaced(problems: readonly { readonly path: string; readonly message: string }[]): void {
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.length).toBeLessThanOrEqual(100);
  for (const { path, message } of problems) {
    expect(message).not.toBe("");
    expect(path.length + message.length).toBeLessThan(2_000);
    // Only of the document as a whole is there no place to name.
    if (path === "") expect(message).toMatch(/must be a mapping|is not|has a key|holds half|more than/);
  }
}

function expectBounded({
  timeoutMs,
  graceMs,
  retry,
  sideEffectClass,
  permissions,
  executor,
  limits: own,
}: ToolSpec): void {
  expect(sideEffectClasses).toContain(sideEffectClass);
  expect(["worker", "sandbox", "mcp", "agent"]).toContain(executor.type);
  expect(timeoutMs > 0 && timeoutMs <= limits.runTimeoutMsMax && graceMs >= 0 && graceMs <= bounds.graceMsMax).toBe(
    true,
  );
  expect(retry.attempts >= 1 && retry.attempts <= bounds.retryAttemptsMax && retry.initialMs <= retry.maxMs).toBe(true);
  expect(permissions.filter((text) => !parsePermission(text).ok)).toEqual([]);
  expect(Object.values(own).every((value) => Number.isFinite(value) && value >= 0)).toBe(true);
}
