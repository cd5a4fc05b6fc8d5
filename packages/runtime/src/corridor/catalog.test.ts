// Tools in memory: compiled once per content, checked for calls of earlier processes, and never in the way of a start.
import { afterEach, beforeEach, expect, test } from "vitest";
import { admitted } from "../../../../test/support/calls.ts";
import { Corridor } from "../../../../test/support/corridor.ts";
import { result } from "../../../../test/support/hand-hub.ts";
import type { ToolVersion } from "../registry/types.ts";
import { Catalog } from "./catalog.ts";

let corridor: Corridor;
let catalog: Catalog;
beforeEach(async () => {
  corridor = new Corridor();
  catalog = new Catalog(corridor.ledger, (text) => `hash of ${text}`);
  await corridor.tool({ spec: { output: { type: "object", required: ["id"] } } });
});
afterEach(() => corridor.close());

async function version(): Promise<ToolVersion> {
  const found = await catalog.resolve("acme", "pay", "");
  if (!found.ok) throw new Error(found.reason);
  return found.version;
}

/** The same version with a schema that this runtime cannot compile, as one from before an upgrade might be. */
async function storeUncompilable(): Promise<ToolVersion> {
  const row = { ...(await version()), version: "0.9.0", manifestDigest: "old" };
  const broken = { ...row, spec: { ...row.spec, output: { type: "obiect" } } };
  await corridor.ledger.commit({ writes: [{ op: "insert_tool_version", row: broken, activate: false }] });
  return broken;
}

test("a version is compiled once per content", async () => {
  const found = await version();
  const ready = catalog.ready(found);
  expect(catalog.ready({ ...found })).toBe(ready);
  expect(catalog.ready({ ...found, manifestDigest: "other" })).not.toBe(ready);
});

test("the check of a call from an earlier process is that of its own version", async () => {
  const { call } = admitted();
  const { check } = await catalog.factsFor(call);
  expect(check(call, result("exec_1", 1, '{"id":1}'), "w1").status).toBe("succeeded");
  expect(check(call, result("exec_1", 1, "{}"), "w1")).toMatchObject({ status: "failed", error: { code: "invalid_output" } });
});

test("of a version that is not there any more, size and form are still checked", async () => {
  const { call } = admitted({ version: "7.0.0", resultBytesMax: 5 });
  const { check } = await catalog.factsFor(call);
  expect(check(call, result("exec_1", 1, "{}"), "w1").status).toBe("succeeded");
  expect(check(call, result("exec_1", 1, '"large"'), "w1")).toMatchObject({ error: { code: "resource_exceeded" } });
});

test("schemas that no longer compile: new calls fail loudly, open ones take no unchecked result, and nothing else is held up", async () => {
  const broken = await storeUncompilable();
  expect(() => catalog.ready(broken)).toThrow("the stored schemas of pay@0.9.0 no longer compile");
  const { call } = admitted({ version: "0.9.0" });
  const { check } = await catalog.factsFor(call);
  expect(check(call, result("exec_1", 1, '{"id":1}'), "w1")).toMatchObject({ status: "failed", outputJson: null, error: { code: "invalid_output" } });
});

test("what was resolved is remembered until it changes", async () => {
  await corridor.tool({ version: "2.0.0" });
  expect((await version()).version).toBe("1.0.0");
  await corridor.ledger.commit({ writes: [{ op: "activate_tool", tenant: "acme", tool: "pay", version: "2.0.0", at: 1, by: "user:bo" }] });
  expect((await version()).version).toBe("1.0.0");
  catalog.forget("acme", "pay");
  expect((await version()).version).toBe("2.0.0");
});
