// Agents from a file to a version that runs, as their owner does it: at the command line, over REST, at the runtime's start.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli } from "../support/command-line.ts";
import { finish } from "../support/finish.ts";
import { agentDocument, deny, policyDocument, workerTool } from "../support/manifests.ts";
import { startStack, type Stack } from "../support/stack.ts";

let stack: Stack;
let folder: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  stack = await startStack();
  folder = mkdtempSync(join(tmpdir(), "signalbox-agents-"));
  env = { SIGNALBOX_URL: stack.url(), SIGNALBOX_KEY: stack.adminKey };
  await stack.register(workerTool("payments.charge", "1.0.0", { side_effect_class: "non_idempotent_write", scheduling: "exclusive" }));
  // Agents make no calls here; that the ledger's rules hold is asked of one.
  await stack.admin.invoke({ tool: "echo", input: {} });
});
afterAll(async () => {
  await finish(stack);
  rmSync(folder, { recursive: true, force: true });
});

type Fields = Readonly<Record<string, unknown>>;

/** Runs `signalbox agents …` in the folder. */
const agents = (...args: string[]) => cli(["agents", ...args], { env, cwd: folder });

/** Writes a manifest into a folder of its own. @returns its path as people write it */
function write(place: string, document: unknown): string {
  mkdirSync(join(folder, place), { recursive: true });
  writeFileSync(join(folder, place, "agent.yaml"), stringify(document));
  return `${place}/agent.yaml`;
}

const support = (version: string, spec: Fields = {}) => agentDocument("support", version, { tools: [{ tool: "payments.charge@1.0.0", as: "charge" }], ...spec });

describe("validate, without a runtime", () => {
  const wrong: readonly (readonly [id: string, document: unknown, said: string])[] = [
    ["A1: a version that is none", agentDocument("support", "not-a-version"), `metadata.version "not-a-version" is no version`],
    ["A2: the same tool bound twice", support("1.0.0", { tools: [{ tool: "a@1.0.0" }, { tool: "a@1.0.0", as: "b" }] }), "spec.tools[1].tool a is bound twice"],
    ["A3: a default policy that has no file", support("1.0.0", { default_policies: ["house@1.0.0"] }), "spec.default_policies[0] names the policy house@1.0.0, and no file of it stands in the manifest's folder or below"],
    ["A4: a policy written in place", support("1.0.0", { default_policies: [policyDocument({ name: "house", match: {}, then: deny("no") })] }), "spec.default_policies[0] is a policy written in place, and policies are published apart from agents"],
    ["A6: a side-effect class that is none", support("1.0.0", { tools: [{ tool: "a@1.0.0", side_effect_class: "destructive" }] }), "spec.tools[0].side_effect_class must be one of"],
  ];
  test.each(wrong)("%s is refused by its place", async (id, document, said) => {
    const path = write(`wrong-${id.slice(0, 2)}`, document);
    const { code, out } = await agents("validate", path);
    expect(code).toBe(1);
    expect(out).toContain(said);
    expect(out).toMatch(new RegExp(`^${path}:\\d+: problem: `));
  });

  test("A5: a secret whose variable is not set is a warning that names it", async () => {
    const path = write("secret", support("1.0.0", { secrets: { STRIPE: "env:STRIPE_KEY" } }));
    const { code, out } = await agents("validate", path);
    expect(code).toBe(0);
    expect(out).toContain("warning: spec.secrets.STRIPE the variable STRIPE_KEY is not set here");
    const set = await cli(["agents", "validate", path], { env: { STRIPE_KEY: "x" }, cwd: folder });
    expect(set.out).toBe("secret/agent.yaml: ok support@1.0.0\n");
  });

  test("H1, H2: init writes a manifest that is valid, and never over one that is there", async () => {
    const { code, out } = await agents("init", "fresh");
    expect([code, out.split("\n")[0]]).toEqual([0, "wrote fresh/agent.yaml"]);
    expect((await agents("validate", "fresh")).out).toBe("fresh/agent.yaml: ok fresh@1.0.0\n");
    writeFileSync(join(folder, "fresh", "agent.yaml"), "mine");
    const again = await agents("init", "fresh");
    expect([again.code, readFileSync(join(folder, "fresh", "agent.yaml"), "utf8")]).toEqual([2, "mine"]);
    expect(again.err).toContain("fresh/agent.yaml is there already and was left as it is");
  });

  test("H2: a bundle: policies and tools beside the manifest are looked at", async () => {
    const path = write("bundle", support("1.0.0", { default_policies: ["house@1.0.0"], tools: [{ tool: "pay@1.0.0", scheduling: "parallel" }] }));
    mkdirSync(join(folder, "bundle", "policies"));
    writeFileSync(join(folder, "bundle", "policies", "house.policy.yaml"), stringify(policyDocument({ name: "house", match: { tools: ["pay"] }, then: deny("no") })));
    expect((await agents("validate", path)).code).toBe(0);
    expect((await cli(["validate", "bundle"], { env, cwd: folder })).code).toBe(0);
    mkdirSync(join(folder, "bundle", "tools"));
    writeFileSync(join(folder, "bundle", "tools", "tool.yaml"), stringify(workerTool("pay", "1.0.0", { scheduling: "serial(args.payee)" })));
    const looser = await agents("validate", path);
    expect([looser.code, looser.out]).toEqual([1, expect.stringContaining("spec.tools[0].scheduling parallel is looser than serial(args.payee), which pay@1.0.0 says")]);
  });

  test("with --server the runtime's tools and policies count, and nothing is stored", async () => {
    const path = write("asked", agentDocument("asked", "1.0.0", { default_policies: ["nobody-wrote-it@1.0.0"], tools: [{ tool: "payments.charge@1.0.0", scheduling: "parallel" }] }));
    const { code, out } = await agents("validate", path, "--server");
    expect(code).toBe(1);
    expect(out).toContain("spec.tools[0].scheduling parallel is looser than exclusive, which payments.charge@1.0.0 says");
    expect(out).toContain("spec.default_policies[0] names the policy nobody-wrote-it@1.0.0, and none of that name is in force in this tenant");
    expect((await agents("show", "asked")).code).toBe(4);
    const far = await agents("validate", write("far", agentDocument("far", "1.0.0", { tools: [{ tool: "payments.charge@9.9.9" }] })), "--server");
    expect([far.code, far.out]).toEqual([0, expect.stringContaining("payments.charge@9.9.9 is not registered here: the model is told tool_not_found until it is")]);
  });
});

