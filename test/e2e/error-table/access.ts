// The rows about who asks: no credential, an old one, and one that may not.
import { expect } from "vitest";
import { deny } from "../../support/manifests.ts";
import { good, type ErrorCase } from "./case.ts";

const refusedKey = { http: 401, grpc: 16, type: "authentication", retryable: false, details: {} } as const;
const forbidden = { http: 403, grpc: 7, type: "permission", retryable: false } as const;

export const accessCases: readonly ErrorCase[] = [
  {
    code: "unauthenticated",
    when: "no key is sent",
    ...refusedKey,
    reach: ({ admin }) => admin.ask("GET", "/v1/executions", { headers: { authorization: "" } }),
  },
  {
    code: "unauthenticated",
    when: "the key is not known",
    ...refusedKey,
    reach: (world) => world.as("sbk_nobody").get("/v1/executions"),
  },
  {
    code: "token_expired",
    when: "the key's time is over",
    ...refusedKey,
    async reach(world) {
      const expires_at = new Date(Date.now() - 1_000).toISOString();
      const { secret } = await world.stack.makeKey({ principal: "user:late", scopes: ["calls:read"], expires_at });
      return world.as(secret).get("/v1/executions");
    },
  },
  {
    code: "key_revoked",
    when: "the key was taken back",
    ...refusedKey,
    async reach(world) {
      const { secret, keyId } = await world.stack.makeKey({ principal: "user:gone", scopes: ["calls:read"] });
      await good(world.admin.delete(`/v1/keys/${keyId}`));
      return world.as(secret).get("/v1/executions");
    },
  },
  {
    code: "forbidden",
    when: "the key lacks the scope",
    ...forbidden,
    details: { missing_scope: "tools:invoke" },
    async reach(world) {
      const { secret } = await world.stack.makeKey({ principal: "user:vic", scopes: ["calls:read"], grants: ["*"] });
      return world.as(secret).invoke({ tool: "echo", input: {} });
    },
  },
  {
    code: "forbidden",
    when: "the caller lacks a grant",
    ...forbidden,
    details: ({ name }) => ({ missing: [`tool:invoke:${name("ungranted")}`] }),
    recorded: true,
    async reach(world) {
      const tool = await world.tool("ungranted");
      const { secret } = await world.stack.makeKey({ principal: "user:ungranted", scopes: ["tools:invoke"] });
      return world.as(secret).invoke({ tool, input: {} });
    },
  },
  {
    code: "forbidden",
    when: "a rule says no",
    ...forbidden,
    details: ({ name }) => ({ policy: `${name("no")}@1.0.0`, level: "tenant" }),
    recorded: true,
    async reach(world) {
      const tool = await world.tool("denied");
      await world.stack.publish({ name: world.name("no"), match: { tools: [tool] }, then: deny("not on Sundays") });
      return world.admin.invoke({ tool, input: {} });
    },
  },
  {
    code: "policy_error",
    when: "a rule cannot be evaluated",
    ...forbidden,
    details: ({ name }) => ({ policy: `${name("divides")}@1.0.0`, level: "tenant" }),
    recorded: true,
    async reach(world) {
      const count = { type: "integer" };
      const input = { type: "object", required: ["a", "b"], properties: { a: count, b: count } };
      const tool = await world.tool("counted", { input });
      const rule = { name: world.name("divides"), match: { tools: [tool] }, when: "args.a / args.b > 2" };
      await world.stack.publish({ ...rule, then: deny("too much of it") });
      return world.admin.invoke({ tool, input: { a: 1, b: 0 } });
    },
  },
  {
    code: "integrity_violation",
    when: "the version is in quarantine",
    ...forbidden,
    details: ({ name }) => ({ tool: name("tainted"), version: "1.0.0" }),
    async reach(world) {
      const tool = await world.tool("tainted");
      await good(world.admin.post(`/v1/tools/${tool}/quarantine`, { reason: "it lies" }));
      return world.admin.invoke({ tool, version: "1.0.0", input: {} });
    },
  },
  {
    code: "cancelled",
    when: "somebody cancels what its caller waits for",
    http: 200,
    grpc: 1,
    type: "cancelled",
    retryable: false,
    details: { stop_confirmed: true },
    recorded: true,
    async reach(world) {
      const gate = world.name("cancelled");
      const tool = await world.tool("cancelled", {}, world.gates.hold);
      const waiting = world.admin.invoke({ tool, input: { gate } });
      const { callId } = await world.gates.entered(gate);
      await good(world.admin.post(`/v1/executions/${callId}/cancel`));
      return waiting;
    },
  },
];

/** For a detail whose value is made by the runtime. */
export const anyText: unknown = expect.any(String);
