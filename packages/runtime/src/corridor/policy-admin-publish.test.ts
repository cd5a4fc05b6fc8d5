// Publishing: what is in force at once, what never changes again, what is refused by its place, and what is warned of.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { by, noon, operator, owner, paper, PolicyOffice, type Paper } from "../../../../test/support/policy-office.ts";
import { setPolicyStatus } from "./policy-admin.ts";
import { publishPolicy } from "./policy-admin-publish.ts";

let office: PolicyOffice;
beforeEach(async () => {
  office = await PolicyOffice.open();
});
afterEach(() => office.close());

const inForce = (name = "rule", tenant = "acme"): string | undefined => {
  const current = office.ports.policies.current();
  if (!current.ok) throw new Error(current.failure);
  return current.set.find({ tenant, reference: name })?.version;
};

const warnings = async (given: Paper, asked = owner): Promise<readonly string[]> =>
  (await office.publish(given, asked, { dryRun: true })).warnings.map(
    ({ path, message, hint }) => `${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`,
  );

describe("publishing", () => {
  beforeEach(() => office.tool("pay"));

  test("a policy is in force at once, stored with its document, and audited", async () => {
    const { policy, alreadyThere, warnings: said, toolsHit } = await office.publish();
    expect({ alreadyThere, said, toolsHit }).toEqual({ alreadyThere: false, said: [], toolsHit: ["pay"] });
    expect(policy).toMatchObject({
      tenant: "acme",
      name: "rule",
      version: "1.0.0",
      level: "tenant",
      decision: "deny",
      status: "active",
      publishedAt: noon,
      publishedBy: "user:own",
    });
    expect(JSON.parse(policy.documentJson)).toEqual(paper());
    expect(inForce()).toBe("1.0.0");
    expect(office.changes).toBe(2);
    expect(await office.audit()).toMatchObject([
      {
        action: "policy.published",
        status: "done",
        principal: "user:own",
        requestId: "req_7",
        details: {
          policy: "rule",
          version: "1.0.0",
          digest: policy.digest,
          level: "tenant",
          decision: "deny",
          status: "active",
        },
      },
    ]);
  });

  test("a dry run says the same and stores nothing", async () => {
    const dry = await office.publish({}, owner, { dryRun: true });
    expect(dry).toMatchObject({ alreadyThere: false, toolsHit: ["pay"], policy: { status: "active" } });
    expect(inForce()).toBeUndefined();
    expect(await office.audit()).toEqual([]);
    expect((await office.publish()).policy.digest).toBe(dry.policy.digest);
  });

  test("POL-07: the same again is nothing new, other content under the same version is refused for ever", async () => {
    const { policy } = await office.publish();
    const shuffled = paper();
    const again = await publishPolicy(
      office.ports,
      owner,
      { spec: shuffled.spec, metadata: shuffled.metadata, kind: "Policy", apiVersion: "signalbox.dev/v1" },
      {},
    );
    expect(again).toMatchObject({
      alreadyThere: true,
      policy: { digest: policy.digest, publishedAt: noon },
      warnings: [],
    });
    await office.clock.pass(5);
    for (const dryRun of [true, false]) {
      await expect(office.publish({ spec: { mode: "observe" } }, owner, { dryRun })).rejects.toMatchObject({
        code: "conflict",
        message:
          "rule@1.0.0 is published already with other content; published policies never change, publish a new version",
        details: {
          policy: "rule",
          version: "1.0.0",
          published_digest: policy.digest,
          digest: expect.not.stringMatching(policy.digest) as string,
        },
      });
    }
    expect((await office.ledger.policy("acme", "rule", "1.0.0"))?.mode).toBe("enforce");
    expect(await office.audit()).toHaveLength(1);
    expect((await office.publish({ version: "1.0.1", spec: { mode: "observe" } })).policy.status).toBe("active");
    expect(inForce()).toBe("1.0.1");
  });

  test("of two that publish at once with other content one is told of the conflict", async () => {
    const both = await Promise.allSettled([office.publish(), office.publish({ spec: { mode: "observe" } })]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(both.find((one) => one.status === "rejected")?.reason).toMatchObject({ code: "conflict" });
    expect((await office.ledger.policies()).map(({ mode }) => mode)).toEqual(["enforce"]);
  });

  test("an older number is kept and not in force; versions are numbers, not texts", async () => {
    await office.publish({ version: "1.9.0" });
    expect((await office.publish({ version: "1.10.0" })).policy.status).toBe("active");
    const late = await office.publish({ version: "1.9.1" });
    expect(late).toMatchObject({
      policy: { status: "superseded" },
      warnings: [
        {
          path: "metadata.version",
          message: "1.9.1 is older than 1.10.0: it is kept, and not in force",
          hint: "'signalbox policies activate rule 1.9.1' puts it in force",
        },
      ],
    });
    expect(inForce()).toBe("1.10.0");
    const again = await office.publish({ version: "1.9.1" });
    expect(again.warnings.map(({ message }) => message)).toEqual([
      "1.9.1 was published before and is superseded: it is not in force",
    ]);
    expect((await office.ledger.policies()).map(({ version, status }) => `${version} ${status}`).toSorted()).toEqual([
      "1.10.0 active",
      "1.9.0 superseded",
      "1.9.1 superseded",
    ]);
  });

  test("a newer one that was withdrawn does not keep an older one out of force", async () => {
    await office.publish({ version: "2.0.0" });
    await setPolicyStatus(office.ports, owner, "rule", "2.0.0", "withdrawn");
    expect((await office.publish({ version: "1.0.0" })).policy.status).toBe("active");
    expect(inForce()).toBe("1.0.0");
  });

  test("the platform's level is the platform's, a tenant's a tenant's", async () => {
    const level = {
      code: "invalid_input",
      details: { problems: [expect.objectContaining({ path: "metadata.level" })] },
    };
    await expect(office.publish({ level: "platform" })).rejects.toMatchObject(level);
    await expect(office.publish({ level: "tenant" }, operator)).rejects.toMatchObject(level);
    expect((await office.publish({ level: "platform" }, operator)).policy.tenant).toBe("platform");
    expect(inForce("rule", "platform")).toBe("1.0.0");
    expect(inForce("rule", "acme")).toBeUndefined();
  });

  test("when it cannot be stored nothing is in force", async () => {
    await office.ledger.close();
    await expect(office.publish()).rejects.toMatchObject({ code: "ledger_unavailable" });
    expect(inForce()).toBeUndefined();
  });
});

describe("refused at publish", () => {
  beforeEach(async () => {
    await office.tool("pay", { amount: { type: "number" }, payee: { type: "string" } });
    await office.tool("ship", { weight: { type: "integer" } });
  });

  const then = { decision: "deny", reason: "No" };
  test.each<[string, Record<string, unknown>, string[]]>([
    ["a misspelt decision", { then: { ...then, decision: "dney" } }, ["spec.then.decision"]],
    ["a decision in capitals", { then: { ...then, decision: "DENY" } }, ["spec.then.decision"]],
    ["an unknown key", { then, unless: "args.amount < 5.0" }, ["spec.unless"]],
    ["an unknown function", { when: "args.payee.trim() == 'x'", then }, ["spec.when"]],
    ["an unknown variable", { when: "arg.amount > 1.0", then }, ["spec.when"]],
    ["a field that no such tool has", { when: "args.amuont > 1000.0", missing: "skip", then }, ["spec.when"]],
    ["a comparison that no value can make", { when: "args.payee > 1000.0", then }, ["spec.when"]],
    [
      "a guard over a field that may be absent",
      { match: { tools: ["refund"] }, when: "args.amount > 1000.0", then },
      ["spec.missing"],
    ],
    ["an allow for everybody and everything", { match: {}, then: { decision: "allow" } }, ["spec.match"]],
    [
      "a question that nobody is asked",
      { then: { decision: "require_approval", reason: "Ask" } },
      ["spec.then.approval"],
    ],
    [
      "all of it at once",
      { mode: "enforced", match: { tools: ["p*y"] }, when: "args.", missing: "maybe", then: { decision: "no" } },
      ["spec.mode", "spec.match.tools[0]", "spec.when", "spec.missing", "spec.then.decision", "spec.then.reason"],
    ],
  ])("%s", async (_, spec, paths) => {
    const document = { ...paper(), spec: { match: { tools: ["pay"] }, ...spec } };
    const refused = await publishPolicy(office.ports, owner, document, {}).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "invalid_input" });
    const { problems } = (refused as { details: { problems: { path: string; message: string }[] } }).details;
    expect(problems.map(({ path }) => path)).toEqual(paths);
    expect(await office.ledger.policies()).toEqual([]);
  });

  test("a misspelt word comes with the one that was meant", async () => {
    const document = paper({ spec: { when: "args.amuont > 1000.0", missing: "skip" } });
    await expect(publishPolicy(office.ports, owner, document, {})).rejects.toMatchObject({
      message: "the policy has 1 problem(s); the first: spec.when: there is no args.amuont in pay",
      details: {
        problems: [{ path: "spec.when", message: "there is no args.amuont in pay", hint: 'did you mean "amount"?' }],
      },
    });
  });

  test("whatever is no document", async () => {
    for (const document of [null, [], "kind: Policy", 7, undefined, { kind: "Tool" }])
      await expect(publishPolicy(office.ports, owner, document, {})).rejects.toMatchObject({ code: "invalid_input" });
  });
});

