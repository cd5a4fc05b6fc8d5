// The data folder: private files, a key that is made once and never replaced, and writes that a crash cannot halve.
import { chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { auditKey, dataFolder, makeFolder, readClientFile, writeClientFile } from "./data-folder.ts";

let at: string;
beforeEach(() => {
  at = mkdtempSync(join(tmpdir(), "data-folder-"));
});
afterEach(() => rmSync(at, { recursive: true, force: true }));

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const client = { url: "http://127.0.0.1:8080", key: "sbk_1", grpc: "127.0.0.1:9090" };

test("the folder is its owner's alone, and making it again is no error", () => {
  const folder = dataFolder(join(at, "a", "b"));
  makeFolder(folder);
  makeFolder(folder);
  expect(mode(folder.path)).toBe("700");
  expect(folder).toMatchObject({ ledgerFile: join(folder.path, "ledger.db"), auditKeyFile: join(folder.path, "audit.key"), clientFile: join(folder.path, "client.json") });
});

describe("the audit key", () => {
  test("is made on the first start: 32 bytes as hex, for its owner alone, and the same from then on", () => {
    const folder = dataFolder(at);
    const key = auditKey(folder);
    expect(key).toHaveLength(32);
    expect(readFileSync(folder.auditKeyFile, "utf8")).toBe(`${key.toString("hex")}\n`);
    expect(mode(folder.auditKeyFile)).toBe("600");
    expect(auditKey(folder)).toEqual(key);
    expect(readdirSync(at)).toEqual(["audit.key"]);
  });

  test("two folders have two keys", () => {
    mkdirSync(join(at, "a"));
    mkdirSync(join(at, "b"));
    expect(auditKey(dataFolder(join(at, "a")))).not.toEqual(auditKey(dataFolder(join(at, "b"))));
  });

  test("missing beside a ledger: refused, with what to do, and none is made", () => {
    const folder = dataFolder(at);
    writeFileSync(folder.ledgerFile, "");
    expect(() => auditKey(folder)).toThrow(/audit\.key is missing, so the audit of the ledger beside it cannot be continued/);
    expect(existsSync(folder.auditKeyFile)).toBe(false);
  });

  test.each([
    ["empty", ""],
    ["short", "ab".repeat(31)],
    ["long", "ab".repeat(33)],
    ["no hex at its end", `${"ab".repeat(32)}zz`],
    ["no hex inside", `${"ab".repeat(31)}xy`],
  ])("damaged (%s): refused, and left as it is", (_, text) => {
    const folder = dataFolder(at);
    writeFileSync(folder.auditKeyFile, text);
    expect(() => auditKey(folder)).toThrow("is damaged: it must hold 64 hex digits.");
    expect(readFileSync(folder.auditKeyFile, "utf8")).toBe(text);
  });

  test("upper case and white space around it do no harm", () => {
    const folder = dataFolder(at);
    writeFileSync(folder.auditKeyFile, ` ${"AB".repeat(32)}\n\n`);
    expect(auditKey(folder).toString("hex")).toBe("ab".repeat(32));
  });
});

describe("the client file", () => {
  test("is for its owner alone, and says where to go and with which key", () => {
    const folder = dataFolder(at);
    writeClientFile(folder, client);
    expect(mode(folder.clientFile)).toBe("600");
    expect(readClientFile(folder)).toEqual(client);
  });

  test("written over an older one that was open to others, it is private again", () => {
    const folder = dataFolder(at);
    writeFileSync(folder.clientFile, "{}");
    chmodSync(folder.clientFile, 0o644);
    writeClientFile(folder, client);
    expect(mode(folder.clientFile)).toBe("600");
  });

  test("what a crash left behind is neither kept nor written into, whoever may read it", () => {
    const folder = dataFolder(at);
    const left = `${folder.clientFile}.new`;
    writeFileSync(left, "half");
    chmodSync(left, 0o666);
    const reader = openSync(left, "r");
    writeClientFile(folder, client);
    expect(readFileSync(reader, "utf8")).toBe("half");
    closeSync(reader);
    expect(readdirSync(at)).toEqual(["client.json"]);
    expect(mode(folder.clientFile)).toBe("600");
  });

  test("a write that cannot be done leaves the old file whole", () => {
    const folder = dataFolder(at);
    writeClientFile(folder, client);
    mkdirSync(`${folder.clientFile}.new`);
    expect(() => writeClientFile(folder, { ...client, key: "sbk_2" })).toThrow();
    expect(readClientFile(folder)).toEqual(client);
  });

  test.each([
    ["missing", undefined],
    ["no JSON", "{"],
    ["without a key", '{"url":"http://x"}'],
    ["with a key that is no text", '{"key":7}'],
    ["null", "null"],
  ])("%s: none", (_, text) => {
    const folder = dataFolder(at);
    if (text !== undefined) writeFileSync(folder.clientFile, text);
    expect(readClientFile(folder)).toBeUndefined();
  });

  test("an old one that knew only the key is read", () => {
    const folder = dataFolder(at);
    writeFileSync(folder.clientFile, '{"key":"sbk_1"}');
    expect(readClientFile(folder)).toEqual({ url: "", key: "sbk_1", grpc: "" });
  });

  test("the operator's key stands beside the ordinary one, under the name that other programs read", () => {
    const folder = dataFolder(at);
    writeClientFile(folder, { ...client, platform_key: "sbk_p" });
    expect(JSON.parse(readFileSync(folder.clientFile, "utf8"))).toEqual({ ...client, platform_key: "sbk_p" });
    expect(readClientFile(folder)).toEqual({ ...client, platform_key: "sbk_p" });
    writeFileSync(folder.clientFile, '{"key":"sbk_1","platform_key":7}');
    expect(readClientFile(folder)).toEqual({ url: "", key: "sbk_1", grpc: "" });
  });
});
