// The configuration of providers: what it takes, what it refuses and where, and that keys come by reference and stay out of sight.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import * as anthropic from "../../../../../test/support/anthropic-wire.ts";
import { HandClock } from "../../../../../test/support/hand-clock.ts";
import { askModel, requestOf, said, user } from "../../../../../test/support/model-requests.ts";
import * as openai from "../../../../../test/support/openai-wire.ts";
import type { WireServer } from "../../../../../test/support/wire-server.ts";
import { readProviders } from "./config-file.ts";
import { openModels, type Env } from "./configured.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-models-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const clock = new HandClock(0);

let [claude, gpt, local]: WireServer[] = [];
beforeEach(async () => {
  [claude, gpt, local] = await Promise.all([anthropic.startAnthropic(), openai.startOpenAi(), openai.startOpenAi("template")]);
  claude?.script({ body: anthropic.messageOf("end_turn", anthropic.textBlock(0, "from claude")) });
  gpt?.script({ body: openai.chatOf("stop", openai.content("from gpt")) });
  local?.script({ body: openai.chatOf("stop", openai.content("from local")) });
});
afterEach(() => Promise.all([claude, gpt, local].map((server) => server?.close())));

const env: Env = { CLAUDE: anthropic.anthropicKey, GPT: openai.openAiKey };
const write = (text: string): string => {
  const file = join(folder, "models.yaml");
  writeFileSync(file, text);
  return file;
};

test("a file of four kinds gives four models, and each asks its own server", async () => {
  writeFileSync(join(folder, "turns.yaml"), "scripts: { m-1: [{ text: from the script }] }\n");
  const file = write(`providers:
  claude: { type: anthropic, api_key: env:CLAUDE, base_url: "${claude?.url}", timeout: 30s, idle_timeout: 1m, max_retries: 0 }
  gpt: { type: openai, api_key: env:GPT, base_url: "${gpt?.url}/v1" }
  local: { type: openai_compatible, base_url: "${local?.url}/v1" }
  played: { type: scripted, file: turns.yaml }
`);
  const { models, providers } = await openModels({ file, env, clock });
  expect(providers).toEqual([
    { name: "claude", type: "anthropic" },
    { name: "gpt", type: "openai" },
    { name: "local", type: "openai_compatible" },
    { name: "played", type: "scripted" },
  ]);
  const said_ = async (name: string) => {
    const model = models(name);
    return model === undefined ? undefined : (await askModel(model, requestOf([user("hi")]))).outcome.parts;
  };
  expect(await said_("claude")).toEqual([said("from claude")]);
  expect(await said_("gpt")).toEqual([said("from gpt")]);
  expect(await said_("local")).toEqual([said("from local")]);
  expect(await said_("played")).toEqual([said("from the script")]);
  expect(models("other")).toBeUndefined();
});

test("without a file there are the providers whose keys stand in the environment; the file's own come first", async () => {
  const keys = { ANTHROPIC_API_KEY: "k1", OPENAI_API_KEY: "k2" };
  expect((await openModels({ file: undefined, env: keys, clock })).providers).toEqual([
    { name: "anthropic", type: "anthropic" },
    { name: "openai", type: "openai" },
  ]);
  expect((await openModels({ file: undefined, env: { ANTHROPIC_API_KEY: "" }, clock })).providers).toEqual([]);
  const file = write(`providers: { openai: { type: openai_compatible, base_url: "${local?.url}/v1" } }`);
  const { providers, models } = await openModels({ file, env: { ...keys, OPENAI_BASE_URL: "http://127.0.0.1:9" }, clock });
  expect(providers).toEqual([
    { name: "anthropic", type: "anthropic" },
    { name: "openai", type: "openai_compatible" },
  ]);
  const model = models("openai");
  expect(model === undefined ? undefined : (await askModel(model, requestOf([user("hi")]))).outcome.parts).toEqual([said("from local")]);
});

