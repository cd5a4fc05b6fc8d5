// How a command finds its runtime and its key, and to whom a key is never sent.
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { findConnection } from "./config.ts";
import type { ConnectionFlags } from "./config.ts";
import type { Io } from "./io.ts";

let root: string;
let below: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "signalbox-config-"));
  below = join(root, "a", "b");
  await mkdir(below, { recursive: true });
  onTestFinished(() => rm(root, { recursive: true }));
});

async function writeClientFile(content: unknown): Promise<string> {
  await mkdir(join(root, ".signalbox"), { recursive: true });
  const path = join(root, ".signalbox", "client.json");
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content), { mode: 0o600 });
  return path;
}

async function find(flags: ConnectionFlags = {}, env: Record<string, string> = {}) {
  let err = "";
  const io = { env, cwd: below, stderr: { write: (text: string) => (err += text) } } as unknown as Io;
  return { connection: await findConnection(io, flags), err };
}

const local = { url: "http://127.0.0.1:8080", key: "sbx_file" };
const remote = { url: "https://box.example.com", key: "sbx_file" };

test("the nearest client file above is taken", async () => {
  await writeClientFile(local);
  expect(await find()).toEqual({ connection: { url: local.url, key: local.key }, err: "" });
});

test("flags win over the environment, and that over the file", async () => {
  await writeClientFile(local);
  const env = { SIGNALBOX_URL: "http://env.test", SIGNALBOX_KEY: "sbx_env" };
  expect((await find({}, env)).connection).toEqual({ url: "http://env.test", key: "sbx_env" });
  expect((await find({ url: "http://flag.test", key: "sbx_flag" }, env)).connection).toEqual({
    url: "http://flag.test",
    key: "sbx_flag",
  });
});

test("nothing known says how to start a runtime", async () => {
  await expect(find()).rejects.toMatchObject({ exitCode: 5, code: "no_runtime" });
});

test("the file's key goes to the file's URL only", async () => {
  await writeClientFile(local);
  expect((await find({ url: "http://127.0.0.1:8080/" })).connection).toEqual({
    url: "http://127.0.0.1:8080/",
    key: "sbx_file",
  });
  await expect(find({ url: "https://elsewhere.test" })).rejects.toMatchObject({ exitCode: 3, code: "no_key" });
});

test("a key from elsewhere does not go to a remote URL that only a file names", async () => {
  await writeClientFile(remote);
  await expect(find({}, { SIGNALBOX_KEY: "sbx_env" })).rejects.toMatchObject({ exitCode: 2 });
  await writeClientFile(local);
  expect((await find({}, { SIGNALBOX_KEY: "sbx_env" })).connection).toEqual({ url: local.url, key: "sbx_env" });
});

test("a file that others can read is used with a warning", async () => {
  const path = await writeClientFile(local);
  await chmod(path, 0o644);
  const { connection, err } = await find();
  expect(connection.key).toBe("sbx_file");
  expect(err).toBe(`warning: others can read the key in ${path}; next: chmod 600 ${path}\n`);
});

test.each(["{", "{}", `{"url":"nonsense","key":"k"}`, "null"])(
  "a client file that says %s is refused",
  async (content) => {
    await writeClientFile(content);
    await expect(find()).rejects.toThrow("is not a client file");
  },
);

test.each(["nonsense", "ftp://box.test"])("%s is no URL", async (url) => {
  await expect(find({ url, key: "k" })).rejects.toThrow(`"${url}" is not a URL of a runtime`);
});

const platform = { platform: true } as const;

test("--platform takes the operator's key in place of the ordinary one, and neither stands in for the other", async () => {
  const path = await writeClientFile({ ...local, platform_key: "sbx_platform" });
  expect((await find(platform)).connection).toEqual({ url: local.url, key: "sbx_platform" });
  expect((await find()).connection.key).toBe("sbx_file");
  const env = { SIGNALBOX_KEY: "sbx_env", SIGNALBOX_PLATFORM_KEY: "sbx_platform_env" };
  expect((await find(platform, env)).connection.key).toBe("sbx_platform_env");
  expect((await find(platform, { SIGNALBOX_KEY: "sbx_env" })).connection.key).toBe("sbx_platform");
  expect((await find({ ...platform, key: "sbx_flag" }, env)).connection.key).toBe("sbx_flag");
  await writeClientFile(local);
  await expect(find(platform)).rejects.toMatchObject({
    exitCode: 3,
    code: "no_platform_key",
    message: `no key of the platform's operator is known for ${local.url}: ${path} has none`,
  });
  await expect(find({ ...platform, url: "https://elsewhere.test" }, { SIGNALBOX_KEY: "k" })).rejects.toMatchObject({
    code: "no_platform_key",
  });
});
