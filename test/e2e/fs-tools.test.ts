// fs.read, fs.write and fs.list through the public door: a project's files, who sees them, and what is refused.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import type { Reply, Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";

// From `printf hello | sha256sum`.
const hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const fsTools = ["fs.list", "fs.read", "fs.write"];

let stack: Stack;
let admin: Rest;

beforeAll(async () => {
  stack = await startStack({ args: ["--enable", "fs.read,fs.write,fs.list"] });
  admin = stack.admin;
});
afterAll(() => finish(stack));

const write = (path: string, content: string | null, more: object = {}, by = admin): Promise<Reply> =>
  by.invoke({ tool: "fs.write", input: { path, content, ...more } });
const read = (path: string, more: object = {}, by = admin): Promise<Reply> =>
  by.invoke({ tool: "fs.read", input: { path, ...more } });
const list = async (input: object = {}, by = admin): Promise<unknown> =>
  (await by.invoke({ tool: "fs.list", input })).body.output;
const listed = async (prefix: string, by = admin): Promise<readonly unknown[]> =>
  ((await list({ prefix }, by)) as { items: readonly { path: string }[] }).items.map(({ path }) => path);

/** The tool's own code of a call that failed. */
function toolCode({ body }: Reply): unknown {
  return [body.status, body.error?.code, (body.error?.details as { tool_code?: string } | undefined)?.tool_code];
}

