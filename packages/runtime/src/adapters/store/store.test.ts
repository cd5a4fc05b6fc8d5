// The content store: what is put is found by its digest, by its own tenant alone; bounds, repairs and what is removed.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StoreUnavailable } from "../../corridor/files-ports.ts";
import type { PackageFile } from "../../registry/package/listing.ts";
import { filePlace, packagePlace, tenantFolder } from "./layout.ts";
import { DiskStore } from "./store.ts";
import { removeTree } from "./tree.ts";

let at: string;
let root: string;
beforeEach(() => {
  at = mkdtempSync(join(tmpdir(), "store-"));
  root = join(at, "store");
});
afterEach(() => removeTree(at));

const bytes = (text: string): Uint8Array[] => [Buffer.from(text)];
const sha256 = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;
// From `printf hello | sha256sum`.
const helloRef = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const mode = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);

async function put(store: DiskStore, tenant: string, text: string): Promise<string> {
  const outcome = await store.putFile(tenant, bytes(text));
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.file.ref;
}

async function aPackage(store: DiskStore, tenant = "acme"): Promise<{ files: readonly PackageFile[]; ref: string }> {
  const files: readonly PackageFile[] = [
    { path: "tool.yaml", mode: "0644", ref: await put(store, tenant, "kind: Tool\n") },
    { path: "bin/run", mode: "0755", ref: await put(store, tenant, "#!/bin/sh\n") },
    { path: "lib/deep/er.txt", mode: "0644", ref: await put(store, tenant, "hello") },
  ];
  const outcome = await store.putPackage(tenant, files);
  if (!outcome.ok) throw new Error(outcome.reason);
  return { files, ref: outcome.ref };
}

describe("files", () => {
  test("are found by the digest of their content, and read-only", async () => {
    const store = await DiskStore.open(root);
    expect(await store.putFile("acme", [Buffer.from("he"), Buffer.from("llo")])).toEqual({
      ok: true,
      file: { ref: helloRef, bytes: 5 },
    });
    expect(await store.useFile("acme", helloRef)).toBe(5);
    const place = filePlace(root, "acme", helloRef);
    expect(readFileSync(place, "utf8")).toBe("hello");
    expect(mode(place)).toBe("444");
    expect(mode(root)).toBe("700");
    expect(readdirSync(join(root, "making"))).toEqual([]);
  });

  test("an empty one is a file too, and the same twice is one", async () => {
    const store = await DiskStore.open(root);
    const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    expect(await store.putFile("acme", [])).toEqual({ ok: true, file: { ref: empty, bytes: 0 } });
    expect(await store.putFile("acme", [])).toEqual({ ok: true, file: { ref: empty, bytes: 0 } });
    expect(await store.useFile("acme", empty)).toBe(0);
  });

  test("of one tenant are not there for another", async () => {
    const store = await DiskStore.open(root);
    await put(store, "acme", "hello");
    for (const other of ["beta", "Acme", "acme ", "../t-acme", "t-acme", "", "platform"]) {
      expect(await store.useFile(other, helloRef)).toBeUndefined();
    }
  });

  test.each(["../../etc", "a/b", "Übel", "A", "a".repeat(65), "", ".."])(
    "tenant %j has a folder of its own, inside",
    async (tenant) => {
      const store = await DiskStore.open(root);
      await put(store, tenant, "hello");
      expect(tenantFolder(root, tenant)).toMatch(new RegExp(`^${root}/x-[0-9a-f]{64}$`));
      expect(readdirSync(at)).toEqual(["store"]);
      expect(readdirSync(root).length).toBe(2);
    },
  );

  test.each([
    "",
    "hello",
    "sha256:../../../../etc/passwd",
    `sha256:${"0".repeat(63)}/`,
    `${helloRef}\n`,
    helloRef.toUpperCase(),
  ])("%j is no digest: nothing is looked for", async (ref) => {
    const store = await DiskStore.open(root);
    await expect(store.useFile("acme", ref)).rejects.toThrow(TypeError);
  });

  test("too large: refused while it comes in, at the first byte over, and nothing is left", async () => {
    const store = await DiskStore.open(root);
    let given = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      const chunk = new Uint8Array(1024 * 1024);
      for (;;) {
        given += chunk.length;
        yield chunk;
      }
    }
    expect(await store.putFile("acme", endless())).toEqual({ ok: false, reason: "too_large", limitBytes: 33_554_432 });
    expect(given).toBe(33 * 1024 * 1024);
    expect(readdirSync(join(root, "making"))).toEqual([]);
    expect(existsSync(tenantFolder(root, "acme"))).toBe(false);
  });

  test("a source that breaks off: its own error, and nothing is kept", async () => {
    const store = await DiskStore.open(root);
    const gone = Object.assign(new Error("the caller is gone"), { syscall: "read", errno: -104 });
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("hello");
      throw gone;
    }
    await expect(store.putFile("acme", broken())).rejects.toBe(gone);
    expect(readdirSync(join(root, "making"))).toEqual([]);
    expect(await store.useFile("acme", helloRef)).toBeUndefined();
  });

  test("a disk that fails is told as such", async () => {
    const store = await DiskStore.open(root);
    rmSync(join(root, "making"), { recursive: true });
    await expect(store.putFile("acme", bytes("hello"))).rejects.toThrow(StoreUnavailable);
  });

  test.each(["changed", "a link", "a folder"])("one that is %s by now is mended by putting it again", async (how) => {
    const store = await DiskStore.open(root);
    await put(store, "acme", "hello");
    const place = filePlace(root, "acme", helloRef);
    rmSync(place);
    if (how === "changed") writeFileSync(place, "HELLO");
    if (how === "a link") symlinkSync("/etc/passwd", place);
    if (how === "a folder") mkdirSync(join(place, "x"), { recursive: true });
    await put(store, "acme", "hello");
    expect([readFileSync(place, "utf8"), lstatSync(place).isFile()]).toEqual(["hello", true]);
  });
});

