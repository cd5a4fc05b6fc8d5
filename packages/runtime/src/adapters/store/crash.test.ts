// A process that is killed in the middle of writing: what was answered is there, whole; what was not is there whole or not at all.
import { mkdtempSync, readdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startNode } from "../../../../../test/support/processes.ts";
import { refOf } from "./content.ts";
import { filesFolder, packagesFolder } from "./layout.ts";
import { storeReader } from "./reader.ts";
import { DiskStore } from "./store.ts";
import { removeTree } from "./tree.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "crash-"));
});
afterEach(() => removeTree(root));

/** Puts files of up to 2 MiB and packages of them, for ever; says what was answered, and that it is writing. */
const writer = `
  import { DiskStore } from ${JSON.stringify(new URL("store.ts", import.meta.url).href)};
  const store = await DiskStore.open(process.argv[1], { tenantFilesMax: 1e6, tenantBytesMax: 1e12 });
  const say = (line) => process.stdout.write(line + "\\n");
  let round = Number(process.argv[2]) * 1000;
  async function* pieces(n) {
    for (let i = 0; i < 32; i++) { yield Buffer.alloc(64 * 1024, String(n + i % 7)); if (i === 16) await halfway(); }
  }
  // The first process hangs in the middle of a file until it is killed.
  setInterval(() => undefined, 1000);
  async function halfway() { say("writing"); if (round === 0) await new Promise(() => undefined); }
  for (;; round++) {
    const big = await store.putFile("acme", pieces(round));
    say("file " + big.file.ref);
    const small = await store.putFile("acme", [Buffer.from("small " + round)]);
    const files = Array.from({ length: 20 }, (_, i) => ({ path: "d" + i % 4 + "/f" + i, mode: i % 2 ? "0755" : "0644", ref: i === 0 ? big.file.ref : small.file.ref }));
    say("packing");
    const packed = await store.putPackage("acme", files);
    say("package " + packed.ref);
  }
`;

test("kill -9, at many moments", async () => {
  const answered: (readonly [string, string])[] = [];
  for (let round = 0; round < 12; round++) {
    const child = startNode(["--input-type=module", "-e", writer, root, String(round)]);
    // Each round dies at another line: in a file, between two, in a package.
    for (let line = 0; line < 1 + round; line++) {
      const [kind = "", ref] = (await child.nextLine()).split(" ");
      if (ref !== undefined) answered.push([kind, ref]);
    }
    expect(await child.kill()).toMatchObject({ signal: "SIGKILL" });
    for (const line of child.stdout().split("\n").slice(0, -1)) {
      const [kind = "", ref] = line.split(" ");
      if (ref !== undefined) answered.push([kind, ref]);
    }
    if (round === 0) expect(readdirSync(join(root, "making"))).toHaveLength(1);
  }
  expect(answered.length).toBeGreaterThan(20);

  await DiskStore.open(root);
  expect(readdirSync(join(root, "making"))).toEqual([]);
  const reader = storeReader(root);
  for (const [kind, ref] of answered) {
    if (kind === "file") await reader.openFile("acme", ref);
    else await reader.openPackage("acme", ref);
  }
  // What nobody was told of is whole, too.
  const files = filesFolder(root, "acme");
  for (const part of readdirSync(files)) {
    for (const name of readdirSync(join(files, part))) {
      expect(await refOf(join(files, part, name), 1e9)).toBe(`sha256:${name}`);
      expect(statSync(join(files, part, name)).mode & 0o777).toBe(0o444);
    }
  }
  for (const name of readdirSync(packagesFolder(root, "acme"))) await reader.openPackage("acme", `sha256:${name}`);
});
