// Rules as files: a folder that the runtime starts with, and what the command line publishes, explains and tries out.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { workerTool } from "../support/manifests.ts";
import { openTill, order, paymentTool } from "../support/payments.ts";
import type { Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";

const till = openTill();
let stack: Stack;
let admin: Rest;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  await stack.register(paymentTool("cli.pay"));
  await stack.startWorker("w-till", [{ tool: "cli.pay", handler: till.pay }]);
});
afterAll(() => finish(stack, till));

describe("dev --policies <folder>", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-policies-"));
    mkdirSync(join(folder, "deep"));
    const on = (level: string, what: string): string =>
      yaml(`${level}-rule`, "1.0.0", "true", `deny\n    reason: ${what}`, level).replace("cli.*", `${level}.*`);
    writeFileSync(join(folder, "platform.policy.yaml"), on("platform", "no shell anywhere"));
    writeFileSync(join(folder, "deep", "tenant.policy.yaml"), on("tenant", "not here"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("POL-01: what stands in it holds from the first call on, also after a restart, each at its level", async () => {
    const other = await startStack({ args: ["--policies", folder] });
    const denied = async (tool: string): Promise<unknown> =>
      (await other.admin.invoke({ tool, input: {} })).body.error?.details;
    try {
      for (const tool of ["platform.a", "tenant.a", "free.a"]) await other.register(workerTool(tool));
      for (let starts = 0; starts < 2; starts++) {
        expect(await denied("platform.a")).toMatchObject({ policy: "platform-rule@1.0.0", level: "platform" });
        expect(await denied("tenant.a")).toMatchObject({ policy: "tenant-rule@1.0.0", level: "tenant" });
        if (starts > 0) break;
        await other.stop();
        await other.start();
      }
      const { items = [] } = (await other.admin.get("/v1/policies")).body;
      expect(items.map(({ name, version, status, published_by }) => [name, version, status, published_by])).toEqual([
        ["tenant-rule", "1.0.0", "active", "service:signalbox-dev"],
      ]);
      const [queued] = [await other.admin.invoke({ tool: "free.a", input: {}, mode: "async" })];
      expect((await other.admin.post(`/v1/executions/${queued.body.execution_id ?? ""}/cancel`)).body.status).toBe(
        "cancelled",
      );
    } finally {
      await finish(other);
    }
  });

  test("a rule in it that is wrong keeps the runtime from starting: somebody counts on it", async () => {
    const wrong = join(folder, "wrong");
    mkdirSync(wrong);
    writeFileSync(join(wrong, "wrong.policy.yaml"), yaml("wrong", "1.0.0", "true", "denny\n    reason: misspelt"));
    const { code, out, err } = await stack.cli([
      "dev",
      "--port",
      "0",
      "--grpc-port",
      "0",
      "--data",
      join(folder, "data"),
      "--policies",
      wrong,
    ]);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("wrong.policy.yaml");
    expect(err).toContain("spec.then.decision");
  });
});

describe("the command line", () => {
  test("publishes files, answers what would happen and why, and runs a file of cases", async () => {
    const folder = join(stack.folder, "rules");
    mkdirSync(folder);
    const file = (name: string, text: string): void => writeFileSync(join(folder, name), text);
    file(
      "people.policy.yaml",
      yaml(
        "payments-need-a-person",
        "1.0.0",
        "args.amount > 1000.0",
        "require_approval\n    reason: Payments above 1000 need a person\n    approval: { route: finance, approvals: 2 }",
      ),
    );
    file("usd.policy.yaml", yaml("usd-only", "1.0.0", 'args.currency != "USD"', "deny\n    reason: USD only"));
    const dry = await stack.cli(["policies", "publish", "rules", "--dry-run"]);
    expect([dry.code, dry.out]).toEqual([
      0,
      expect.stringContaining("payments-need-a-person@1.0.0 would be published: require_approval for cli.pay"),
    ]);
    expect((await admin.get("/v1/policies/usd-only")).status).toBe(404);
    const published = await stack.cli(["policies", "publish", "rules"]);
    expect([published.code, published.out.split("\n").length]).toEqual([0, 3]);

    const asked = await stack.cli(["policies", "explain", "cli.pay", "--input", JSON.stringify(order(1_500))]);
    expect([asked.code, asked.out]).toEqual([0, expect.stringContaining("Payments above 1000 need a person")]);
    writeFileSync(join(stack.folder, "euro.json"), JSON.stringify(order(5, { currency: "EUR" })));
    const json = await stack.cli(["policies", "explain", "cli.pay", "--input", "@euro.json", "--json"]);
    expect([json.code, JSON.parse(json.out)]).toMatchObject([
      0,
      { decision: "deny", reason: "USD only", deciding: { policy: "usd-only", version: "1.0.0" } },
    ]);
    // Nothing was run and nothing stored.
    expect(till.receipts.filter(({ tool }) => tool === "cli.pay")).toEqual([]);
    expect((await admin.get("/v1/executions?tool=cli.pay")).body.items).toEqual([]);

    const small = {
      name: "small is free",
      call: { tool: "cli.pay", args: order(5) },
      expect: { decision: "allow", rules: [] },
    };
    const large = {
      name: "large asks",
      call: { tool: "cli.pay", args: order(1_001) },
      expect: { decision: "require_approval", rules: ["payments-need-a-person"] },
    };
    const euros = {
      name: "euros pass",
      call: { tool: "cli.pay", args: order(5, { currency: "EUR" }) },
      expect: { decision: "allow" },
    };
    writeFileSync(join(stack.folder, "good.json"), JSON.stringify({ cases: [small, large] }));
    writeFileSync(join(stack.folder, "all.json"), JSON.stringify({ cases: [small, large, euros] }));
    const good = await stack.cli(["policies", "test", "good.json"]);
    expect(good).toEqual({ code: 0, out: "ok      small is free\nok      large asks\n", err: "2 passed\n" });
    const bad = await stack.cli(["policies", "test", "all.json"]);
    expect([bad.code, bad.err]).toEqual([1, "2 passed, 1 failed\n"]);
    expect(bad.out).toContain("FAILED  euros pass\n        decision is deny, not allow");
    // A candidate in place of the rule in force makes the third case pass, and changes nothing.
    writeFileSync(
      join(stack.folder, "next.policy.yaml"),
      yaml("usd-only", "1.1.0", 'args.currency == "JPY"', "deny\n    reason: no yen"),
    );
    expect((await stack.cli(["policies", "test", "all.json", "--policies", "next.policy.yaml"])).code).toBe(0);
    expect((await admin.invoke({ tool: "cli.pay", input: order(5, { currency: "EUR" }) })).status).toBe(403);
  });

  test("--platform speaks with the operator's key of the client file, and only then", async () => {
    writeFileSync(
      join(stack.folder, "platform.policy.yaml"),
      yaml("cli-platform", "1.0.0", "args.amount > 5000.0", "deny\n    reason: the platform says no", "platform"),
    );
    const refused = await stack.cli(["policies", "publish", "platform.policy.yaml"]);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining("metadata.level: platform is for the platform alone"),
    ]);
    const taken = await stack.cli(["policies", "publish", "platform.policy.yaml", "--platform"]);
    expect([taken.code, taken.err]).toEqual([0, ""]);
    expect((await admin.invoke({ tool: "cli.pay", input: order(6_000) })).body.error?.details).toMatchObject({
      policy: "cli-platform@1.0.0",
      level: "platform",
    });
    const withdrawn = await stack.cli(["policies", "withdraw", "cli-platform", "1.0.0", "--platform"]);
    expect(withdrawn.code).toBe(0);
    const { id } = await admin.park("cli.pay", order(6_000));
    await admin.post(`/v1/executions/${id}/cancel`);
  });
});

function yaml(name: string, version: string, when: string, decision: string, level = "tenant"): string {
  return `apiVersion: signalbox.dev/v1
kind: Policy
metadata: { name: ${name}, version: ${version}, level: ${level} }
spec:
  match: { tools: ["cli.*"] }
  when: ${JSON.stringify(when)}
  then:
    decision: ${decision}
`;
}