describe("bounds of a tenant", () => {
  test("bytes: the one that is too much is refused, the same again is not, and another tenant is not concerned", async () => {
    const store = await DiskStore.open(root, { tenantBytesMax: 10 });
    await put(store, "acme", "hello");
    await put(store, "acme", "12345");
    expect(await store.putFile("acme", bytes("x"))).toEqual({ ok: false, reason: "quota", limitBytes: 10 });
    await put(store, "acme", "hello");
    await put(store, "beta", "x");
    expect(await store.useFile("acme", sha256("x"))).toBeUndefined();
    // Counted from the disk by the next process.
    const next = await DiskStore.open(root, { tenantBytesMax: 10 });
    expect(await next.putFile("acme", bytes("x"))).toMatchObject({ reason: "quota" });
  });

  test("files", async () => {
    const store = await DiskStore.open(root, { tenantFilesMax: 2 });
    await put(store, "acme", "1");
    await put(store, "acme", "2");
    expect(await store.putFile("acme", bytes("3"))).toMatchObject({ ok: false, reason: "quota" });
  });

  test("a package counts as it is: one of 128 MiB is taken, and one byte more is refused before it is built", async () => {
    const store = await DiskStore.open(root);
    const eight = await store.putFile(
      "acme",
      Array.from({ length: 8 }, () => new Uint8Array(1024 * 1024)),
    );
    if (!eight.ok) throw new Error(eight.reason);
    const { ref } = eight.file;
    const files = (count: number): PackageFile[] =>
      Array.from({ length: count }, (_, index) => ({ path: `f${index}`, mode: "0644", ref }));
    const one = await put(store, "acme", "x");
    const over = [...files(16), { path: "one-more", mode: "0644" as const, ref: one }];
    expect(await store.putPackage("acme", over)).toEqual({ ok: false, reason: "too_large", limitBytes: 134_217_728 });
    expect(existsSync(join(tenantFolder(root, "acme"), "packages"))).toBe(false);
    expect(await store.putPackage("acme", files(16))).toMatchObject({ ok: true, bytes: 134_217_728 });
  });

  test("writes at once: one more is refused, and there is room again when one has ended", async () => {
    const store = await DiskStore.open(root, { writesAtOncePerTenantMax: 1 });
    const gate = Promise.withResolvers<undefined>();
    async function* slow(): AsyncGenerator<Uint8Array> {
      await gate.promise;
      yield Buffer.from("hello");
    }
    const first = store.putFile("acme", slow());
    expect(await store.putFile("acme", bytes("x"))).toEqual({ ok: false, reason: "busy", limit: 1 });
    expect(await store.putFile("beta", bytes("x"))).toMatchObject({ ok: true });
    gate.resolve(undefined);
    expect(await first).toMatchObject({ ok: true });
    expect(await store.putFile("acme", bytes("x"))).toMatchObject({ ok: true });
  });
});

