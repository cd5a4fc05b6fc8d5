// Names and wishes to pinned versions: own tools first, nothing quarantined, nothing stale.
import { expect, test } from "vitest";
import { createToolResolver, resolveTool, type ToolReads } from "./resolve.ts";
import type { ToolRecord, ToolVersion } from "./types.ts";

type Shelf = Readonly<Record<string, { active: string | null; versions: Record<string, ToolVersion["status"]> }>>;

function version(tenant: string, tool: string, text: string, status: ToolVersion["status"]): ToolVersion {
  return { tenant, tool, version: text, status } as ToolVersion;
}

/** A ledger's registry in memory; keys of the shelf are `tenant/tool`. Counts what is asked. */
function reads(shelf: Shelf): ToolReads & { asked: string[]; shelf: Record<string, Shelf[string]> } {
  const own = { ...shelf };
  const asked: string[] = [];
  const record = (tenant: string, tool: string): ToolRecord =>
    ({ tenant, tool, activeVersion: own[`${tenant}/${tool}`]?.active ?? null }) as ToolRecord;
  return {
    asked,
    shelf: own,
    tool: async (tenant, tool) => {
      asked.push(`tool ${tenant}/${tool}`);
      return own[`${tenant}/${tool}`] === undefined ? undefined : record(tenant, tool);
    },
    toolVersion: async (tenant, tool, text) => {
      asked.push(`version ${tenant}/${tool}@${text}`);
      const status = own[`${tenant}/${tool}`]?.versions[text];
      return status === undefined ? undefined : version(tenant, tool, text, status);
    },
    toolVersions: async (tenant, tool) => Object.keys(own[`${tenant}/${tool}`]?.versions ?? {}),
    listTools: async (tenant) => ({
      items: Object.keys(own)
        .filter((key) => key.startsWith(`${tenant}/`))
        .map((key) => record(tenant, key.slice(tenant.length + 1))),
    }),
  };
}

const shelf: Shelf = {
  "platform/http.request": {
    active: "1.2.0",
    versions: {
      "1.0.0": "deprecated",
      "1.2.0": "active",
      "1.3.0": "active",
      "1.4.0-rc.1": "active",
      "2.0.0": "quarantined",
    },
  },
  "platform/echo": { active: "1.0.0", versions: { "1.0.0": "active", "2.0.0": "active" } },
  "acme/echo": { active: null, versions: { "0.9.0": "active", "0.8.0": "active" } },
  "beta/secret.tool": { active: "1.0.0", versions: { "1.0.0": "active" } },
};

const all = (): boolean => true;

test.each([
  ["acme", "http.request", "", "platform 1.2.0"],
  ["acme", "http.request", "^1.2.0", "platform 1.3.0"],
  ["acme", "http.request", "1.0.0", "platform 1.0.0"],
  ["acme", "http.request", "1.4.0-rc.1", "platform 1.4.0-rc.1"],
  ["platform", "http.request", "1.2.0", "platform 1.2.0"],
  ["acme", "echo", "", "acme 0.9.0"],
  ["acme", "echo", "~0.8", "acme 0.8.0"],
  ["beta", "echo", "", "platform 1.0.0"],
])("%s asks for %s %j and gets %s", async (tenant, name, requested, expected) => {
  const found = await resolveTool(reads(shelf), tenant, name, requested);
  expect(found.ok && `${found.version.tenant} ${found.version.version}`).toBe(expected);
});

test("an own tool hides the platform's, all its versions", async () => {
  expect(await resolveTool(reads(shelf), "acme", "echo", "2.0.0", all)).toEqual({
    ok: false,
    reason: "not_found",
    near: [],
    versions: ["0.9.0", "0.8.0"],
  });
});

test("a quarantined version is found and must not run", async () => {
  expect(await resolveTool(reads(shelf), "acme", "http.request", "2.0.0")).toMatchObject({
    ok: false,
    reason: "quarantined",
    version: { version: "2.0.0" },
  });
  expect(await resolveTool(reads(shelf), "acme", "http.request", ">=2")).toMatchObject({
    ok: false,
    reason: "quarantined",
  });
});

test("a wish that is none", async () => {
  expect(await resolveTool(reads(shelf), "acme", "echo", "newest")).toEqual({ ok: false, reason: "bad_version" });
});

test("an unknown name comes with names that may have been meant, if the caller may know them", async () => {
  expect(await resolveTool(reads(shelf), "acme", "http.requst", "", all)).toEqual({
    ok: false,
    reason: "not_found",
    near: ["http.request"],
    versions: [],
  });
  expect(await resolveTool(reads(shelf), "acme", "http.requst", "")).toEqual({
    ok: false,
    reason: "not_found",
    near: [],
    versions: [],
  });
  expect(await resolveTool(reads(shelf), "acme", "http.requst", "", (tool) => tool !== "http.request")).toMatchObject({
    near: [],
  });
});

test("another tenant's tool does not exist, not even as a suggestion", async () => {
  expect(await resolveTool(reads(shelf), "acme", "secret.tool", "", all)).toEqual({
    ok: false,
    reason: "not_found",
    near: [],
    versions: [],
  });
});

