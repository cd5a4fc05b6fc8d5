// Files and packages as callers ask for them: scopes, refusals in the words of the error table, and the list a call is given.
import { createHash } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignalboxError } from "@signalbox/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DiskStore } from "../adapters/store/store.ts";
import { removeTree } from "../adapters/store/tree.ts";
import type { StoreLimits } from "../adapters/store/store-limits.ts";
import type { AuditDraft } from "../call/audit-draft.ts";
import type { Ledger, Unit } from "../ledger/port.ts";
import type { PackageFile } from "../registry/package/listing.ts";
import type { Executor } from "../registry/types.ts";
import type { Asked, Scope } from "../tenancy/types.ts";
import { packageFor, putPackage } from "./files-packages.ts";
import { StoreUnavailable } from "./files-ports.ts";
import {
  checkFiles,
  filesText,
  kept,
  putFile,
  resolveFiles,
  type AskedFile,
  type CheckedFile,
  type FilesPorts,
} from "./files.ts";
import { filesService } from "./files-service.ts";
import { Refusals } from "./refusals.ts";

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
// From `printf hello | sha256sum`.
const hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const never = `sha256:${"0".repeat(64)}`;

let at: string;
beforeEach(() => {
  at = mkdtempSync(join(tmpdir(), "files-"));
});
afterEach(() => removeTree(at));

async function ports(limits: Partial<StoreLimits> = {}): Promise<FilesPorts & { readonly drafts: AuditDraft[] }> {
  const drafts: AuditDraft[] = [];
  const ledger: Partial<Ledger> = {
    async commit({ writes }: Unit) {
      for (const write of writes) if (write.op === "append_audit") drafts.push(write.draft);
      return { applied: true };
    },
  };
  const ignore = (): void => undefined;
  const refusals = new Refusals({
    ledger: ledger as Ledger,
    clock: { now: () => 5, monotonic: () => 5, after: () => ignore },
    meters: { count: ignore, observe: ignore, text: async () => "" },
    log: { info: ignore, warn: ignore, error: ignore },
  });
  return { store: await DiskStore.open(join(at, "store"), limits), refusals, hash, drafts };
}