describe("packages", () => {
  test("are unpacked, closed to writing, and named by their digest", async () => {
    const store = await DiskStore.open(root);
    const { files, ref } = await aPackage(store);
    const place = packagePlace(root, "acme", ref);
    const tree = join(place, "tree");
    expect(readFileSync(join(tree, "lib/deep/er.txt"), "utf8")).toBe("hello");
    expect(
      ["tool.yaml", "bin/run", "lib/deep/er.txt", "bin", "lib/deep", "."].map((path) => mode(join(tree, path))),
    ).toEqual(["444", "555", "444", "555", "555", "555"]);
    expect(sha256(readFileSync(join(place, "listing"), "utf8"))).toBe(ref);
    expect(await store.usePackage("acme", ref)).toEqual([files[1], files[2], files[0]]);
    expect(await store.usePackage("beta", ref)).toBeUndefined();
    expect(readdirSync(join(root, "making"))).toEqual([]);
  });

  test("the same again, in another order, is there already", async () => {
    const store = await DiskStore.open(root);
    const { files, ref } = await aPackage(store);
    expect(await store.putPackage("acme", files.toReversed())).toEqual({
      ok: true,
      ref,
      bytes: 26,
      alreadyThere: true,
    });
  });

  test("two at once are one", async () => {
    const store = await DiskStore.open(root);
    const { files, ref } = await aPackage(store);
    await store.removeTenant("acme");
    await Promise.all(["kind: Tool\n", "#!/bin/sh\n", "hello"].map((text) => put(store, "acme", text)));
    const outcomes = await Promise.all([
      store.putPackage("acme", files),
      store.putPackage("acme", files),
      store.putPackage("acme", files),
    ]);
    expect(outcomes.map((one) => one.ok && one.ref)).toEqual([ref, ref, ref]);
    expect(await store.usePackage("acme", ref)).toBeDefined();
    expect(readdirSync(join(root, "making"))).toEqual([]);
  });

  test("content that this tenant has not put is named, also where another tenant has it", async () => {
    const store = await DiskStore.open(root);
    const { files } = await aPackage(store, "beta");
    await put(store, "acme", "hello");
    expect(await store.putPackage("acme", files)).toEqual({
      ok: false,
      reason: "missing",
      refs: [sha256("kind: Tool\n"), sha256("#!/bin/sh\n")],
    });
  });

  test("content that is damaged in the store is asked for again, and nothing is built of it", async () => {
    const store = await DiskStore.open(root);
    const ref = await put(store, "acme", "hello");
    const place = filePlace(root, "acme", ref);
    chmodSync(place, 0o644);
    writeFileSync(place, "HELLO");
    expect(await store.putPackage("acme", [{ path: "a", mode: "0644", ref }])).toEqual({
      ok: false,
      reason: "missing",
      refs: [ref],
    });
    rmSync(place);
    symlinkSync("/dev/zero", place);
    expect(await store.putPackage("acme", [{ path: "a", mode: "0644", ref }])).toEqual({
      ok: false,
      reason: "missing",
      refs: [ref],
    });
    await put(store, "acme", "hello");
    expect(await store.putPackage("acme", [{ path: "a", mode: "0644", ref }])).toMatchObject({ ok: true });
  });

  test("a damaged one is as good as none, and mended by putting it again", async () => {
    const store = await DiskStore.open(root);
    const { files, ref } = await aPackage(store);
    const listing = join(packagePlace(root, "acme", ref), "listing");
    chmodSync(listing, 0o644);
    writeFileSync(listing, readFileSync(listing, "utf8").replace("0755", "0644"));
    expect(await store.usePackage("acme", ref)).toBeUndefined();
    expect(await store.putPackage("acme", files)).toMatchObject({ ok: true, ref, alreadyThere: false });
    expect(await store.usePackage("acme", ref)).toHaveLength(3);
    expect(readdirSync(join(root, "making"))).toEqual([]);
  });
});

