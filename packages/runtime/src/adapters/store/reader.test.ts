// Opening for a box: a package or a file is what its digest says, or it is refused; whatever was done to it on the disk.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PackageFile } from "../../registry/package/listing.ts";
import { filePlace, packagePlace } from "./layout.ts";
import { ContentRefused, storeReader } from "./reader.ts";
import { DiskStore } from "./store.ts";
import { removeTree } from "./tree.ts";

let root: string;
let store: DiskStore;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "reader-"));
  store = await DiskStore.open(root);
});
afterEach(() => removeTree(root));

async function put(text: string): Promise<string> {
  const outcome = await store.putFile("acme", [Buffer.from(text)]);
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.file.ref;
}

async function packed(): Promise<{ ref: string; tree: string }> {
  const files: PackageFile[] = [
    { path: "main.py", mode: "0644", ref: await put("print(1)\n") },
    { path: "bin/run", mode: "0755", ref: await put("#!/bin/sh\n") },
  ];
  const outcome = await store.putPackage("acme", files);
  if (!outcome.ok) throw new Error(outcome.reason);
  return { ref: outcome.ref, tree: join(packagePlace(root, "acme", outcome.ref), "tree") };
}

/** When all that was done so far is long ago, so that a good check is remembered. */
const later = (): number => Date.now() + 60_000;

/** As somebody who may write to the disk would. */
function tamper(tree: string, act: (path: (name: string) => string) => void): void {
  for (const folder of [tree, join(tree, "bin")]) chmodSync(folder, 0o755);
  act((name) => join(tree, name));
  for (const folder of [join(tree, "bin"), tree])
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) chmodSync(folder, 0o555);
}

function rewrite(path: string, text: string): void {
  const { mode } = lstatSync(path);
  chmodSync(path, 0o644);
  writeFileSync(path, text);
  chmodSync(path, mode & 0o777);
}

test("a whole package is opened, again and again", async () => {
  const { ref, tree } = await packed();
  const reader = storeReader(root);
  for (let i = 0; i < 3; i++) expect(await reader.openPackage("acme", ref)).toEqual({ path: tree, digest: ref });
});

const damages: readonly (readonly [string, (path: (name: string) => string) => void, string])[] = [
  ["other content", (path) => rewrite(path("main.py"), "print(2)\n"), '"main.py" has other content'],
  [
    "other content of the same length and time",
    (path) => {
      const { mtime } = lstatSync(path("main.py"));
      rewrite(path("main.py"), "print(2)\n");
      utimesSync(path("main.py"), mtime, mtime);
    },
    '"main.py" has other content',
  ],
  ["a file more", (path) => writeFileSync(path("site.py"), ""), '"site.py" does not belong to it'],
  ["a file more, further in", (path) => writeFileSync(path("bin/ls"), ""), '"bin/ls" does not belong to it'],
  ["a folder more", (path) => mkdirSync(path("__pycache__")), '"__pycache__" does not belong to it'],
  ["a file less", (path) => rmSync(path("main.py")), "1 of its files and folders are missing"],
  ["a file made executable", (path) => chmodSync(path("main.py"), 0o555), '"main.py" has another mode'],
  ["a file open to writing", (path) => chmodSync(path("main.py"), 0o666), '"main.py" has another mode'],
  ["a file that runs as its owner", (path) => chmodSync(path("bin/run"), 0o4555), '"bin/run" has another mode'],
  [
    "a link to the same content",
    (path) => {
      renameSync(path("main.py"), join(root, "elsewhere"));
      symlinkSync(join(root, "elsewhere"), path("main.py"));
    },
    '"main.py" does not belong to it',
  ],
  [
    "a link for a folder",
    (path) => {
      renameSync(path("bin"), join(root, "bin"));
      symlinkSync(join(root, "bin"), path("bin"));
    },
    '"bin" does not belong to it',
  ],
  [
    "a pipe, which would hold a reader for ever",
    (path) => {
      rmSync(path("main.py"));
      execFileSync("mkfifo", [path("main.py")]);
    },
    '"main.py" does not belong to it',
  ],
];