describe("what the schemas say", () => {
  test("fields that every tool the rule concerns requires need no word on absence, and the active version counts", async () => {
    await office.tool("pay", { amount: { type: "number" } });
    const guard = { when: "args.amount > 1000.0" };
    await office.publish({ spec: guard });
    await office.tool(
      "pay",
      {},
      { version: "2.0.0", spec: { input: { type: "object", properties: { amount: { type: "number" } } } } },
    );
    await expect(office.publish({ version: "1.0.1", spec: { mode: "observe", ...guard } })).rejects.toMatchObject({
      details: {
        problems: [
          expect.objectContaining({ path: "spec.missing", message: "is required: args.amount may be absent" }),
        ],
      },
    });
  });

  test("only tools that the rule concerns are read", async () => {
    for (let index = 0; index < 30; index++) await office.tool(`other${index}`);
    await office.tool("pay");
    const read: string[] = [];
    const { toolVersion } = office.ledger;
    office.ledger.toolVersion = (tenant, tool, version) => {
      read.push(tool);
      return toolVersion.call(office.ledger, tenant, tool, version);
    };
    await office.publish({ spec: { when: "args.amount > 1000.0" } });
    expect(read).toEqual(["pay"]);
    await office.publish({ name: "closed", spec: { when: "now.getHours() < 6" } });
    expect(read).toEqual(["pay"]);
  });

  test("a tool of the tenant hides the platform's; the platform is told of the tools of all", async () => {
    await office.tool("pay", { amount: { type: "number" } });
    await office.tool("pay", { cents: { type: "integer" } }, { tenant: "platform" });
    await office.tool("echo", { text: { type: "string" } }, { tenant: "platform" });
    expect(await warnings({ spec: { match: { tools: ["pay", "echo"] } } })).toEqual([]);
    expect(await warnings({ spec: { when: "args.amount > 1.0" } })).toEqual([]);
    const platform = { level: "platform", spec: { when: "args.amount > 1.0", missing: "match" } };
    expect(await warnings(platform, operator)).toEqual([
      "spec.when: there is no args.amount in pay: there it counts as absent (it has cents)",
    ]);
  });
});