describe("from a file to a version that runs", () => {
  test("B2, B3, C1–C3: published with the text of its instructions, listed, deployed, shown, remembered", async () => {
    const path = write("support", support("1.0.1", { instructions: { file: "words.md" } }));
    writeFileSync(join(folder, "support", "words.md"), "Be kind.\nBe short.\n");
    const published = await agents("publish", path, "--comment", "the first");
    expect([published.code, published.out, published.err]).toEqual([0, "support@1.0.1 is published\n", "next:  signalbox agents deploy support 1.0.1\n"]);
    expect((await agents("publish", path)).out).toBe("support@1.0.1 was published before\n");
    expect((await agents("list")).out).toMatch(/support +\(none\) +1\.0\.1 +tests +Is support/);
    expect((await agents("versions", "support")).out).toMatch(/1\.0\.1 +published +scripted\/turns +1/);
    expect((await agents("deploy", "support", "1.0.1")).out).toBe("support@1.0.1 is deployed: new sessions run it\n");
    const shown = (await agents("show", "support")).out;
    expect(shown).toMatch(/deployed +1\.0\.1/);
    expect(shown).toContain("instructions\nBe kind.\nBe short.\n");
    expect(shown).toMatch(/tools +charge \(payments\.charge@1\.0\.0\)/);
    expect((await agents("history", "support")).out).toMatch(/deploy +1\.0\.1 +user:admin[\s\S]*publish +1\.0\.1 +user:admin +the first/);
  });

  test("C4–C9: diff, roll back, roll back to, deprecate, retire", async () => {
    await agents("publish", write("support", support("1.0.2")));
    await agents("publish", write("support", support("1.0.3", { instructions: "Be kind.\nBe brief.\n", limits: { max_steps: 5 } })), "--deploy");
    const diff = await agents("diff", "support", "1.0.1", "1.0.3");
    expect(diff.out).toBe("spec.instructions\n  - Be kind.\n  - Be short.\n  + Be kind.\n  + Be brief.\nspec.limits.max_steps\n  - 20\n  + 5\n");
    expect((await agents("rollback", "support", "--comment", "too brief")).out).toBe("support@1.0.1 is deployed, not 1.0.3\n");
    expect((await agents("rollback", "support", "--to", "1.0.2")).out).toBe("support@1.0.2 is deployed, not 1.0.1\n");
    const deprecated = await agents("deprecate", "support@1.0.2");
    expect(deprecated.out).toBe("support@1.0.2 is deprecated: it starts no more sessions\n");
    expect(deprecated.err).toContain("warning: it is deployed: no session of support starts until another version is");
    const refused = await agents("deploy", "support", "1.0.2");
    expect([refused.code === 0, refused.err]).toEqual([false, expect.stringContaining("support@1.0.2 is deprecated, and no session starts with it")]);
    expect((await agents("retire", "support", "1.0.2")).out).toBe("support@1.0.2 is retired: it starts no more sessions\n");
    expect((await agents("deprecate", "support", "1.0.2", "--undo")).err).toContain("support@1.0.2 is retired, and that is for good; publish a new version");
    expect((await agents("rollback", "support")).out).toBe("support@1.0.1 is deployed, not 1.0.2\n");
  });

  test("I1: archived it stays in the list, and again is no error", async () => {
    for (let times = 0; times < 2; times++) {
      const { code, out } = await agents("archive", "support");
      expect([code, out]).toEqual([0, "support is archived: it starts no more sessions\n"]);
    }
    expect((await agents("list")).out).toMatch(/support +1\.0\.1, archived/);
    expect((await agents("deploy", "support", "1.0.3")).err).toContain("support is archived; bring it back first: signalbox agents unarchive support");
    expect((await agents("unarchive", "support")).out).toBe("support is back\n");
  });

  test("its versions are listed newest first, page by page, whatever is published meanwhile", async () => {
    const page = async (cursor: string) => (await stack.admin.get(`/v1/agents/support/versions?limit=2${cursor}`)).body;
    const first = await page("");
    expect(first.items?.map(({ version, status, deployed }) => [version, status, deployed])).toEqual([
      ["1.0.3", "published", false],
      ["1.0.2", "retired", false],
    ]);
    await stack.admin.put("/v1/agents", support("1.0.4"));
    const second = await page(`&cursor=${String(first["next_cursor"])}`);
    expect([second.items?.map(({ version }) => version), second["next_cursor"]]).toEqual([["1.0.1"], null]);
  });

  test("all of it stands in the audit", async () => {
    const { items = [] } = (await stack.admin.get("/v1/audit?limit=100")).body;
    const actions = items.map(({ action }) => String(action)).filter((action) => action.startsWith("agent."));
    expect([...new Set(actions)].toSorted()).toEqual(["agent.archived", "agent.deployed", "agent.deprecated", "agent.published", "agent.retired", "agent.rolled_back", "agent.unarchived"]);
  });

  test("names that there are not lead on", async () => {
    const nobody = await agents("show", "nobody");
    expect([nobody.code, nobody.err]).toEqual([4, expect.stringContaining("next:  signalbox agents list")]);
    expect((await agents("deploy", "support", "9.9.9")).err).toContain("next:  signalbox agents versions support");
    expect((await agents("deploy", "support")).err).toContain("which version?");
  });
});

