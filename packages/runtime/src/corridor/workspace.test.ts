// Workspaces over a real ledger and a real store: which paths are taken, what a guard says, and that a call done twice is done once.
import { mkdtempSync } from "node:fs";
import { chmod, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SqliteLedger } from "../adapters/sqlite/ledger.ts";
import { DiskStore } from "../adapters/store/store.ts";
import { removeTree } from "../adapters/store/tree.ts";
import {
  listWorkspace,
  readWorkspace,
  WorkspaceRefused,
  writeWorkspace,
  type WorkspaceCall,
  type WorkspacePorts,
  type WorkspaceWrite,
} from "./workspace.ts";

// From `printf hello | sha256sum`, and the same of `world`.
const hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const world = "sha256:486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7";

let at: string;
let ledger: SqliteLedger;
let ports: WorkspacePorts;
beforeEach(async () => {
  at = mkdtempSync(join(tmpdir(), "workspace-"));
  ledger = new SqliteLedger({ path: join(at, "ledger.db"), auditKey: Buffer.alloc(32, 1), lane: "r1", now: () => 5 });
  ports = { ledger, store: await DiskStore.open(join(at, "store"), { tenantBytesMax: 1024 * 1024 }), now: () => 7 };
});
afterEach(async () => {
  await ledger.close();
  await removeTree(at);
});

const call = (callId: string, project = "shop", tenant = "acme"): WorkspaceCall => ({ tenant, project, callId });
const never = (): void => undefined;

function write(path: string, text: string | null, more: Partial<WorkspaceWrite> = {}, by = call("exec_1")) {
  return writeWorkspace(ports, by, { path, content: text === null ? null : Buffer.from(text), ...more }, never);
}

async function read(path: string, by = call("exec_9")): Promise<string> {
  return Buffer.from((await readWorkspace(ports, by, path)).content).toString();
}

async function fault(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    if (error instanceof WorkspaceRefused) return [error.fault, error.details];
    throw error;
  }
  return "nothing was refused";
}

async function list(prefix = "", after = "", limit = 100, by = call("exec_9")): Promise<unknown> {
  const { items, more } = await listWorkspace(ports, by, { prefix, after, limit });
  return [...items.map(({ path }) => path), ...(more ? ["…"] : [])];
}

test("what is written is read, with who wrote it; the last one stands", async () => {
  const row = { tenant: "acme", project: "shop", path: "a/b.txt", updatedAt: 7, callId: "exec_1" };
  expect(await write("a/b.txt", "hello")).toEqual({ ...row, digest: hello, bytes: 5 });
  expect(await read("a/b.txt")).toBe("hello");
  expect(await write("a/b.txt", "", {}, call("exec_2"))).toMatchObject({ bytes: 0, callId: "exec_2" });
  expect(await read("a/b.txt")).toBe("");
  expect(await list()).toEqual(["a/b.txt"]);
});

test("a project sees its own files, and no tenant another's", async () => {
  await write("a", "hello");
  for (const other of [call("exec_9", "ops"), call("exec_9", "shop", "globex")]) {
    expect(await fault(read("a", other))).toEqual(["not_found", {}]);
    expect(await list("", "", 100, other)).toEqual([]);
    expect(await write("a", null, {}, other)).toBeNull();
  }
  expect(await read("a")).toBe("hello");
});

test.each([
  "",
  "/etc/passwd",
  "../x",
  "a/../b",
  "a/..",
  "./a",
  "a//b",
  "a/",
  "a\u0000b",
  "a\nb",
  "C:\\x",
  "a\\b",
  "a\u202eb",
  `${"a/".repeat(32)}a`,
  "a".repeat(256),
  "\ud800",
])("the path %j is taken nowhere", async (path) => {
  expect(await fault(write(path, "hello"))).toEqual(["invalid_path", {}]);
  expect(await fault(write(path, null))).toEqual(["invalid_path", {}]);
  expect(await fault(read(path))).toEqual(["invalid_path", {}]);
  expect(await list()).toEqual([]);
});

test("a message repeats nothing of the path", async () => {
  await expect(write("../geheim", "x")).rejects.toThrow(/^the path leads outside: \.\. is not accepted$/);
});

test("no path is a file and a folder, until the other is gone", async () => {
  await write("a/b", "hello");
  expect(await fault(write("a", "hello"))).toEqual(["file_and_folder", {}]);
  expect(await fault(write("a/b/c", "hello"))).toEqual(["file_and_folder", {}]);
  await write("a/b", null);
  await write("a", "hello");
  expect(await list()).toEqual(["a"]);
});

