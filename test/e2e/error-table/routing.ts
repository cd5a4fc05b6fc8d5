// The rows about nobody being there to do it, and about a runtime that is in trouble itself.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ToolError } from "@signalbox/worker";
import { addTenant } from "../../support/tenants.ts";
import type { ErrorCase } from "./case.ts";

const unavailable = { http: 503, grpc: 14, type: "routing", retryable: true } as const;

export const routingCases: readonly ErrorCase[] = [
  {
    code: "no_handler",
    when: "no worker serves the tool",
    ...unavailable,
    details: {},
    recorded: true,
    async reach(world) {
      return world.admin.invoke({ tool: await world.tool("unserved"), input: {} });
    },
  },
  {
    code: "capacity_exhausted",
    when: "all that serve the tool are busy",
    ...unavailable,
    details: {},
    recorded: true,
    async reach(world) {
      const gate = world.name("busy");
      const tool = await world.tool("busy", {}, world.gates.hold);
      const holder = world.admin.invoke({ tool, input: { gate } });
      await world.gates.entered(gate);
      const answer = await world.admin.invoke({ tool, input: { gate } });
      world.gates.open(gate);
      await holder;
      return answer;
    },
  },
  {
    code: "breaker_open",
    when: "the tool has failed too often",
    ...unavailable,
    details: { version: "1.0.0" },
    retryAfter: "60",
    async reach(world) {
      const down = (): never => {
        throw new ToolError("down", "the shop is closed", { retryable: true });
      };
      const tool = await world.tool("down", { breaker: { failures: 1, cool_down: "1m" } }, down);
      await world.admin.invoke({ tool, input: {} });
      return world.admin.invoke({ tool, input: {} });
    },
  },
  {
    code: "sandbox_unavailable",
    when: "no box of the kind that the tool needs is there",
    ...unavailable,
    details: { able: ["wasm"], backends: [] },
    reach: ({ admin }) => admin.invoke({ tool: "code.run", input: { language: "javascript", code: "1" } }),
  },
  {
    code: "internal",
    when: "a row of the ledger was damaged",
    http: 500,
    grpc: 13,
    type: "runtime",
    retryable: false,
    details: {},
    async reach(world) {
      const tenant = `damaged-${world.door.name.toLowerCase()}`;
      const { dataDir, operator } = world.stack;
      const key = await addTenant(operator, tenant, "user:unlucky");
      const ledger = new DatabaseSync(join(dataDir, "ledger.db"), { timeout: 5_000 });
      ledger.prepare("UPDATE keys SET scopes_json = '[' WHERE tenant = ?").run(tenant);
      ledger.close();
      return world.as(key).get("/v1/executions");
    },
  },
];
