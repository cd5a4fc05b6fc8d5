// What the built client needs of its surroundings: nothing that a browser, or Node 20, lacks.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { importsOf, withoutCommentsAndStrings } from "./boundaries/sources.ts";
import { scriptedHttp } from "./support/scripted-http.ts";

const dist = fileURLToPath(new URL("../packages/client/dist", import.meta.url));

interface Built {
  readonly path: string;
  readonly text: string;
}

function built(): readonly Built[] {
  return readdirSync(dist)
    .filter((name) => name.endsWith(".js"))
    .map((name) => ({ path: name, text: readFileSync(join(dist, name), "utf8") }));
}

/** Names that Node has and browsers do not, where they stand for the global and not for a member or a property. */
const nodeGlobals =
  /(?<![\w.$])(process|Buffer|global|require|module|exports|setImmediate|clearImmediate|__dirname|__filename)\b(?!\s*:)/g;

function foreign({ path, text }: Built): readonly string[] {
  const globals = [...withoutCommentsAndStrings(text).matchAll(nodeGlobals)].map(([word]) => `${path}: ${word}`);
  const imports = importsOf({ path, text }).map(({ name }) => name);
  return [...globals, ...imports.filter((name) => !/^\.\/[\w-]+\.js$/.test(name)).map((name) => `${path}: ${name}`)];
}

describe("in a browser", () => {
  test("every built file imports its neighbours alone, and names no global of Node", () => {
    const files = built();
    expect(files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["index.js", "client.js", "default-ports.js"]),
    );
    expect(files.flatMap(foreign)).toEqual([]);
  });

  test.each([
    [`import { readFile } from "node:fs/promises";`, "node:fs/promises"],
    [`import { limits } from "@signalbox/protocol";`, "@signalbox/protocol"],
    [`const later = await import("./x.ts");`, "./x.ts"],
    ["const bytes = Buffer.from(text);", "Buffer"],
    ["if (process.env.KEY) go();", "process"],
    ["setImmediate(go);", "setImmediate"],
  ])("it would see %s", (text, word) => {
    expect(foreign({ path: "a.js", text })).toEqual([`a.js: ${word}`]);
  });

  test.each(["// process.env", 'const a = "Buffer";', "answer.process()", "({ module: 1 })", 'import "./a.js";'])(
    "it does not mind %s",
    (text) => {
      expect(foreign({ path: "a.js", text })).toEqual([]);
    },
  );
});

test("on the machine's own Node, which may be 20, it runs", async () => {
  const record = `{"execution_id":"exec_1","status":"succeeded","output":{"n":12345678901234567890}}`;
  const busy = { error: { code: "draining", message: "later", retryable: true } };
  const { url, seen } = await scriptedHttp({ "POST /v1/executions": [{ status: 503, body: busy }, { body: record }] });
  const script = `
    const { createClient } = await import(${JSON.stringify(join(dist, "index.js"))});
    const client = createClient({ url: ${JSON.stringify(url)}, key: "k", retry: { initialDelayMs: 1 } });
    const call = await client.invoke("a.b", {}, { signal: AbortSignal.timeout(10_000) });
    process.stdout.write(call.outputText);
  `;
  // The launcher names the machine's own Node where it has brought a newer one to run the tests on.
  const node = process.env["SIGNALBOX_HOST_NODE"] ?? process.execPath;
  const { stdout } = await promisify(execFile)(node, ["--input-type=module", "--eval", script]);
  expect(stdout).toBe(`{"n":12345678901234567890}`);
  const keys = seen.map(({ body }) => (JSON.parse(body) as { idempotency_key: string }).idempotency_key);
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
});
