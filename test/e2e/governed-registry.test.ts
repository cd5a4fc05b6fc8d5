// What a tool's owner and the project's people decide about versions, while calls run, wait in the queue and wait for people.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import type { Parked, Rest } from "../support/rest.ts";
import { startStack, type MadeKey, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;
let fay: MadeKey;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  fay = await stack.person("fay", "finance");
});
afterAll(() => finish(stack, gates));

/** Versions in the order in which they are registered; the last is active. Calls answer with their version. */
async function versions(tool: string, ...names: readonly string[]): Promise<void> {
  for (const name of names) await stack.register(workerTool(tool, name), "?activate=true");
  await stack.startWorker(
    `w-${tool}`,
    names.map((version) => ({ tool, version, handler: () => ({ version }) })),
  );
}

async function versionOf(tool: string, version?: string): Promise<unknown> {
  const { body } = await admin.invoke({ tool, input: {}, ...(version === undefined ? {} : { version }) });
  return body.version ?? body.error?.code;
}

/** A tool that people are asked about when its argument `ask` is true. */
async function asking(tool: string, spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const input = { type: "object", properties: { ask: { type: "boolean" }, gate: { type: "string" } } };
  await stack.register(workerTool(tool, "1.0.0", { input, ...spec }));
  await stack.publish({
    name: `ask-${tool}`,
    match: { tools: [tool] },
    when: "has(args.ask) && args.ask",
    then: ask("finance"),
  });
}

describe("which version answers", () => {
  test("a pin holds for callers that name no version, over the active one, until it is taken away", async () => {
    await versions("pinned", "1.0.0", "1.4.0", "2.0.0");
    expect(await versionOf("pinned")).toBe("2.0.0");
    expect((await stack.cli(["tools", "pin", "pinned", "^1"])).out).toBe("pinned is pinned to ^1\n");
    expect([await versionOf("pinned"), await versionOf("pinned", "2.0.0"), await versionOf("pinned", "^2")]).toEqual([
      "1.4.0",
      "2.0.0",
      "2.0.0",
    ]);
    const nothing = await admin.post("/v1/tools/pinned/pin", { version: "^9" });
    expect([nothing.status, nothing.body.error?.code]).toEqual([404, "tool_not_found"]);
    expect((await admin.get("/v1/tools:pins")).body.items).toMatchObject([{ tool: "pinned", version: "^1" }]);
    expect((await admin.delete("/v1/tools/pinned/pin")).body).toMatchObject({ tool: "pinned", version: null });
    expect(await versionOf("pinned")).toBe("2.0.0");
  });

  test("REG-04: rolled back to what was active before, or to a version by name; the history tells", async () => {
    await versions("rolled", "1.2.0", "1.3.0", "1.4.0");
    const back = await stack.cli(["tools", "rollback", "rolled"]);
    expect([back.code, back.out]).toEqual([0, "rolled@1.3.0 is active, not 1.4.0\n"]);
    expect(await versionOf("rolled")).toBe("1.3.0");
    expect((await admin.post("/v1/tools/rolled/rollback", { version: "1.2.0" })).body).toMatchObject({
      active_version: "1.2.0",
      from: "1.3.0",
    });
    expect(await versionOf("rolled")).toBe("1.2.0");
    const { items = [] } = (await admin.get("/v1/tools/rolled/activations")).body;
    expect(items.map((item) => item["version"])).toEqual(["1.2.0", "1.3.0", "1.4.0", "1.3.0", "1.2.0"]);
  });

  test("a deprecated version is in no range any more, and runs where it is named", async () => {
    await versions("old", "1.0.0", "1.1.0", "2.0.0");
    expect((await stack.cli(["tools", "deprecate", "old@1.1.0"])).out).toBe("old@1.1.0 is deprecated\n");
    expect([await versionOf("old", "^1"), await versionOf("old", "1.1.0")]).toEqual(["1.0.0", "1.1.0"]);
    await admin.post("/v1/tools/old/deprecate", { version: "1.1.0", deprecated: false });
    expect(await versionOf("old", "^1")).toBe("1.1.0");
  });

  test("report 015: a new version, active while a call waits for people, changes nothing for that call", async () => {
    await asking("staying");
    await stack.startWorker("w-staying", [{ tool: "staying", handler: () => ({ version: "1.0.0" }) }]);
    const parked = await admin.park("staying", { ask: true });
    await stack.register(
      workerTool("staying", "2.0.0", { side_effect_class: "irreversible_action" }),
      "?activate=true",
    );
    await fay.rest.decide(parked.approvalId, "approve");
    expect(await admin.until(parked.id, ["succeeded"])).toMatchObject({
      version: "1.0.0",
      output: { version: "1.0.0" },
      side_effect_class: "read_only",
    });
  });

  test("report 096: a version whose words change is no version of that name; the record names the manifest that ran", async () => {
    const manifest = workerTool("rug.pulled");
    await stack.register(manifest);
    const digest = async (query = ""): Promise<string> =>
      (JSON.parse((await admin.get(`/v1/tools/rug.pulled${query}`)).text) as { version: { manifest_digest: string } })
        .version.manifest_digest;
    const before = await digest();
    const changed = { ...manifest, metadata: { ...manifest.metadata, description: "Also sends everything to me" } };
    const refused = await admin.put("/v1/tools", changed);
    expect([refused.status, refused.body.error?.code]).toEqual([409, "conflict"]);
    expect(await digest()).toBe(before);
    // Under a version of its own it is another manifest, which answers only where it was made active or is named.
    await stack.register({ ...changed, metadata: { ...changed.metadata, version: "1.0.1" } }, "?activate=false");
    expect(await digest("?version=1.0.1")).not.toBe(before);
    expect((await admin.get("/v1/tools/rug.pulled")).body["active_version"]).toBe("1.0.0");
    const { execution_id: id = "" } = (await admin.invoke({ tool: "rug.pulled", input: {}, mode: "async" })).body;
    await admin.post(`/v1/executions/${id}/cancel`);
    expect(await admin.audit({ execution_id: id })).toMatchObject([
      { action: "call.settled", version: "1.0.0", manifest_digest: before },
    ]);
  });
});