describe("what nobody wants", () => {
  const old = new Date(1_000_000);
  const before = Date.now() - 3_600_000;

  test("is removed when it is old: files and packages, and the room is given back", async () => {
    const store = await DiskStore.open(root, { tenantBytesMax: 500 });
    const { ref } = await aPackage(store);
    for (const text of ["kind: Tool\n", "#!/bin/sh\n"]) utimesSync(filePlace(root, "acme", sha256(text)), old, old);
    utimesSync(packagePlace(root, "acme", ref), old, old);
    const freed = await store.collect("acme", { files: new Set([sha256("#!/bin/sh\n")]), packages: new Set() }, before);
    // A file of 11 bytes; a package of 26 bytes and a listing of 285, in nine files and folders.
    expect(freed).toEqual({ bytes: 11 + 26 + 285, files: 1 + 9 });
    expect(await store.usePackage("acme", ref)).toBeUndefined();
    expect(await store.useFile("acme", sha256("kind: Tool\n"))).toBeUndefined();
    expect(await store.useFile("acme", sha256("#!/bin/sh\n"))).toBe(10);
    expect(await store.useFile("acme", helloRef)).toBe(5);
    expect(readdirSync(join(root, "making"))).toEqual([]);
    expect(await store.putFile("acme", bytes("x".repeat(480)))).toMatchObject({ ok: true });
  });

  test("a package that a version pins stays, also when the files it was made of are gone", async () => {
    const store = await DiskStore.open(root);
    const { files, ref } = await aPackage(store);
    for (const one of files) utimesSync(filePlace(root, "acme", one.ref), old, old);
    utimesSync(packagePlace(root, "acme", ref), old, old);
    await store.collect("acme", { files: new Set(), packages: new Set([ref]) }, before);
    expect(await store.useFile("acme", helloRef)).toBeUndefined();
    expect(await store.putPackage("acme", files)).toMatchObject({ ok: true, alreadyThere: true });
  });

  test.each(["put", "used"])("being %s again makes it young", async (how) => {
    const store = await DiskStore.open(root);
    await put(store, "acme", "hello");
    utimesSync(filePlace(root, "acme", helloRef), old, old);
    await (how === "put" ? put(store, "acme", "hello") : store.useFile("acme", helloRef));
    expect(await store.collect("acme", { files: new Set(), packages: new Set() }, before)).toEqual({
      bytes: 0,
      files: 0,
    });
  });

  test("a tenant goes with all that it has, and no other", async () => {
    const store = await DiskStore.open(root);
    const { ref } = await aPackage(store);
    const other = await aPackage(store, "beta");
    await store.removeTenant("acme");
    expect(existsSync(tenantFolder(root, "acme"))).toBe(false);
    expect(await store.usePackage("acme", ref)).toBeUndefined();
    expect(await store.usePackage("beta", other.ref)).toHaveLength(3);
    await store.removeTenant("acme");
  });

  test("a link in the way is removed, and what it leads to is not", async () => {
    const store = await DiskStore.open(root);
    const outside = join(at, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "precious"), "x");
    symlinkSync(outside, join(root, "making", "left"));
    mkdirSync(join(root, "making", "half", "tree"), { recursive: true });
    symlinkSync(outside, join(root, "making", "half", "tree", "link"));
    await DiskStore.open(root);
    expect(readdirSync(join(root, "making"))).toEqual([]);
    expect([readdirSync(outside), mode(outside)]).toEqual([["precious"], "755"]);
    expect(await store.useFile("acme", helloRef)).toBeUndefined();
  });
});
