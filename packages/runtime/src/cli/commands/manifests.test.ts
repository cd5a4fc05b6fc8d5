// `signalbox init` and `signalbox validate`: files on this machine, without any runtime.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { cli } from "../../../../../test/support/command-line.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-manifests-"));
  onTestFinished(() => rm(folder, { recursive: true }));
});

const inFolder = (...args: readonly string[]) => cli(args, { cwd: folder });

test("init writes a tool that validates and a worker that parses, and says what to type next", async () => {
  const made = await inFolder("init", "hello");
  expect(made).toEqual({
    code: 0,
    out: `wrote hello/tool.yaml and hello/worker.js
next:
  (outside the Signalbox repository, once: npm install <repository>/packages/worker <repository>/packages/protocol)
  signalbox dev                      (in another terminal, unless it runs)
  signalbox tools register hello
  node hello/worker.js
  signalbox run hello.greet --input '{"name":"Ada"}'
`,
    err: "",
  });
  expect(await inFolder("validate", "hello")).toEqual({
    code: 0,
    out: "hello/tool.yaml: ok hello.greet@1.0.0\n",
    err: "",
  });
  await promisify(execFile)(process.execPath, ["--check", join(folder, "hello", "worker.js")]);
  expect(await readFile(join(folder, "hello", "worker.js"), "utf8")).toContain(
    `worker.tool("hello.greet", { version: "1.0.0"`,
  );
});

test("init never writes over a file, unless it is told to", async () => {
  await writeFile(join(folder, "worker.js"), "// mine\n");
  const refused = await inFolder("init");
  expect(refused.code).toBe(2);
  expect(refused.err).toBe(
    "error: worker.js is there already and was left as it is\nnext:  choose another folder, or write over it with --force\n",
  );
  expect(await readFile(join(folder, "worker.js"), "utf8")).toBe("// mine\n");
  await expect(readFile(join(folder, "tool.yaml"))).rejects.toThrow("ENOENT");
  expect((await inFolder("init", "--force")).code).toBe(0);
  expect(await readFile(join(folder, "worker.js"), "utf8")).toContain("worker.tool(");
});

const good = `apiVersion: signalbox.dev/v1
kind: Tool
metadata:
  name: a.b
  version: 1.0.0
  owner: me
  description: Does a thing.
spec:
  executor: { type: worker }
  input: { type: object }
  side_effect_class: read_only
`;

async function write(name: string, text: string): Promise<void> {
  await mkdir(join(folder, name, ".."), { recursive: true });
  await writeFile(join(folder, name), text);
}

test("every problem is told with its line, its path and a hint", async () => {
  await write(
    "tool.yaml",
    good.replace("1.0.0", "not-a-version").replace("read_only", "destructive").replace("  owner: me\n", "") +
      "  timeoutt: 5s\n",
  );
  const { code, out } = await inFolder("validate", "tool.yaml");
  expect(code).toBe(1);
  expect(out).toContain(
    `tool.yaml:5: problem: metadata.version "not-a-version" is no version\n    one exact version, like 1.0.0\n`,
  );
  expect(out).toContain("tool.yaml:10: problem: spec.side_effect_class must be one of read_only, ");
  expect(out).toContain(`tool.yaml:11: problem: spec.timeoutt is an unknown key\n    did you mean "timeout"?\n`);
  // What is missing stands where it should have stood.
  expect(out).toContain("tool.yaml:3: problem: metadata.owner is required\n");
});