test("an unknown version shows versions only to whom may see the tool", async () => {
  expect(await resolveTool(reads(shelf), "beta", "http.request", "9.9.9", all)).toEqual({
    ok: false,
    reason: "not_found",
    near: [],
    versions: ["2.0.0", "1.4.0-rc.1", "1.3.0"],
  });
  expect(await resolveTool(reads(shelf), "beta", "http.request", "9.9.9")).toEqual({
    ok: false,
    reason: "not_found",
    near: [],
    versions: [],
  });
});

test.each([
  ["", ""],
  ["n".repeat(129), ""],
  ["echo", "1".repeat(129)],
])("an impossible question costs no look-up", async (name, requested) => {
  const ledger = reads(shelf);
  expect(await resolveTool(ledger, "acme", name, requested, all)).toMatchObject({ ok: false, reason: "not_found" });
  expect(ledger.asked).toEqual([]);
});

test("the resolver asks once, until it is told to forget", async () => {
  const ledger = reads(shelf);
  const resolver = createToolResolver(ledger);
  const wish = async (tenant: string): Promise<string | false> => {
    const found = await resolver.resolve(tenant, "http.request", "");
    return found.ok && found.version.version;
  };
  expect([await wish("acme"), await wish("acme"), await wish("beta")]).toEqual(["1.2.0", "1.2.0", "1.2.0"]);
  expect(ledger.asked.filter((one) => one.startsWith("version"))).toHaveLength(2);

  ledger.shelf["platform/http.request"] = { active: "1.3.0", versions: { "1.3.0": "active" } };
  resolver.forget("acme", "http.request");
  expect([await wish("acme"), await wish("beta")]).toEqual(["1.3.0", "1.2.0"]);
  resolver.forget("platform", "http.request");
  expect([await wish("acme"), await wish("beta")]).toEqual(["1.3.0", "1.3.0"]);
});

test("a tenant's new tool takes over the platform's name once it is told", async () => {
  const ledger = reads(shelf);
  const resolver = createToolResolver(ledger);
  expect(await resolver.resolve("beta", "echo", "")).toMatchObject({ version: { tenant: "platform" } });
  ledger.shelf["beta/echo"] = { active: "5.0.0", versions: { "5.0.0": "active" } };
  resolver.forget("beta", "echo");
  expect(await resolver.resolve("beta", "echo", "")).toMatchObject({ version: { tenant: "beta", version: "5.0.0" } });
});

test("what was not found, and what is quarantined, is asked again every time", async () => {
  const ledger = reads(shelf);
  const resolver = createToolResolver(ledger);
  expect(await resolver.resolve("acme", "late", "")).toMatchObject({ ok: false });
  expect(await resolver.resolve("acme", "http.request", "2.0.0")).toMatchObject({ ok: false });
  ledger.shelf["acme/late"] = { active: "1.0.0", versions: { "1.0.0": "active" } };
  ledger.shelf["platform/http.request"] = { active: null, versions: { "2.0.0": "active" } };
  expect(await resolver.resolve("acme", "late", "")).toMatchObject({ ok: true });
  expect(await resolver.resolve("acme", "http.request", "2.0.0")).toMatchObject({ ok: true });
});

test("an answer that was on its way when the tool changed is not kept", async () => {
  const ledger = reads(shelf);
  const resolver = createToolResolver(ledger);
  const onItsWay = resolver.resolve("acme", "echo", "");
  resolver.forget("acme", "echo");
  expect(await onItsWay).toMatchObject({ version: { version: "0.9.0" } });
  ledger.shelf["acme/echo"] = { active: "1.0.0", versions: { "1.0.0": "active" } };
  expect(await resolver.resolve("acme", "echo", "")).toMatchObject({ version: { version: "1.0.0" } });
});

test("it remembers no more than it may, and forgets by name afterwards too", async () => {
  const ledger = reads(shelf);
  const resolver = createToolResolver(ledger, 2);
  const versionReads = (): number => ledger.asked.filter((one) => one.startsWith("version")).length;
  for (const requested of ["1.0.0", "1.2.0", "1.3.0"]) await resolver.resolve("acme", "http.request", requested);
  expect(versionReads()).toBe(3);
  await resolver.resolve("acme", "http.request", "1.3.0");
  expect(versionReads()).toBe(3);
  await resolver.resolve("acme", "http.request", "1.0.0");
  expect(versionReads()).toBe(4);
  resolver.forget("platform", "http.request");
  await resolver.resolve("acme", "http.request", "1.0.0");
  expect(versionReads()).toBe(5);
});

test("looking up one of 100 000 remembered tools is quick", async () => {
  const many = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, index) => [
      `acme/t${index}`,
      { active: "1.0.0", versions: { "1.0.0": "active" as const } },
    ]),
  );
  const resolver = createToolResolver(reads(many), 200_000);
  for (let index = 0; index < 100_000; index += 10) await resolver.resolve("acme", `t${index}`, "");
  const begun = performance.now();
  for (let index = 0; index < 100_000; index += 100) await resolver.resolve("acme", `t${index}`, "");
  // A thousand look-ups; the bound for one is 2 ms.
  expect(performance.now() - begun).toBeLessThan(500);
});