describe("if_digest", () => {
  test("writes where the file is what the caller took it for, and says what it is where not", async () => {
    expect(await fault(write("a", "x", { ifDigest: hello }))).toEqual(["conflict", { digest: null }]);
    await write("a", "hello", { ifDigest: null });
    const other = call("exec_2");
    expect(await fault(write("a", "world", { ifDigest: null }, other))).toEqual(["conflict", { digest: hello }]);
    expect(await fault(write("a", "world", { ifDigest: world }, other))).toEqual(["conflict", { digest: hello }]);
    expect(await write("a", "world", { ifDigest: hello }, other)).toMatchObject({ digest: world });
  });

  test("a second attempt of a call that had come through is no conflict", async () => {
    await write("a", "hello");
    for (let attempt = 0; attempt < 2; attempt += 1)
      expect(await write("a", "world", { ifDigest: hello }, call("exec_2"))).toMatchObject({ digest: world });
    for (let attempt = 0; attempt < 2; attempt += 1)
      expect(await write("a", null, { ifDigest: world }, call("exec_3"))).toBeNull();
  });

  test("a file that somebody has changed is not deleted", async () => {
    await write("a", "hello");
    expect(await fault(write("a", null, { ifDigest: world }, call("exec_2")))).toEqual(["conflict", { digest: hello }]);
    expect(await read("a")).toBe("hello");
  });

  test("of eight that write at once on the same ground, one comes through", async () => {
    await write("a", "hello");
    const ends = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        write("a", `by ${n}`, { ifDigest: hello }, call(`exec_w${n}`)).then(
          (row) => row?.callId,
          (error: unknown) => (error as WorkspaceRefused).fault,
        ),
      ),
    );
    const winners = ends.filter((end) => end !== "conflict");
    expect(winners).toHaveLength(1);
    expect(await read("a")).toBe(`by ${String(winners[0]).slice("exec_w".length)}`);
  });
});

describe("limits", () => {
  test("256 KiB are a file, one byte more is none", async () => {
    await write("a", "x".repeat(262_144));
    expect(await fault(write("b", "x".repeat(262_145)))).toEqual(["too_large", { limit_bytes: 262_144 }]);
    expect(await list()).toEqual(["a"]);
  });

  test("what the store refuses leaves the path as it was", async () => {
    for (let n = 0; n < 4; n += 1) await write("a", `${n}`.repeat(262_144));
    expect(await fault(write("a", "more"))).toEqual(["quota_exceeded", { limit_bytes: 1_048_576 }]);
    expect((await read("a")).slice(0, 3)).toBe("333");
  });

  test("ten thousand files are a workspace", async () => {
    const rows = Array.from({ length: 10_000 }, (_, n) => ({
      op: "put_workspace_file" as const,
      filesMax: 10_000,
      row: { tenant: "acme", project: "shop", path: `f${n}`, digest: hello, bytes: 5, updatedAt: 1, callId: "exec_0" },
    }));
    await ledger.commit({ writes: rows });
    expect(await fault(write("g", "hello"))).toEqual(["too_many_files", { limit: 10_000 }]);
    expect(await write("f7", "world")).toMatchObject({ digest: world });
    expect(await write("g", "hello", {}, call("exec_1", "ops"))).toMatchObject({ digest: hello });
  });

  test("long paths make a page shorter, and nothing is passed over", async () => {
    const long = (n: number): string =>
      `${String(n).padStart(3, "0")}/${"a".repeat(250)}/${"b".repeat(250)}/${"c".repeat(250)}/${"d".repeat(250)}`;
    await ledger.commit({
      writes: Array.from({ length: 300 }, (_, n) => ({
        op: "put_workspace_file" as const,
        filesMax: 10_000,
        row: { tenant: "acme", project: "shop", path: long(n), digest: hello, bytes: 5, updatedAt: 1, callId: "e" },
      })),
    });
    // 262,144 bytes / 1,007 of each path.
    const first = await listWorkspace(ports, call("exec_9"), { prefix: "", after: "", limit: 1_000 });
    expect([first.items.length, first.more]).toEqual([260, true]);
    const rest = await listWorkspace(ports, call("exec_9"), { prefix: "", after: long(259), limit: 1_000 });
    expect([rest.items[0]?.path, rest.items.length, rest.more]).toEqual([long(260), 40, false]);
  });
});

test("a call that is to stop changes nothing", async () => {
  const stop = (): never => {
    throw new Error("stopped");
  };
  const order = { path: "a", content: Buffer.from("hello") };
  await expect(writeWorkspace(ports, call("exec_1"), order, stop)).rejects.toThrow("stopped");
  expect(await list()).toEqual([]);
});

test("content that is damaged or gone is told, never handed out; written again it is whole", async () => {
  await write("a", "hello");
  const folder = join(at, "store");
  const [entry] = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(hello.slice(-20)));
  const kept = join(folder, entry ?? "");
  await chmod(kept, 0o600);
  await writeFile(kept, "jello");
  expect(await fault(read("a"))).toEqual(["content_damaged", {}]);
  await rm(kept);
  expect(await fault(read("a"))).toEqual(["content_damaged", {}]);
  await write("a", "hello");
  expect(await read("a")).toBe("hello");
});