test("a schema that cannot be used is told at its place", async () => {
  await write(
    "tool.yaml",
    good.replace("input: { type: object }", `input:\n    type: object\n    properties:\n      a: { type: strin }`),
  );
  const { code, out } = await inFolder("validate", ".");
  expect(code).toBe(1);
  expect(out).toMatch(/^tool\.yaml:13: problem: spec\.input#\/properties\/a/);
});

test("text that is no YAML is told with its line", async () => {
  await write("tool.yaml", "kind: Tool\nspec: {}\nkind: Tool\n");
  const { code, out } = await inFolder("validate", "tool.yaml");
  expect([code, out]).toEqual([1, `tool.yaml:3: problem: the key "kind" stands there twice\n`]);
});

test("a secret whose variable is not set is a warning", async () => {
  await write("tool.yaml", `${good}  secrets:\n    API_KEY: secret://acme/api-key\n    OTHER: secret://acme/other\n`);
  const { code, out } = await cli(["validate", "tool.yaml"], { cwd: folder, env: { OTHER: "x" } });
  expect(code).toBe(0);
  expect(out).toBe(
    "tool.yaml:13: warning: spec.secrets.API_KEY the variable API_KEY is not set here\n" +
      "    a runtime that takes secret://acme/api-key from its environment needs it\n" +
      "tool.yaml: ok a.b@1.0.0\n",
  );
});

test("one version may stand in one manifest only", async () => {
  await write("x/tool.yaml", good);
  await write("y/tool.yml", good);
  const { code, out } = await inFolder("validate", ".");
  expect(code).toBe(1);
  expect(out).toBe(
    "x/tool.yaml: ok a.b@1.0.0\ny/tool.yml:5: problem: metadata.version a.b@1.0.0 is in x/tool.yaml too\n    give one of them another version\n",
  );
});

test("a schema may stand in a file of the tool's folder, and nowhere else", async () => {
  await write("outside.json", "{}");
  await write("t/tool.yaml", good.replace("{ type: object }", "{ file: in.json }"));
  expect((await inFolder("validate", "t")).out).toContain("spec.input.file there is no file in.json");
  await symlink("../outside.json", join(folder, "t", "in.json"));
  expect((await inFolder("validate", "t")).out).toContain(
    "in.json cannot be read: it stands outside of the manifest's folder",
  );
  await rm(join(folder, "t", "in.json"));
  await write("t/in.json", `{"type":"object"}`);
  expect((await inFolder("validate", "t")).code).toBe(0);
});

const rule = `apiVersion: signalbox.dev/v1
kind: Policy
metadata: { name: payments-need-a-person, version: 1.0.0, level: tenant }
spec:
  match: { tools: ["payments.*"] }
  when: args.amount > 1000.0
  missing: match
  then:
    decision: require_approval
    reason: Payments above 1000 need a person
    approval: { route: finance, approvals: 2 }
`;

test("policies are checked beside the tools, by the same manners", async () => {
  await write("tool.yaml", good);
  await write("pay.policy.yaml", rule);
  await write("rules/night.yaml", rule.replace("payments-need-a-person", "no-nights"));
  expect(await inFolder("validate", ".")).toEqual({
    code: 0,
    out: "pay.policy.yaml: ok payments-need-a-person@1.0.0\nrules/night.yaml: ok no-nights@1.0.0\ntool.yaml: ok a.b@1.0.0\n",
    err: "",
  });
  await write(
    "pay.policy.yaml",
    rule.replace("require_approval", "maybe").replace("missing: match", "missinng: match"),
  );
  const { code, out } = await inFolder("validate", "pay.policy.yaml");
  expect(code).toBe(1);
  expect(out).toContain(`pay.policy.yaml:7: problem: spec.missinng is an unknown key\n    did you mean "missing"?\n`);
  expect(out).toContain("pay.policy.yaml:9: problem: spec.then.decision must be one of allow, deny, require_approval");
  await write("twin.policy.yaml", rule.replace("payments-need-a-person", "no-nights"));
  expect((await inFolder("validate", "rules", "twin.policy.yaml")).out).toContain(
    "twin.policy.yaml:3: problem: metadata.version no-nights@1.0.0 is in rules/night.yaml too\n",
  );
  expect(JSON.parse((await inFolder("validate", "rules", "--json")).out)).toEqual({
    items: [{ file: "rules/night.yaml", ok: true, policy: "no-nights@1.0.0", problems: [], warnings: [] }],
  });
});

test("a policy's condition is checked against the tools that are given with it", async () => {
  const input = "{ type: object, required: [amount], properties: { amount: { type: number } } }";
  await write("tool.yaml", good.replace("{ type: object }", input));
  const charge = rule.replace("payments.*", "a.b").replace("  missing: match\n", "");
  await write("pay.policy.yaml", charge);
  expect(await inFolder("validate", "pay.policy.yaml", "tool.yaml")).toMatchObject({ code: 0 });
  expect((await inFolder("validate", "pay.policy.yaml")).out).toContain("args.amount may be absent");
  await write("pay.policy.yaml", charge.replace("> 1000.0", '== "1000"'));
  const { code, out } = await inFolder("validate", "pay.policy.yaml", "tool.yaml");
  expect(code).toBe(1);
  expect(out).toContain('spec.when args.amount (a number) is never equal to "1000" (a text) (a.b)');
});

test("--json tells the same to programs", async () => {
  await write("tool.yaml", good.replace("owner: me", "owner: 5"));
  const { code, out } = await inFolder("validate", "tool.yaml", "--json");
  expect(code).toBe(1);
  expect(JSON.parse(out)).toEqual({
    items: [
      {
        file: "tool.yaml",
        ok: false,
        tool: null,
        problems: [{ path: "metadata.owner", line: 6, message: "must be text, not 5", hint: `put it in quotes: "5"` }],
        warnings: [],
      },
    ],
  });
});

test("a path that is not there, and a folder without a manifest, are wrong lines", async () => {
  expect((await inFolder("validate", "none")).err).toBe("error: none is not there\n");
  expect(await inFolder("validate", ".")).toEqual({
    code: 2,
    out: "",
    err: "error: . has no tool.yaml, no agent.yaml and no policy in it or below\nnext:  signalbox init .\n",
  });
});
