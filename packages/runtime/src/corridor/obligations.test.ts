// What rules leave of time and size, and what an executor cannot be held to.
import { expect, test } from "vitest";
import { manifest } from "../../../../test/support/corridor.ts";
import type { Obligations } from "../policy/types.ts";
import { readManifest } from "../registry/manifest.ts";
import type { ToolVersion } from "../registry/types.ts";
import { allowanceOf, unheldObligation } from "./obligations.ts";

const before = { timeoutMs: 20_000, resultBytesMax: 1_000 };

test.each<[string, Obligations["limits"], object]>([
  ["no limits leave everything", {}, before],
  ["a smaller one cuts", { timeoutMs: 5_000, outputBytes: 10 }, { timeoutMs: 5_000, resultBytesMax: 10 }],
  ["a larger one gives nothing", { timeoutMs: 60_000, outputBytes: 1_000_000 }, before],
  ["each by itself", { outputBytes: 999 }, { timeoutMs: 20_000, resultBytesMax: 999 }],
  ["those of other kinds have no part in it", { memoryBytes: 1 }, before],
])("%s", (_, limits, expected) => {
  expect(allowanceOf({ limits }, before)).toEqual(expected);
});

function toolOf(executor: object): ToolVersion {
  const read = readManifest(manifest({ spec: { executor } }));
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const { spec, metadata } = read;
  return { tenant: "acme", tool: "pay", version: "1.0.0", spec, metadata, manifestDigest: "", packageDigest: null, trust: "first_party", status: "active", publishedAt: 1, publishedBy: "user:own" };
}

test.each<[string, Obligations, readonly string[] | undefined]>([
  ["nothing is asked", { limits: {} }, undefined],
  ["what the runtime itself watches over", { limits: { timeoutMs: 1, outputBytes: 1 } }, undefined],
  ["memory", { limits: { memoryBytes: 1, timeoutMs: 1 } }, ["limit memoryBytes"]],
  ["a backend", { limits: {}, sandbox: "microvm" }, ["sandbox microvm"]],
  ["an empty list is a demand like every other", { limits: {}, egress: [] }, ["egress"]],
  ["all of them are named", { limits: { pids: 5 }, sandbox: "wasm", egress: ["a.example:443"], paths: { read: [] } }, ["sandbox wasm", "egress", "paths", "limit pids"]],
])("of an application's worker: %s", (_, obligations, unheld) => {
  const error = unheldObligation(toolOf({ type: "worker" }), obligations);
  expect(error?.details?.["obligations"]).toEqual(unheld);
  if (error !== undefined) expect(error).toMatchObject({ code: "sandbox_unavailable", retryable: false });
});

test("a sandbox can be held to all of it", () => {
  const tool = toolOf({ type: "sandbox", runtime: "node", entry: "main.js" });
  expect(unheldObligation(tool, { limits: { pids: 5 }, sandbox: "wasm", egress: [], paths: { read: [] } })).toBeUndefined();
});