test("dev --agents <folder>: published at start, deployed where none is, once; one that is wrong keeps nobody back", async () => {
  const place = mkdtempSync(join(tmpdir(), "signalbox-agents-"));
  const put = (name: string, document: unknown): void => {
    mkdirSync(join(place, name));
    writeFileSync(join(place, name, "agent.yaml"), stringify(document));
  };
  put("a-first", agentDocument("one", "1.0.0"));
  put("b-wrong", agentDocument("wrong", "1.0.0", { tools: [{ tool: "echo" }] }));
  put("c-last", agentDocument("two", "1.0.0"));
  const other = await startStack({ args: ["--agents", place] });
  try {
    const deployed = async (): Promise<readonly unknown[]> => ((await other.admin.get("/v1/agents")).body.items ?? []).map(({ agent, deployed_version: version }) => [agent, version]);
    expect(await deployed()).toEqual([
      ["one", "1.0.0"],
      ["two", "1.0.0"],
    ]);
    await other.admin.invoke({ tool: "echo", input: {} });
    // What its owner has deployed since stays deployed.
    await other.admin.put("/v1/agents", agentDocument("one", "2.0.0"));
    await other.admin.post("/v1/agents/one/deploy", { version: "2.0.0" });
    await other.stop();
    await other.start();
    expect(await deployed()).toEqual([
      ["one", "2.0.0"],
      ["two", "1.0.0"],
    ]);
  } finally {
    await finish(other);
    rmSync(place, { recursive: true, force: true });
  }
});