function asked(scopes: readonly Scope[], tenant = "acme"): Asked {
  const principal = {
    tenant,
    project: "default",
    name: "user:ann",
    keyId: "key_1",
    scopes: new Set(scopes),
    roles: [],
  };
  return { principal, requestId: "req_1", signal: new AbortController().signal } as unknown as Asked;
}

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function refusalOf(work: Promise<unknown> | (() => unknown)): Promise<SignalboxError> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    if (error instanceof SignalboxError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const fields = (error: SignalboxError): unknown => {
  const found = error.details?.["fields"] as readonly { pointer: string; message: string }[] | undefined;
  return found?.map(({ pointer, message }) => [pointer, message]);
};

describe("putting a file", () => {
  test.each<Scope>(["tools:invoke", "tools:write"])("is for %s", async (scope) => {
    expect(await putFile(await ports(), asked([scope]), bytes("hello"))).toEqual({ ref: hello, bytes: 5 });
  });

  test("is for nobody else, and the refusal is written down; nothing is read", async () => {
    const all = await ports();
    let read = false;
    async function* content(): AsyncGenerator<Uint8Array> {
      read = true;
      yield Buffer.from("x");
    }
    const error = await refusalOf(putFile(all, asked(["tools:read", "calls:read"]), content()));
    expect([error.code, error.details, read]).toEqual(["forbidden", { missing_scope: "tools:invoke" }, false]);
    expect(all.drafts).toMatchObject([{ action: "request.refused", errorCode: "forbidden", tenant: "acme" }]);
  });

  test("over the tenant's bound, and too many at once", async () => {
    const small = await ports({ tenantBytesMax: 4 });
    expect(await refusalOf(putFile(small, asked(["tools:invoke"]), bytes("hello")))).toMatchObject({
      code: "quota_exceeded",
      details: { limit: "tenant_stored_bytes_max", limit_bytes: 4 },
    });
    const busy = await ports({ writesAtOncePerTenantMax: 0 });
    expect(await refusalOf(putFile(busy, asked(["tools:invoke"]), bytes("hello")))).toMatchObject({
      code: "rate_limited",
      details: { retry_after_s: 1 },
    });
  });

  test("to a disk that fails is worth a repeat; another mistake stays what it is", async () => {
    const failed = Promise.reject(new StoreUnavailable("the disk is full"));
    expect(await refusalOf(kept(failed))).toMatchObject({ code: "ledger_unavailable", details: { retry_after_s: 1 } });
    await expect(kept(Promise.reject(new TypeError("ours")))).rejects.toThrow(TypeError);
  });
});

describe("the files of a call", () => {
  test("by content or by ref", () => {
    expect(
      checkFiles(
        [
          { path: "a.csv", ref: never },
          { path: "b/c.txt", content: "hello" },
          { path: "e", content: "" },
        ],
        hash,
      ),
    ).toEqual([
      { path: "a.csv", ref: never },
      { path: "b/c.txt", ref: hello, content: "hello" },
      { path: "e", ref: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", content: "" },
    ]);
  });

  test.each<[readonly AskedFile[], readonly (readonly [string, string])[]]>([
    [[{ path: "a" }], [["/files/0", "needs one of content and ref"]]],
    [[{ path: "a", content: "x", ref: never }], [["/files/0", "needs one of content and ref"]]],
    [[{ path: "a", ref: "sha256:12" }], [["/files/0/ref", "must be sha256: and 64 hexadecimal digits"]]],
    [[{ path: "a", ref: "../../etc/passwd" }], [["/files/0/ref", "must be sha256: and 64 hexadecimal digits"]]],
    [
      [{ path: "a", content: "\ud800" }],
      [["/files/0/content", "holds half of a surrogate pair; put bytes with PUT /v1/files"]],
    ],
    [[{ path: "../a", content: "" }], [["/files/0/path", "leads outside: .. is not accepted"]]],
    [[{ path: "/workspace/a", content: "" }], [["/files/0/path", "must be a relative path"]]],
    [
      [
        { path: "a", content: "" },
        { path: "A", content: "" },
      ],
      [["/files/1/path", 'differs from "a" by case or likeness alone']],
    ],
    [
      [
        { path: "a", content: "" },
        { path: "a/b", ref: "x" },
      ],
      [
        ["/files/1/path", 'needs "a" to be a file and a folder'],
        ["/files/1/ref", "must be sha256: and 64 hexadecimal digits"],
      ],
    ],
  ])("%j is refused", async (files, faults) => {
    const error = await refusalOf(() => checkFiles(files, hash));
    expect([error.code, fields(error)]).toEqual(["invalid_input", faults]);
  });

  test("too many of them, and too many faults", async () => {
    const many = (count: number, content?: string): AskedFile[] =>
      Array.from({ length: count }, (_, i) => ({ path: `f${i}`, ...(content === undefined ? {} : { content }) }));
    expect(checkFiles(many(1_000, ""), hash)).toHaveLength(1_000);
    expect(fields(await refusalOf(() => checkFiles(many(1_001, ""), hash)))).toEqual([
      ["/files", "has more than 1000 items"],
    ]);
    expect((await refusalOf(() => checkFiles(many(30), hash))).details).toMatchObject({ more_faults: 10 });
  });

  test("are a part of what a call is, in whatever order; no files leave it as it was", () => {
    const a: CheckedFile = { path: "a", ref: never };
    const b: CheckedFile = { path: "b", ref: hello, content: "hello" };
    expect(filesText([])).toBeUndefined();
    expect(filesText([b, a])).toBe(`{"a":"${never}","b":"${hello}"}`);
    expect(filesText([a, b])).toBe(filesText([b, a]));
    expect(filesText([{ ...b, path: "c" }, a])).not.toBe(filesText([b, a]));
  });

  test("are resolved to what a worker is told, and what came along is stored", async () => {
    const all = await ports();
    await putFile(all, asked(["tools:invoke"]), bytes("hello"));
    const checked = checkFiles(
      [
        { path: "in/b", content: "grüße" },
        { path: "a", ref: hello },
      ],
      hash,
    );
    const ref = `sha256:${hash("grüße")}`;
    expect(await resolveFiles(all, "acme", checked)).toEqual([
      { path: "in/b", digest: ref, bytes: 7 },
      { path: "a", digest: hello, bytes: 5 },
    ]);
    expect(await all.store.useFile("acme", ref)).toBe(7);
  });

  test("what another tenant has put is as unknown as what nobody has; then nothing is stored either", async () => {
    const all = await ports();
    await putFile(all, asked(["tools:invoke"], "beta"), bytes("hello"));
    const messages = [hello, never].map(async (ref) => {
      const error = await refusalOf(
        resolveFiles(
          all,
          "acme",
          checkFiles(
            [
              { path: "b", content: "x" },
              { path: "a", ref },
            ],
            hash,
          ),
        ),
      );
      return [error.code, error.message, fields(error)];
    });
    const unknown = ["/files/1/ref", "names a file that this tenant has not put; put it first"];
    for (const one of await Promise.all(messages))
      expect(one).toEqual(["invalid_input", `field ${unknown.join(" ")}`, [unknown]]);
    expect(await all.store.useFile("acme", `sha256:${hash("x")}`)).toBeUndefined();
  });

  test("too much together", async () => {
    const all = await ports();
    const chunk = new Uint8Array(16 * 1024 * 1024);
    const outcome = await all.store.putFile("acme", [chunk]);
    if (!outcome.ok) throw new Error(outcome.reason);
    const refs = (count: number): CheckedFile[] =>
      Array.from({ length: count }, (_, i) => ({ path: `f${i}`, ref: outcome.file.ref }));
    expect(await resolveFiles(all, "acme", refs(8))).toHaveLength(8);
    expect(await refusalOf(resolveFiles(all, "acme", refs(9)))).toMatchObject({
      code: "payload_too_large",
      details: { limit_bytes: 134_217_728 },
    });
  });
});

describe("a package", () => {
  const file = (path: string, ref = hello): PackageFile => ({ path, mode: "0644", ref });
  const owner = asked(["tools:write"]);

  test("of what was put, once", async () => {
    const service = filesService(await ports());
    await service.putFile(owner, bytes("hello"));
    const listing = `signalbox package 1\n0644 ${hello} a.py\n`;
    expect(await service.putPackage(owner, [file("a.py")])).toEqual({
      ref: `sha256:${hash(listing)}`,
      bytes: 5,
      alreadyThere: false,
    });
    expect(await service.putPackage(owner, [file("a.py")])).toMatchObject({ alreadyThere: true });
  });

  test("needs tools:write", async () => {
    expect(await refusalOf(putPackage(await ports(), asked(["tools:invoke"]), [file("a")]))).toMatchObject({
      code: "forbidden",
      details: { missing_scope: "tools:write" },
    });
  });

  test("names what has yet to be put", async () => {
    const all = await ports();
    await putFile(all, asked(["tools:write"], "beta"), bytes("hello"));
    const error = await refusalOf(putPackage(all, owner, [file("a"), file("b", never), file("c", never)]));
    expect([error.code, error.message, error.details]).toEqual([
      "invalid_input",
      "2 of its files have yet to be put",
      { reason: "files_missing", missing: [hello, never] },
    ]);
  });

  test("with a list that is wrong tells where", async () => {
    const error = await refusalOf(putPackage(await ports(), owner, [file("a"), file("../b")]));
    expect([error.message, error.details]).toEqual([
      "the package cannot be stored: files[1].path leads outside: .. is not accepted",
      { problems: [{ path: "files[1].path", message: "leads outside: .. is not accepted" }] },
    ]);
  });

  const python: Executor = { type: "sandbox", runtime: "python", entry: "a.py" };

  test("is pinned by a version that starts a file of it", async () => {
    const all = await ports();
    await putFile(all, owner, bytes("hello"));
    const { ref } = await putPackage(all, owner, [file("a.py")]);
    expect(await packageFor(all.store, "acme", python, ref)).toBe(ref);
    expect(await packageFor(all.store, "acme", { type: "worker" }, undefined)).toBeNull();
    expect(await packageFor(all.store, "platform", python, undefined)).toBeNull();
    const refused = async (tenant: string, executor: Executor, one: string | undefined): Promise<unknown> =>
      (await refusalOf(packageFor(all.store, tenant, executor, one))).details?.["problems"];
    expect(await refused("acme", python, undefined)).toMatchObject([{ path: "spec.executor.entry" }]);
    expect(await refused("acme", { ...python, entry: "b.py" }, ref)).toMatchObject([
      { message: "is not in the package: b.py" },
    ]);
    expect(await refused("acme", { type: "worker" }, ref)).toMatchObject([{ path: "spec.executor.type" }]);
    const unknown = [
      { path: "package", message: "names a package that this tenant has not put", hint: "PUT /v1/packages first" },
    ];
    for (const [tenant, one] of [
      ["beta", ref],
      ["acme", never],
      ["acme", "../../x"],
    ] as const)
      expect(await refused(tenant, python, one)).toEqual(unknown);
  });
});
