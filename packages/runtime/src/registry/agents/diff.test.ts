// What differs between two versions, by field, and how much of it is told.
import { expect, test } from "vitest";
import { agentDocument } from "../../../../../test/support/manifests.ts";
import { differencesOf } from "./diff.ts";
import { readAgent } from "./manifest.ts";
import type { AgentVersion } from "./types.ts";

function version(spec: Readonly<Record<string, unknown>>, children: Readonly<Record<string, string>> = {}): AgentVersion {
  const read = readAgent(agentDocument("support", "1.0.0", spec));
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const { metadata, spec: told } = read;
  return {
    tenant: "acme",
    agent: "support",
    version: "1.0.0",
    versionId: "agv_1",
    metadata,
    spec: told,
    children,
    manifestDigest: "",
    status: "published",
    publishedAt: 0,
    publishedBy: "user:ann",
  };
}

/** A tool whose schema has so many fields, each with this description. */
const wide = (fields: number, description: string) => ({
  tools: [{ tool: "pay@1.0.0", input: { properties: Object.fromEntries(Array.from({ length: fields }, (_, index) => [`f${index}`, { description }])) } }],
});

test("fields that came, went or changed, each by its place, in the order of the fields", () => {
  const from = version({ tools: [{ tool: "a.b@1.0.0" }], permissions: ["*"], secrets: { A: "env:A" } }, { clerk: "1.0.0" });
  const to = version({ tools: [{ tool: "c@1.0.0" }], permissions: ["tool:invoke:c"], secrets: { B: "env:B" } }, { clerk: "2.0.0" });
  expect(differencesOf(from, to).differences.map(({ path, before, after }) => [path, before, after])).toEqual([
    [`spec.tools["a.b"]`, { version: "1.0.0", as: "a_b", scheduling: null, side_effect_class: null, policies: [] }, null],
    ["spec.tools.c", null, { version: "1.0.0", as: "c", scheduling: null, side_effect_class: null, policies: [] }],
    ["spec.permissions", ["*"], ["tool:invoke:c"]],
    ["spec.secrets.A", "env:A", null],
    ["spec.secrets.B", null, "env:B"],
    ["children.clerk", "1.0.0", "2.0.0"],
  ]);
});

test("a name that every object has is no field, and numbers keep their digits", () => {
  const withField = (name: string) => version({ tools: [{ tool: "pay@1.0.0", input: { properties: { [name]: {} } } }] });
  expect(differencesOf(withField("constructor"), withField("toString")).differences.map(({ path }) => path)).toEqual([
    "spec.tools.pay.input.properties.constructor",
    "spec.tools.pay.input.properties.toString",
  ]);
});

test("500 differences are told, and the rest is counted", () => {
  expect(differencesOf(version(wide(500, "a")), version(wide(500, "b")))).toMatchObject({ differences: { length: 500 }, more: 0 });
  const { differences, more } = differencesOf(version(wide(503, "a")), version(wide(503, "b")));
  expect([differences.length, more]).toEqual([500, 3]);
  expect(differences[0]).toEqual({ path: "spec.tools.pay.input.properties.f0.description", before: "a", after: "b" });
});