describe("on", () => {
  test("what is written is read back, byte for byte", async () => {
    const written = await write("notes/hello.txt", "hello");
    expect([written.status, written.body.output]).toEqual([200, { path: "notes/hello.txt", digest: hello, bytes: 5 }]);
    expect((await read("notes/hello.txt")).body.output).toEqual({
      path: "notes/hello.txt",
      content: "hello",
      encoding: "utf8",
      offset_bytes: 0,
      length_bytes: 5,
      bytes: 5,
      digest: hello,
    });
    const text = "\ufeffgrüße ☂ 12345678901234567890\r\n\u0000\u2028";
    await write("notes/odd.txt", text);
    expect((await read("notes/odd.txt")).body.output).toMatchObject({ content: text, bytes: 41 });
  });

  test("bytes that are no text travel as base64", async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
    await write("bin/all", all.toString("base64"), { encoding: "base64" });
    const back = await read("bin/all", { encoding: "base64" });
    expect(back.body.output).toMatchObject({ content: all.toString("base64"), bytes: 256, encoding: "base64" });
    expect(toolCode(await read("bin/all"))).toEqual(["failed", "tool_error", "not_text"]);
    for (const bad of ["aGVsbG8", "aGVs bG8=", "aGVsbG9=", "_-8="])
      expect(toolCode(await write("bin/bad", bad, { encoding: "base64" }))).toEqual([
        "failed",
        "tool_error",
        "invalid_content",
      ]);
    expect(await listed("bin/")).toEqual(["bin/all"]);
  });

  test("a part by its bytes; behind the end there is nothing", async () => {
    await write("parts.txt", "añb");
    expect((await read("parts.txt", { offset_bytes: 1, length_bytes: 2 })).body.output).toMatchObject({
      content: "ñ",
      offset_bytes: 1,
      length_bytes: 2,
      bytes: 4,
    });
    expect(toolCode(await read("parts.txt", { offset_bytes: 2 }))).toEqual(["failed", "tool_error", "not_text"]);
    expect((await read("parts.txt", { offset_bytes: 2, encoding: "base64" })).body.output).toMatchObject({
      content: "sWI=",
    });
    expect((await read("parts.txt", { offset_bytes: 9 })).body.output).toMatchObject({ content: "", length_bytes: 0 });
  });

  test("256 KiB come and go; one byte more is refused, and so is text whose escapes do not fit a result", async () => {
    const most = "x".repeat(262_144);
    expect((await write("big/most", most)).body.output).toMatchObject({ bytes: 262_144 });
    expect((await read("big/most")).body.output).toMatchObject({ content: most });
    expect(toolCode(await write("big/more", `${most}x`))).toEqual(["failed", "tool_error", "too_large"]);
    const zeros = Buffer.alloc(262_144).toString("base64");
    expect((await write("big/zeros", zeros, { encoding: "base64" })).body.output).toMatchObject({ bytes: 262_144 });
    expect(toolCode(await read("big/zeros"))).toEqual(["failed", "tool_error", "too_large"]);
    expect((await read("big/zeros", { encoding: "base64" })).body.output).toMatchObject({ content: zeros });
    expect(await listed("big/")).toEqual(["big/most", "big/zeros"]);
  });

  test("a list tells each file, page by page", async () => {
    const ids: unknown[] = [];
    for (const name of ["c", "a", "b"]) ids.push((await write(`page/${name}`, "hello")).body.execution_id);
    const item = (name: string, id: unknown) => ({
      path: `page/${name}`,
      bytes: 5,
      digest: hello,
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      execution_id: id,
    });
    expect(await list({ prefix: "page/", limit: 2 })).toEqual({
      items: [item("a", ids[1]), item("b", ids[2])],
      next_after: "page/b",
    });
    expect(await list({ prefix: "page/", limit: 2, after: "page/b" })).toEqual({
      items: [item("c", ids[0])],
      next_after: null,
    });
  });

  test("workspaceListItemsMax and workspaceListItemsDefault: a page of 1 000 may be asked for, and 100 is what comes unasked", async () => {
    const page = await admin.invoke({ tool: "fs.list", input: { limit: 1_000 } });
    expect([page.status, page.body.status]).toEqual([200, "succeeded"]);
    expect((await admin.invoke({ tool: "fs.list", input: { limit: 1_001 } })).status).toBe(400);
    for (let n = 0; n < 101; n += 20)
      await Promise.all(Array.from({ length: Math.min(20, 101 - n) }, (_, at) => write(`pages/${n + at}`, "x")));
    expect(((await list({ prefix: "pages/" })) as { items: unknown[] }).items).toHaveLength(100);
  });

  test.each(["../x", "/etc/passwd", "a//b", "a\u0000b", "a/./b", "a\\b", "C:/x"])(
    "the path %j is refused",
    async (path) => {
      for (const reply of [await write(path, "x"), await write(path, null), await read(path)])
        expect(toolCode(reply)).toEqual(["failed", "tool_error", "invalid_path"]);
    },
  );

  test("a path is no file and folder at once; null deletes, twice over", async () => {
    await write("tree/leaf", "x");
    expect(toolCode(await write("tree", "x"))).toEqual(["failed", "tool_error", "file_and_folder"]);
    expect(toolCode(await write("tree/leaf/more", "x"))).toEqual(["failed", "tool_error", "file_and_folder"]);
    for (let time = 0; time < 2; time += 1)
      expect((await write("tree/leaf", null)).body.output).toEqual({ path: "tree/leaf", digest: null, bytes: 0 });
    expect(toolCode(await read("tree/leaf"))).toEqual(["failed", "tool_error", "not_found"]);
    expect((await write("tree", "x")).body.status).toBe("succeeded");
  });

  test("of two that compare and set at once, one wins, and the other learns what is there", async () => {
    await write("cas", "hello");
    for (let round = 0, known = hello; round < 5; round += 1) {
      const replies = await Promise.all(
        ["one", "two"].map((by) => write("cas", `${by} ${round}`, { if_digest: known })),
      );
      const won = replies.flatMap(({ body }) =>
        body.status === "succeeded" ? [body.output as { digest: string }] : [],
      );
      const lost = replies.flatMap(({ body }) => (body.status === "succeeded" ? [] : [body.error]));
      expect([won.length, lost.length]).toEqual([1, 1]);
      const digest = won[0]?.digest ?? "";
      expect(lost[0]).toMatchObject({
        code: "tool_error",
        retryable: false,
        details: { tool_code: "conflict", tool_details: { digest } },
      });
      known = digest;
    }
    expect(toolCode(await write("cas", "x", { if_digest: null }))).toEqual(["failed", "tool_error", "conflict"]);
    expect((await write("cas-new", "x", { if_digest: null })).body.status).toBe("succeeded");
    expect((await write("cas", "x", { if_digest: "hello" })).status).toBe(400);
  });

  test("forty at once, each its own file, all come through", async () => {
    const names = Array.from({ length: 40 }, (_, n) => `many/${String(n).padStart(2, "0")}`);
    const replies = await Promise.all(names.map((name) => write(name, name)));
    expect(replies.map(({ body }) => body.error?.details ?? body.status)).toEqual(names.map(() => "succeeded"));
    expect(await listed("many/")).toEqual(names);
  });

  // `signalbox dev` has one tenant with callers; that none reaches another's files is shown beside corridor/workspace.ts.
  test("another project sees nothing, and no argument says otherwise", async () => {
    await write("own/a", "hello");
    const { rest: ops } = await stack.makeKey({
      principal: "user:olga",
      project: "ops",
      scopes: ["tools:invoke"],
      grants: fsTools.map((tool) => `tool:invoke:${tool}`),
    });
    expect(await list({}, ops)).toEqual({ items: [], next_after: null });
    expect(toolCode(await read("own/a", {}, ops))).toEqual(["failed", "tool_error", "not_found"]);
    for (const more of [{ project: "default" }, { tenant: "local" }])
      expect((await read("own/a", more, ops)).status).toBe(400);
    expect((await ops.invoke({ tool: "fs.read", project: "default", input: { path: "own/a" } })).status).toBe(403);
    await write("own/a", "theirs", {}, ops);
    expect((await read("own/a")).body.output).toMatchObject({ content: "hello" });
  });

  test("who has no grant for fs.write only reads", async () => {
    const { rest: reader } = await stack.makeKey({
      principal: "user:rita",
      scopes: ["tools:invoke"],
      grants: ["tool:invoke:fs.read"],
    });
    await write("granted", "hello");
    expect((await write("granted", "x", {}, reader)).status).toBe(403);
    expect((await read("granted", {}, reader)).body.output).toMatchObject({ content: "hello" });
  });

  test("every call is on record; no content and no path stands in audit or log", async () => {
    const { body } = await write("secret-place/plan.txt", "the-secret-content");
    await read("secret-place/../plan.txt");
    await read("secret-place/none.txt");
    const records = await admin.audit({ execution_id: body.execution_id ?? "" });
    expect(records.map(({ action, status }) => [action, status])).toEqual([["call.settled", "succeeded"]]);
    const everything = JSON.stringify(await admin.audit()) + stack.logs();
    for (const word of ["the-secret-content", "secret-place"]) expect(everything).not.toContain(word);
  });
});

test("files are there after a stop and after a kill", async () => {
  await write("lasting/a", "hello");
  await stack.stop();
  await stack.start();
  expect((await read("lasting/a")).body.output).toMatchObject({ content: "hello", digest: hello });
  await stack.kill();
  await stack.start();
  expect(await listed("lasting/")).toEqual(["lasting/a"]);
});

test("off by itself: not listed, and a call is denied with the flag that would help", async () => {
  const plain = await startStack();
  try {
    const { items = [] } = (await plain.admin.get("/v1/tools")).body;
    expect(items.map(({ name, tool }) => name ?? tool).filter((name) => fsTools.includes(String(name)))).toEqual([]);
    for (const tool of fsTools) {
      const { status, body } = await plain.admin.invoke({ tool, input: { path: "a", content: "x" } });
      expect([status, body.error?.code, body.error?.details]).toEqual([
        403,
        "forbidden",
        { reason: "tool_off", switch: tool },
      ]);
      expect(body.error?.message).toContain(`--enable code.run,${tool}`);
    }
  } finally {
    await finish(plain);
  }
});