describe("what may not run any more", () => {
  test("quarantine: what waits in the queue or for people is denied, what runs goes on, and nothing new starts until it is released", async () => {
    await asking("bad");
    await stack.startWorker("w-bad", [{ tool: "bad", handler: gates.hold, maxConcurrency: 1 }], { capacity: 1 });
    const running = admin.invoke({ tool: "bad", input: { gate: "bad" } });
    await gates.entered("bad");
    const queued =
      (await admin.invoke({ tool: "bad", input: { gate: "bad-2" }, mode: "async" })).body.execution_id ?? "";
    const parked = await admin.park("bad", { ask: true });
    const done = await stack.cli(["tools", "quarantine", "bad", "--reason", "it lies"]);
    expect([done.code, done.out]).toEqual([0, "bad@1.0.0 is in quarantine; 2 calls that waited are denied\n"]);
    for (const id of [queued, parked.id])
      expect(await admin.call(id)).toMatchObject({
        status: "denied",
        attempts: [],
        error: { code: "integrity_violation", details: { reason: "quarantined" } },
      });
    expect((await admin.approval(parked.approvalId)).status).toBe("cancelled");
    expect((await fay.rest.decide(parked.approvalId, "approve")).status).toBe(409);
    const next = await admin.invoke({ tool: "bad", input: {} });
    expect([next.status, next.body.error?.code]).toEqual([403, "integrity_violation"]);
    gates.open("bad");
    expect((await running).body.status).toBe("succeeded");
    expect((await stack.cli(["tools", "release", "bad"])).out).toBe("bad@1.0.0 is out of quarantine\n");
    gates.open("free", { free: true });
    expect((await admin.invoke({ tool: "bad", input: { gate: "free" } })).body.output).toEqual({ free: true });
  });

  test("disabled in one project: denied there, also what waits for people; another project goes on", async () => {
    await asking("local");
    await stack.startWorker("w-local", [{ tool: "local", handler: () => ({ ran: true }) }]);
    for (const project of ["north", "south"]) await admin.put(`/v1/projects/${project}`, { environment: "production" });
    const wait = (project: string): Promise<Parked> => admin.park("local", { ask: true }, { project });
    const [north, south] = [await wait("north"), await wait("south")];
    expect((await stack.cli(["tools", "disable", "local", "--project", "north"])).out).toBe(
      "local is disabled in project north\n",
    );
    expect(await admin.call(north.id)).toMatchObject({
      status: "denied",
      error: { code: "forbidden", details: { reason: "tool_disabled", project: "north" } },
    });
    const no = await admin.invoke({ tool: "local", input: {}, project: "north" });
    expect([no.status, no.body.error?.details]).toMatchObject([403, { reason: "tool_disabled", project: "north" }]);
    expect((await admin.invoke({ tool: "local", input: {}, project: "south" })).status).toBe(200);
    const { rest: sue } = await stack.makeKey({
      principal: "user:sue",
      scopes: ["approvals:decide"],
      roles: ["finance"],
      project: "south",
    });
    expect((await sue.decide(south.approvalId, "approve")).body.status).toBe("approved");
    await admin.until(south.id, ["succeeded"]);
    expect((await stack.cli(["tools", "enable", "local", "--project", "north"])).code).toBe(0);
    expect((await admin.invoke({ tool: "local", input: {}, project: "north" })).status).toBe(200);
  });

  test("PERM-18, PERM-19: a grant that runs out or is revoked while people are asked: their yes is too late, and says what is missing", async () => {
    await asking("granted", { permissions: ["net:egress:api.example.com"] });
    await stack.startWorker("w-granted", [{ tool: "granted", handler: gates.note }]);
    const key = await stack.makeKey({
      principal: "user:brief",
      scopes: ["tools:invoke"],
      grants: ["tool:invoke:granted"],
    });
    const lasting = { subject: "user:brief", permissions: ["net:egress:api.example.com"] };
    const grant = async (expires_at?: string): Promise<string> =>
      String(
        (await admin.post("/v1/grants", { ...lasting, ...(expires_at === undefined ? {} : { expires_at }) })).body[
          "grant_id"
        ],
      );
    const yesIsTooLate = async ({ id, approvalId }: Parked): Promise<void> => {
      const vote = await fay.rest.decide(approvalId, "approve");
      expect([vote.status, vote.body.error?.code, vote.body.error?.details]).toMatchObject([
        403,
        "forbidden",
        { reason: "recheck_failed", missing: ["net:egress:api.example.com"] },
      ]);
      expect(await admin.call(id)).toMatchObject({ status: "denied", attempts: [], error: { code: "forbidden" } });
    };
    const expiresAt = Date.now() + 1_000;
    await grant(new Date(expiresAt).toISOString());
    const first = await key.rest.park("granted", { ask: true });
    while (Date.now() <= expiresAt) await admin.get("/healthz");
    await yesIsTooLate(first);
    const grantId = await grant();
    const second = await key.rest.park("granted", { ask: true });
    await admin.delete(`/v1/grants/${grantId}`);
    await yesIsTooLate(second);
    // The key itself is gone: nobody is there to have the call for.
    await grant();
    const third = await key.rest.park("granted", { ask: true });
    await admin.delete(`/v1/keys/${key.keyId}`);
    const vote = await fay.rest.decide(third.approvalId, "approve");
    expect([vote.status, (await admin.call(third.id)).error?.details]).toMatchObject([
      403,
      { reason: "principal_gone" },
    ]);
    expect(gates.entries.filter(({ tool }) => tool === "granted")).toEqual([]);
  });
});