describe("warnings", () => {
  beforeEach(async () => {
    for (const name of ["payments.charge", "payments.refund", "mail.send"]) await office.tool(name);
  });

  test("a pattern that names nothing; the tools that are hit are listed", async () => {
    const published = await office.publish({
      spec: { match: { tools: ["payments.*", "payment.charge", "payments.charge"] } },
    });
    expect(published.toolsHit).toEqual(["payments.charge", "payments.refund"]);
    expect(published.warnings).toEqual([
      {
        path: "spec.match.tools[1]",
        message: "payment.charge names no tool that is known",
        hint: "payments.* names payments.charge, payments.refund; payments.charge names payments.charge",
      },
    ]);
  });

  test("a project and an environment that nobody has", async () => {
    expect(
      await warnings({
        level: "project",
        project: "shpo",
        spec: { match: { tools: ["mail.send"], environments: ["prod", "production"] } },
      }),
    ).toEqual([
      'metadata.project: shpo is no project that is known (did you mean "shop"?)',
      "spec.match.environments[0]: prod is the environment of no project (the rule waits for one)",
    ]);
    expect(await warnings({ level: "platform", spec: { match: { environments: ["production"] } } }, operator)).toEqual(
      [],
    );
  });

  test("a rule that others leave without effect, the platform's among them, but no other tenant's", async () => {
    const all = { match: { tools: ["payments.*"] } };
    await office.publish({ name: "stop", level: "platform", spec: all }, operator);
    await office.publish({ name: "elsewhere", spec: all }, by({ tenant: "umbrella", scopes: new Set(["*"]) }));
    const allow = { match: { tools: ["payments.charge"] }, then: { decision: "allow" } };
    expect(await warnings({ name: "charge", spec: allow })).toEqual([
      "spec: has no effect: stop@1.0.0 says deny for every call that it matches (the strictest rule wins, whatever the order)",
    ]);
  });

  test("while the policies cannot be read, that nobody looked at them", async () => {
    const { policies } = office.ports;
    await policies.load({ ...office.ledger, tenants: () => Promise.reject(new Error("the disk is gone")) } as never);
    expect((await warnings({ spec: { match: { tools: ["mail.send"] } } }))[0]).toMatch(
      /was not held against other policies: .*the disk is gone/,
    );
  });
});

