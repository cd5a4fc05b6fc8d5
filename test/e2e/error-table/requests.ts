// The rows about the request itself: malformed, too large, in conflict with what is there, or one too many.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { request } from "undici";
import { expect } from "vitest";
import { slowly } from "../../support/stack.ts";
import { addTenant } from "../../support/tenants.ts";
import { good, type ErrorCase, type World } from "./case.ts";

const invalid = { http: 400, grpc: 3, type: "invalid_request", retryable: false } as const;
const conflict = { http: 409, grpc: 6, type: "conflict", retryable: false } as const;
const tooMuch = { http: 413, grpc: 8, type: "limit", retryable: false } as const;
const tooMany = { http: 429, grpc: 8, type: "limit", retryable: true } as const;
const MiB = 1024 * 1024;

export const requestCases: readonly ErrorCase[] = [
  {
    code: "invalid_input",
    when: "a field of the request is unknown",
    ...invalid,
    details: ({ door }) => ({
      fields: [{ pointer: `/${door.unknownName("toolz")}`, keyword: "additionalProperties" }],
    }),
    reach: ({ admin }) => admin.invoke({ tool: "echo", toolz: "echo", input: {} }),
  },
  {
    code: "invalid_input",
    when: "the input does not match the tool's schema",
    ...invalid,
    details: { errors: [{ pointer: "/url", keyword: "required" }] },
    async reach(world) {
      const tool = await world.tool("strict", { input: { type: "object", required: ["url"] } });
      return world.admin.invoke({ tool, input: {} });
    },
  },
  {
    code: "payload_too_large",
    when: "the body is one byte over 1 MiB",
    ...tooMuch,
    details: { limit: "body_bytes_max", limit_bytes: 1_048_576 },
    reach: ({ admin, door }) => admin.ask("POST", "/v1/executions", { body: bodyOf(MiB + 1 - door.echoBytes) }),
  },
  {
    code: "payload_too_large",
    when: "the input is over 1 MiB, once it is written out",
    ...tooMuch,
    details: {},
    // 1e21 is written out as 1e+21.
    reach: ({ admin }) =>
      admin.ask("POST", "/v1/executions", { body: `{"tool":"echo","input":[${"1e21,".repeat(175_000)}0]}` }),
  },
  {
    code: "idempotency_conflict",
    when: "the key belongs to a call with another input",
    ...conflict,
    details: {},
    recorded: true,
    async reach({ admin, name }) {
      const idempotency_key = name("conflict");
      await good(admin.invoke({ tool: "echo", input: { n: 1 }, idempotency_key }));
      return admin.invoke({ tool: "echo", input: { n: 2 }, idempotency_key });
    },
  },
  {
    code: "conflict",
    when: "a call that has ended is to be resolved",
    ...conflict,
    details: { status: "succeeded" },
    recorded: true,
    async reach({ admin }) {
      const { body } = await good(admin.invoke({ tool: "echo", input: {} }));
      return admin.post(`/v1/executions/${body.execution_id ?? ""}/resolve`, { verdict: "fail" });
    },
  },
  {
    code: "rate_limited",
    when: "a tenant stores a ninth file while eight are on their way",
    ...tooMany,
    details: { retry_after_s: 1 },
    retryAfter: "1",
    reach: putOneTooMany,
  },
  {
    code: "quota_exceeded",
    when: "a tenant has stored 4 GiB",
    ...tooMany,
    details: { limit: "tenant_stored_bytes_max", limit_bytes: 4_294_967_296 },
    async reach(world) {
      const tenant = `full-${world.door.name.toLowerCase()}`;
      const key = await keyOf(world, tenant);
      // A file with a hole in it: its size counts, and it takes no room.
      const folder = join(world.stack.dataDir, "store", `t-${tenant}`, "files", "00");
      mkdirSync(folder, { recursive: true });
      const file = join(folder, createHash("sha256").update(tenant).digest("hex"));
      writeFileSync(file, "");
      truncateSync(file, 4 * 1024 * MiB);
      return world.as(key).ask("PUT", "/v1/files", octets("one more"));
    },
  },
];

const octets = (body: string) => ({ body, headers: { "content-type": "application/octet-stream" } });

function keyOf({ stack }: World, tenant: string): Promise<string> {
  return addTenant(stack.operator, tenant, "user:hoarder");
}

/** An invoke with a text of so many characters. */
function bodyOf(chars: number): string {
  return `{"tool":"echo","input":{"text":"${"a".repeat(chars)}"}}`;
}

async function putOneTooMany(world: World) {
  const key = await keyOf(world, `busy-${world.door.name.toLowerCase()}`);
  const { promise: enough, resolve: finish } = Promise.withResolvers<void>();
  async function* dripping(text: string): AsyncGenerator<Buffer> {
    yield Buffer.from(text);
    await enough;
  }
  const put = (text: string) =>
    request(`${world.stack.url()}/v1/files`, {
      method: "PUT",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" },
      body: Readable.from(dripping(text)),
    });
  const held = Array.from({ length: 8 }, (_, n) => put(`file ${n}`));
  try {
    // What is on its way stands here.
    const making = join(world.stack.dataDir, "store", "making");
    await expect.poll(() => readdirSync(making).length, slowly).toBe(8);
    return await world.as(key).ask("PUT", "/v1/files", octets("the ninth"));
  } finally {
    finish();
    for (const answer of await Promise.all(held)) await answer.body.dump();
  }
}
