// Every bound of an agent's manifest: what lies at it is read, what lies one past it is refused by its place.
import { expect, test } from "vitest";
import { agentDocument } from "../../../../../test/support/manifests.ts";
import { readAgent } from "./manifest.ts";

type Fields = Record<string, unknown>;

const model = { provider: "scripted", name: "turns" };
const tools = (count: number, more: Fields = {}): Fields => ({ tools: Array.from({ length: count }, (_, index) => ({ tool: `t${index}@1.0.0`, ...more })) });
const named = (more: Fields): Fields => ({ model: { ...model, ...more } });
const limit = (name: string, value: unknown): Fields => ({ limits: { [name]: value } });
const names = (count: number, value: string): Fields => Object.fromEntries(Array.from({ length: count }, (_, index) => [`N${index}`, value]));
/** So many bytes of JSON. */
const schema = (bytes: number): Fields => ({ description: "x".repeat(bytes - JSON.stringify({ description: "" }).length) });
const schemas = (...bytes: number[]): Fields => ({ tools: bytes.map((one, index) => ({ tool: `t${index}@1.0.0`, input: schema(one) })) });

const past: readonly (readonly [bound: string, at: Fields, past: Fields, path: string])[] = [
  ["toolsPerAgentMax", tools(128), tools(129), "spec.tools"],
  ["aliasCharsMax", { tools: [{ tool: "a@1.0.0", as: "a".repeat(64) }] }, { tools: [{ tool: "a@1.0.0", as: "a".repeat(65) }] }, "spec.tools[0].as"],
  ["bindingSchemasBytesMax", schemas(65_536, 65_000, 536), schemas(65_536, 65_000, 537), "spec.tools"],
  ["modelNameCharsMax", named({ name: "m".repeat(256) }), named({ name: "m".repeat(257) }), "spec.model.name"],
  ["instructionsBytesMax", { instructions: "é".repeat(65_536) }, { instructions: `${"é".repeat(65_536)}e` }, "spec.instructions"],
  ["secretsMax", { secrets: names(64, "env:A") }, { secrets: names(65, "env:A") }, "spec.secrets"],
  ["outputTokensMax", named({ max_output_tokens: 1_000_000 }), named({ max_output_tokens: 1_000_001 }), "spec.model.max_output_tokens"],
  ["temperatureMax", named({ temperature: 2 }), named({ temperature: 2.01 }), "spec.model.temperature"],
  ["stepsMax", limit("max_steps", 1_000), limit("max_steps", 1_001), "spec.limits.max_steps"],
  ["tokensMax", limit("max_tokens", 1_000_000_000), limit("max_tokens", 1_000_000_001), "spec.limits.max_tokens"],
  ["wallClockMsMin", limit("max_wall_clock", "1s"), limit("max_wall_clock", "999ms"), "spec.limits.max_wall_clock"],
  ["wallClockMsMax", limit("max_wall_clock", "24h"), limit("max_wall_clock", "86400001ms"), "spec.limits.max_wall_clock"],
  ["toolCallsMax", limit("max_tool_calls", 10_000), limit("max_tool_calls", 10_001), "spec.limits.max_tool_calls"],
  ["approvalWaitMsMin", limit("max_approval_wait", "1s"), limit("max_approval_wait", "999ms"), "spec.limits.max_approval_wait"],
  ["approvalWaitMsMax", limit("max_approval_wait", "720h"), limit("max_approval_wait", "2592000001ms"), "spec.limits.max_approval_wait"],
  ["concurrentCallsMax", limit("max_concurrent_calls", 256), limit("max_concurrent_calls", 257), "spec.limits.max_concurrent_calls"],
];

const pathsOf = (document: unknown): readonly string[] => {
  const outcome = readAgent(document);
  return outcome.ok ? [] : outcome.problems.map(({ path }) => path);
};

test.each(past)("%s", (_, atIt, pastIt, path) => {
  expect(pathsOf(agentDocument("support", "1.0.0", atIt))).toEqual([]);
  expect(pathsOf(agentDocument("support", "1.0.0", pastIt))).toEqual([path]);
});

test("aliasCharsMax: a name that is made of the tool's is cut", () => {
  const outcome = readAgent(agentDocument("support", "1.0.0", { tools: [{ tool: `${"a.".repeat(32)}b@1.0.0` }] }));
  expect(outcome.ok && outcome.spec.tools[0]?.alias).toBe("a_".repeat(32));
});

test("labelsMax", () => {
  const labelled = (count: number) => {
    const document = agentDocument("support");
    return { ...document, metadata: { ...document.metadata, labels: names(count, "x") } };
  };
  expect(pathsOf(labelled(64))).toEqual([]);
  expect(pathsOf(labelled(65))).toEqual(["metadata.labels"]);
});