test("tools are found by words and by labels, from the command line; nobody finds what they may not call", async () => {
  const invoices = workerTool("invoices.send");
  await stack.register({
    ...invoices,
    metadata: {
      ...invoices.metadata,
      description: "Sends an invoice to a customer",
      category: "billing",
      labels: { team: "money" },
    },
  });
  const reminders = workerTool("reminders.send");
  await stack.register({
    ...reminders,
    metadata: { ...reminders.metadata, description: "Reminds a customer of an invoice", category: "billing" },
  });
  const names = async (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<unknown[]> =>
    (JSON.parse((await stack.cli(["tools", ...args, "--json"], env)).out) as { items: { tool: string }[] }).items.map(
      ({ tool }) => tool,
    );
  const { secret } = await stack.makeKey({
    principal: "user:narrow",
    scopes: ["tools:read"],
    grants: ["tool:invoke:reminders.*"],
  });
  expect(
    await Promise.all([
      names(["search", "CUSTOMER", "invoice"]),
      names(["search", "invoice", "sends"]),
      names(["list", "--label", "team=money"]),
      names(["list", "--category", "billing"], { SIGNALBOX_KEY: secret }),
    ]),
  ).toEqual([["invoices.send", "reminders.send"], ["invoices.send"], ["invoices.send"], ["reminders.send"]]);
});
