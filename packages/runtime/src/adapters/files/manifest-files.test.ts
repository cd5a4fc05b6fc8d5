// Which files below a folder are taken for a tool's manifest and which for a policy.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { findDocuments, findManifests, findPolicies } from "./manifest-files.ts";
import type { ManifestFile } from "./manifest-files.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-files-"));
  onTestFinished(() => rm(folder, { recursive: true }));
});

async function write(name: string, text = ""): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), text);
}

const shown = (files: readonly ManifestFile[]): readonly string[] => files.map((file) => file.shown);

test("policies are known by their name or by what they say; a tool is known by its name", async () => {
  await write("a/tool.yaml", "kind: Tool\n");
  await write("a/policy.yml");
  await write("b/pay.policy.yaml");
  await write("b/other.yaml", "apiVersion: signalbox.dev/v1\nkind: Policy # ours\n");
  await write("b/c/quoted.yml", `"kind": "Policy"\n`);
  await write("b/d.json", `{"apiVersion":"signalbox.dev/v1",\n  "kind": "Policy",\n  "spec": {}}`);
  // None of these is one.
  await write("b/cases.yaml", "cases:\n  - a: 1\n    kind: Policy\n");
  await write("b/kinds.yaml", "kind: PolicyCase\n");
  await write("b/notes.md", "kind: Policy\n");
  await write("b/comment.yaml", "# kind: Policy\nkind: Tool\n");
  await write("node_modules/x/policy.yaml");
  await write(".hidden/policy.yaml");
  expect(shown(await findManifests(folder, ["."]))).toEqual(["a/tool.yaml"]);
  const policies = ["a/policy.yml", "b/c/quoted.yml", "b/d.json", "b/other.yaml", "b/pay.policy.yaml"];
  expect(shown(await findPolicies(folder, ["."]))).toEqual(policies);
  expect(shown(await findDocuments(folder, ["."]))).toEqual(["a/policy.yml", "a/tool.yaml", ...policies.slice(1)]);
});

test("a file that was named is taken as it is", async () => {
  await write("notes.txt");
  expect(shown(await findPolicies(folder, ["notes.txt"]))).toEqual(["notes.txt"]);
});

test("a folder with nothing in it says what was looked for", async () => {
  await write("a/readme.md");
  await expect(findManifests(folder, ["a"])).rejects.toMatchObject({ next: "signalbox init a" });
  await expect(findPolicies(folder, ["a"])).rejects.toThrow(
    "a has no policy in it or below: no *.policy.yaml, and no YAML file of kind Policy",
  );
  await expect(findDocuments(folder, ["a"])).rejects.toThrow("a has no tool.yaml, no agent.yaml and no policy in it or below");
});