describe.each(damages)("%s", (_, damage, problem) => {
  test("is refused at the first opening", async () => {
    const { ref, tree } = await packed();
    tamper(tree, damage);
    await expect(storeReader(root).openPackage("acme", ref)).rejects.toThrow(
      `package ${ref} is damaged: ${problem}; register the tool's folder again`,
    );
  });

  test("is refused after a good one, and registering again mends it", async () => {
    const { ref, tree } = await packed();
    const reader = storeReader(root, later);
    await reader.openPackage("acme", ref);
    tamper(tree, damage);
    const refusal = await reader.openPackage("acme", ref).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ContentRefused);
    expect(refusal).toMatchObject({ reason: "damaged" });
    await packed();
    expect(await reader.openPackage("acme", ref)).toEqual({ path: tree, digest: ref });
  });
});

test("an unchanged one is not read again: a read that would fail is not made", async () => {
  const { ref, tree } = await packed();
  const [remembering, fresh] = [storeReader(root, later), storeReader(root)];
  for (const reader of [remembering, fresh]) await reader.openPackage("acme", ref);
  // The listing is read by a full check alone.
  renameSync(join(tree, "../listing"), join(root, "listing"));
  expect(await remembering.openPackage("acme", ref)).toEqual({ path: tree, digest: ref });
  await expect(fresh.openPackage("acme", ref)).rejects.toThrow("damaged");
});

test("a folder open to writing is refused", async () => {
  const { ref, tree } = await packed();
  chmodSync(tree, 0o777);
  await expect(storeReader(root).openPackage("acme", ref)).rejects.toThrow('the folder "" has another mode');
});

test("another listing under the same name is refused", async () => {
  const { ref, tree } = await packed();
  const listing = join(tree, "../listing");
  rewrite(listing, readFileSync(listing, "utf8").replace("0755", "0644"));
  await expect(storeReader(root).openPackage("acme", ref)).rejects.toThrow(
    "its listing is another one than its digest names",
  );
});

test("what is not there, and what is another tenant's, is missing", async () => {
  const { ref } = await packed();
  const reader = storeReader(root);
  const other = `sha256:${"0".repeat(64)}`;
  for (const [tenant, one] of [
    ["beta", ref],
    ["acme", other],
  ] as const) {
    await expect(reader.openPackage(tenant, one)).rejects.toMatchObject({ name: "ContentRefused", reason: "missing" });
  }
  const file = await put("hello");
  await expect(reader.openFile("beta", file)).rejects.toMatchObject({ name: "ContentRefused", reason: "missing" });
});

describe("an input file", () => {
  test("is opened where it stands", async () => {
    const ref = await put("hello");
    expect(await storeReader(root).openFile("acme", ref)).toBe(filePlace(root, "acme", ref));
  });

  test.each<[string, (place: string) => void]>([
    ["changed", (place) => rewrite(place, "HELLO")],
    [
      "a link",
      (place) => {
        rmSync(place);
        symlinkSync("/etc/hostname", place);
      },
    ],
    [
      "a device",
      (place) => {
        rmSync(place);
        symlinkSync("/dev/zero", place);
      },
    ],
    [
      "a pipe",
      (place) => {
        rmSync(place);
        execFileSync("mkfifo", [place]);
      },
    ],
    ["cut", (place) => rewrite(place, "hell")],
  ])("that is %s by now is refused, also after a good opening", async (_, change) => {
    const ref = await put("hello");
    const place = filePlace(root, "acme", ref);
    const reader = storeReader(root, later);
    await reader.openFile("acme", ref);
    change(place);
    await expect(reader.openFile("acme", ref)).rejects.toMatchObject({ name: "ContentRefused", reason: "damaged" });
    await put("hello");
    expect(await reader.openFile("acme", ref)).toBe(place);
  });

  test("with a second name is what it is: the content decides", async () => {
    const ref = await put("hello");
    linkSync(filePlace(root, "acme", ref), join(root, "second"));
    expect(await storeReader(root).openFile("acme", ref)).toBe(filePlace(root, "acme", ref));
  });
});