test("headers may be references too, and a variable that is not set is told by its name", async () => {
  const yaml = `providers: { local: { type: openai_compatible, base_url: "${local?.url}/v1", headers: { X-Pass: env:PASS, X-Team: blue } } }`;
  const { models } = await openModels({ file: write(yaml), env: { PASS: "p4ss" }, clock });
  const model = models("local");
  if (model !== undefined) await askModel(model, requestOf([user("hi")]));
  expect(local?.requests[0]?.headers).toMatchObject({ "x-pass": "p4ss", "x-team": "blue" });
  await expect(openModels({ file: write(yaml), env: {}, clock })).rejects.toThrow("providers.local.headers.X-Pass names the variable PASS, which is not set: set it, or take the provider out");
  const broken = { file: write("providers: { a: { type: anthropic, api_key: env:K } }"), env: { K: "two words" }, clock };
  await expect(openModels(broken)).rejects.toThrow("providers.a.api_key names the variable K, which holds no key: blanks or control characters stand in it");
});

test("a key in the file is refused and not repeated", async () => {
  const error: unknown = await openModels({ file: write("providers: { a: { type: anthropic, api_key: sk-ant-secret-1 } }"), env: {}, clock }).catch((one: unknown) => one);
  expect(String(error)).toContain("providers.a.api_key must be a reference, never the key itself (name a variable of the environment: api_key: env:NAME)");
  expect(String(error)).not.toContain("sk-ant-secret-1");
});

const problemsOf = (document: unknown): readonly string[] => {
  const read = readProviders(document);
  return read.ok ? [] : read.problems.map(({ path, message }) => `${path} ${message}`);
};
const one = (fields: object) => ({ providers: { a: { type: "openai_compatible", base_url: "http://127.0.0.1:1/v1", ...fields } } });

test.each<[unknown, string]>([
  [[], " must be a mapping, not a list"],
  [{}, "providers must be a mapping of names to providers"],
  [{ providers: { A: {} } }, 'providers.A "A" is not valid here'],
  [{ providers: { a: 7 } }, "providers.a must be a mapping, not 7"],
  [{ providers: { a: { type: "antropic" } } }, 'providers.a.type must be one of anthropic, openai, openai_compatible, scripted, not "antropic"'],
  [{ providers: { a: { type: "anthropic" } } }, "providers.a.api_key is required"],
  [{ providers: { a: { type: "anthropic", api_key: "env:A", file: "x" } } }, "providers.a.file is an unknown key"],
  [{ providers: { a: { type: "openai_compatible" } } }, "providers.a.base_url is required"],
  [{ providers: { a: { type: "scripted" } } }, "providers.a.file is required"],
  [one({ base_url: "ftp://x" }), "providers.a.base_url is no http or https URL"],
  [one({ base_url: "https://me:pw@host/v1" }), "providers.a.base_url holds a name or a password"],
  [one({ base_url: "https://host/v1?key=1" }), "providers.a.base_url must end with its path"],
  [one({ base_url: "http://example.com/v1", api_key: "env:A" }), "providers.a.base_url would send the key in clear text"],
  [one({ base_url: "http://127.evil.example/v1", api_key: "env:A" }), "providers.a.base_url would send the key in clear text"],
  [one({ timeout: 30 }), "providers.a.timeout is a duration without a unit"],
  [one({ idle_timeout: "2h" }), "providers.a.idle_timeout must be at most 1 h"],
  [one({ max_retries: 11 }), "providers.a.max_retries must be at most 10"],
  [one({ headers: { "a b": "x" } }), 'providers.a.headers["a b"] is no name of a header'],
  [one({ headers: { a: "x\ny" } }), "providers.a.headers.a must be at most 4096 printable ASCII characters, or env:NAME"],
  [one({ extra_body: { messages: [] } }), "providers.a.extra_body.messages is written by the runtime"],
  [one({ extra_body: [] }), "providers.a.extra_body must be a mapping, not a list"],
  [one({ stream_usage: "no" }), 'providers.a.stream_usage must be true or false, not "no"'],
])("%j is refused: %s", (document, problem) => {
  expect(problemsOf(document)).toContain(problem);
});

test("a trusted network, loopback and https take a key", () => {
  expect(problemsOf(one({ base_url: "http://models.internal/v1", api_key: "env:A", clear_text: true }))).toEqual([]);
  for (const url of ["http://localhost:1/v1", "http://[::1]:1/v1", "http://127.0.0.1:1/v1", "https://example.com/v1"]) expect(problemsOf(one({ base_url: url, api_key: "env:A" }))).toEqual([]);
});