describe("bounds", () => {
  test("beyond 5 000 tools the rest is not looked at, and that is said", async () => {
    const record = (index: number) => ({ tenant: "acme", tool: `t${index}`, activeVersion: null }) as never;
    office.ledger.listTools = async (_tenant, limit, cursor) => {
      const from = Number(cursor ?? 0);
      return { items: Array.from({ length: limit }, (_, index) => record(from + index)), next: String(from + limit) };
    };
    const found = await office.publish({ spec: { match: { tools: ["t4999", "t5000", "*"] } } }, owner, {
      dryRun: true,
    });
    expect(found.toolsHit).toHaveLength(1_000);
    expect(found.warnings.map(({ message }) => message)).toEqual([
      "t5000 names no tool that is known",
      "was held against the first 5000 tools alone: there are more",
    ]);
  });

  test("no name has more than 1 000 versions", async () => {
    const { policy } = await office.publish();
    const { documentJson: _, ...row } = policy;
    const many = Array.from({ length: 1_000 }, (_one, index) => ({
      ...row,
      version: `0.0.${index}`,
      status: "superseded" as const,
    }));
    office.ledger.listPolicies = async () => ({ items: many, next: undefined });
    await expect(office.publish({ version: "1.0.1" })).rejects.toMatchObject({
      code: "conflict",
      details: { policy: "rule", versions: 1_000, limit: 1_000 },
    });
  });
});

test.each([false, true])("needs policies:write before anything is looked at (dry run: %s)", async (dryRun) => {
  await expect(publishPolicy(office.ports, by(), {}, { dryRun })).rejects.toMatchObject({
    code: "forbidden",
    details: { missing_scope: "policies:write" },
  });
  expect(await office.audit()).toMatchObject([{ status: "refused", details: { missing_scope: "policies:write" } }]);
});
