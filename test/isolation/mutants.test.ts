// Takes the tenant out of one place at a time in a copy of the built runtime, and shows that the fuzz finds it.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fuzz } from "./fuzz/run.ts";

interface Edit {
  /** Below the built runtime. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

interface Mutant {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** Part of what the fuzz says. */
  readonly caughtBy: RegExp;
}

const reads = "adapters/sqlite/reads.js";

const mutants: readonly Mutant[] = [
  {
    name: "an idempotency key is looked for in every tenant",
    edits: [
      {
        file: reads,
        from: `oneCall("c.tenant = ? AND c.project = ? AND c.idempotency_key = ?", tenant, project, key)`,
        to: `oneCall("c.project = ? AND c.idempotency_key = ?", project, key)`,
      },
    ],
    caughtBy: /meets CNRY|answered|broke/,
  },
  {
    name: "a call is read by its id alone",
    edits: [
      {
        file: reads,
        from: `getCall: (tenant, callId) => oneCall("c.tenant = ? AND c.call_id = ?", tenant, callId)`,
        to: `getCall: (tenant, callId) => oneCall("c.call_id = ?", callId)`,
      },
    ],
    caughtBy: /meets CNRY|foreign/,
  },
  {
    name: "a cached result is taken from any tenant",
    edits: [
      { file: reads, from: "WHERE tenant = ? AND cache_key = ?", to: "WHERE cache_key = ?" },
      {
        file: reads,
        from: "LIMIT 1`).get(tenant, cacheKey, settledFrom);",
        to: "LIMIT 1`).get(cacheKey, settledFrom);",
      },
      {
        file: reads,
        from: `oneCall("c.tenant = ? AND c.call_id = ?", tenant, String(newest["call_id"]))`,
        to: `oneCall("c.call_id = ?", String(newest["call_id"]))`,
      },
    ],
    caughtBy: /meets CNRY/,
  },
  {
    name: "twins of all tenants share one run",
    edits: [{ file: "dispatch/flights.js", from: "`${tenant}\\u0000${cacheKey}`", to: "`${cacheKey}`" }],
    caughtBy: /meets CNRY/,
  },
  {
    // The lane alone would not do it: what goes to a worker is addressed with its tenant once more.
    name: "workers get calls of whoever has a tool of their name",
    edits: [
      {
        file: "dispatch/types.js",
        from: "`${toolTenant}\\u0000${tool}\\u0000${version}`",
        to: "`${tool}\\u0000${version}`",
      },
      {
        file: "dispatch/state.js",
        from: "`${tenant}\\u0000${workerId}\\u0000${incarnation}`",
        to: "`${workerId}\\u0000${incarnation}`",
      },
    ],
    caughtBy: /was given a call of|meets CNRY/,
  },
  {
    name: "a name that was resolved for one tenant is resolved for all",
    edits: [
      {
        file: "corridor/catalog.js",
        from: "`${tenant}\\n${project}\\n${tool}\\n${requested}`",
        to: "`${project}\\n${tool}\\n${requested}`",
      },
    ],
    caughtBy: /was given a call of|meets CNRY|answered/,
  },
  {
    name: "rules of all tenants are heard",
    edits: [
      {
        file: "policy/set.js",
        from: `keyOf("project", tenant, project) : keyOf("tenant", tenant)`,
        to: `keyOf("project", tenant, project) : keyOf("tenant", "")`,
      },
      { file: "policy/set.js", from: `keyOf("tenant", subject.tenant)`, to: `keyOf("tenant", "")` },
    ],
    caughtBy: /meets CNRY/,
  },
  {
    // Four guards: who wants a notice, whose webhook a delivery has, whether both belong together, and whose secret opens.
    name: "webhooks hear of every tenant",
    edits: [
      {
        file: "adapters/sqlite/notice-writes.js",
        from: "FROM webhooks WHERE tenant = ? ORDER BY webhook_id",
        to: "FROM webhooks WHERE ? <> '' ORDER BY webhook_id",
      },
      {
        file: "adapters/sqlite/webhook-reads.js",
        from: "ON w.tenant = d.tenant AND w.webhook_id = d.webhook_id",
        to: "ON w.webhook_id = d.webhook_id",
      },
      { file: "corridor/webhooks-deliverer.js", from: "webhook.tenant !== tenant ||", to: "" },
      {
        file: "corridor/webhooks-deliverer.js",
        from: "seal.open([tenant, webhookId]",
        to: "seal.open([webhook.tenant, webhookId]",
      },
    ],
    caughtBy: /the webhook of/,
  },
  {
    name: "a list of calls holds those of every tenant",
    edits: [{ file: "adapters/sqlite/call-list.js", from: `["tenant = ?", `, to: `["? <> ''", ` }],
    caughtBy: /lists a call of|meets CNRY/,
  },
  {
    name: "an approval is read by its id alone",
    edits: [
      {
        file: "adapters/sqlite/approval-reads.js",
        from: `"approvals WHERE tenant = ? AND approval_id = ?", tenant, approvalId`,
        to: `"approvals WHERE approval_id = ?", approvalId`,
      },
      {
        file: "adapters/sqlite/approval-reads.js",
        from: `"votes WHERE tenant = ? AND approval_id = ? ORDER BY position", tenant, approvalId`,
        to: `"votes WHERE approval_id = ? ORDER BY position", approvalId`,
      },
    ],
    caughtBy: /meets CNRY|foreign/,
  },
  {
    name: "all projects of one name share a workspace",
    edits: [
      {
        file: "adapters/builtin/workspace-tools.js",
        from: "return { tenant, project, callId };",
        to: `return { tenant: "one", project, callId };`,
      },
    ],
    caughtBy: /meets CNRY/,
  },
  {
    name: "contents of all tenants stand in one folder",
    edits: [
      {
        file: "adapters/store/layout.js",
        from: "return join(root, plainTenant",
        to: `return join(root, "t-one"); join(root, plainTenant`,
      },
    ],
    caughtBy: /another's file|store: /,
  },
  {
    name: "a cursor is good in every tenant",
    edits: [
      { file: "corridor/cursors.js", from: "const about = [principal.tenant, list];", to: "const about = [list];" },
    ],
    caughtBy: /another's cursor/,
  },
];

const root = fileURLToPath(new URL("../..", import.meta.url));
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-mutants-"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A runtime of its own, which is the built one but for the edits. @returns its command */
function build(at: number, edits: readonly Edit[]): string {
  const copy = join(folder, `packages/runtime-${at}`);
  mkdirSync(copy, { recursive: true });
  for (const part of ["bin", "builtin", "dist", "launch", "package.json"])
    cpSync(join(root, "packages/runtime", part), join(copy, part), {
      recursive: true,
      filter: (path) => !/\.(?:map|d\.ts)$/.test(path),
    });
  for (const { file, from, to } of edits) {
    const path = join(copy, "dist", file);
    const text = readFileSync(path, "utf8");
    if (!text.includes(from)) throw new Error(`${file} no longer has what this mutant changes: ${from}`);
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
  }
  return join(copy, "bin/signalbox.js");
}

describe("mutants of isolation", () => {
  test.each(mutants.map((mutant, at) => [mutant.name, mutant, at] as const))(
    "%s",
    { timeout: 120_000 },
    async (_, { edits, caughtBy }, at) => {
      const { findings } = await fuzz({ calls: 4_000, seed: 7, tenants: 4, bin: build(at, edits) });
      expect(findings.join("\n"), "the fuzz must find it").toMatch(caughtBy);
    },
  );
});
