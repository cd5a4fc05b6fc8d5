// The packaged built-ins as they ship: pinned by version, fit for their executors, put once and mended when they are gone.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readTool } from "../../corridor/tools.ts";
import { DiskStore } from "../store/store.ts";
import { packagedNames, readPackaged } from "./packaged.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "packaged-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A version never changes: whoever changes a built-in gives it a new version, and pins that here. */
const published: Readonly<Record<string, string>> = {
  "code.run@1.0.0": "sha256:788d95c26c7085b200de8430eb215a29171099fba41fb48eb2eb85a1de6cb78a",
  "shell.run@1.0.0": "sha256:7ac9c34463c5692e7e1a4bbb6af91532eb80be17e7e20abf6d7a65da90a384dd",
};

test.each(packagedNames)("%s is what was published under its version", async (name) => {
  const { document, packageDigest } = await readPackaged(name);
  const { metadata, spec } = readTool(document).manifest;
  expect(published[`${metadata.name}@${metadata.version}`]).toBe(packageDigest);
  expect(metadata.name).toBe(name);
  // Until an operator lowers it by name.
  expect(spec.executor).toMatchObject({ type: "sandbox", min: 40 });
  expect([spec.networkAllow, spec.secrets, spec.filesystem]).toEqual([[], {}, { read: [], write: [] }]);
});

test("a package is put where it is missing, and nothing is written where it is there", async () => {
  const store = await DiskStore.open(folder);
  const { packageDigest, store: put } = await readPackaged("code.run");
  let writes = 0;
  const counted: Parameters<typeof put>[0] = {
    usePackage: (tenant, ref) => store.usePackage(tenant, ref),
    putPackage: (tenant, files) => store.putPackage(tenant, files),
    putFile(tenant, content) {
      writes += 1;
      return store.putFile(tenant, content);
    },
  };
  await put(counted);
  const files = await store.usePackage("platform", packageDigest);
  expect(files?.map(({ path }) => path)).toEqual(["main.py", "tool.yaml"]);
  expect(writes).toBe(2);
  await put(counted);
  expect(writes).toBe(2);
  await store.removeTenant("platform");
  await put(counted);
  expect([writes, await store.usePackage("platform", packageDigest)]).toEqual([4, files]);
});
