// Each bound of models: what stands at it is taken, and one more is not.
import { afterEach, beforeEach, expect, test } from "vitest";
import * as wire from "../../../../../test/support/anthropic-wire.ts";
import { HandClock } from "../../../../../test/support/hand-clock.ts";
import { askModel, call, requestOf, said, user } from "../../../../../test/support/model-requests.ts";
import type { WireServer } from "../../../../../test/support/wire-server.ts";
import { sha256 } from "../system/crypto.ts";
import { anthropicModel } from "./anthropic/model.ts";
import { readProviders } from "./config-file.ts";
import { openModels } from "./configured.ts";
import { readScripts } from "./scripted/file.ts";

const wrong = (read: ReturnType<typeof readProviders> | ReturnType<typeof readScripts>): readonly string[] => (read.ok ? [] : read.problems.map(({ path, message }) => `${path} ${message}`));
const scripts = (value: unknown, name = "a"): readonly string[] => wrong(readScripts({ scripts: { [name]: value } }));
const provider = (fields: object): readonly string[] => wrong(readProviders({ providers: { a: { type: "openai_compatible", base_url: "https://h/v1", ...fields } } }));
const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index));
const nested = (depth: number): unknown => (depth === 1 ? {} : { a: nested(depth - 1) });

test.each<[string, (size: number) => readonly string[], number, string]>([
  ["modelNameCharsMax: a script's name", (size) => scripts([{ text: "x" }], "n".repeat(size)), 256, "is longer than 256 characters"],
  ["toolNameCharsMax: what a script calls", (size) => scripts([{ calls: [{ tool: "t".repeat(size) }] }]), 64, "is longer than 64 characters"],
  ["scriptedTextCharsMax: a text", (size) => scripts([{ text: "x".repeat(size) }]), 65_536, "is longer than 65536 characters"],
  ["scriptedItemsMax: completions", (size) => scripts(many(size, () => ({ text: "x" }))), 1_000, "has more than 1000 entries"],
  ["scriptedDelayMsMax: a wait", (size) => scripts([{ text: "x", delay_ms: size }]), 3_600_000, "must be at most 3600000"],
  ["scriptedTokensMax: usage", (size) => scripts([{ text: "x", usage: { output_tokens: size } }]), 1_000_000_000, "must be at most 1000000000"],
  ["whenCharsMax: a condition", (size) => scripts({ branches: [{ when: { last_user: "x".repeat(size) }, completions: [{ text: "x" }] }] }), 1_024, "is longer than 1024 characters"],
  ["providerNameCharsMax: a name", (size) => wrong(readProviders({ providers: { ["n".repeat(size)]: { type: "scripted", file: "f" } } })), 64, "is longer than 64 characters"],
  ["providersMax: providers", (size) => wrong(readProviders({ providers: Object.fromEntries(many(size, (index) => [`p${index}`, { type: "scripted", file: "f" }])) })), 64, "has more than 64 entries"],
  ["urlCharsMax: an address", (size) => provider({ base_url: "https://h/".padEnd(size, "p") }), 2_048, "is longer than 2048 characters"],
  ["pathCharsMax: a file", (size) => wrong(readProviders({ providers: { a: { type: "scripted", file: "f".repeat(size) } } })), 4_096, "is longer than 4096 characters"],
  ["headersMax: headers", (size) => provider({ headers: Object.fromEntries(many(size, (index) => [`h${index}`, "v"])) }), 32, "has more than 32 entries"],
  ["headerValueCharsMax: a header", (size) => provider({ headers: { h: "v".repeat(size) } }), 4_096, "must be at most 4096 printable ASCII characters"],
  ["extraBodyDepthMax: nesting", (size) => provider({ extra_body: nested(size) }), 16, "is nested more than 16 levels deep"],
  ["extraBodyValuesMax: values", (size) => provider({ extra_body: { list: many(size - 2, () => 1) } }), 1_000, "has more than 1000 values"],
  ["maxRetriesMax: tries", (size) => provider({ max_retries: size }), 10, "must be at most 10"],
  ["timeoutMsMax: a timeout", (size) => provider({ timeout: `${size}ms` }), 3_600_000, "must be at most 1 h"],
  ["idleTimeoutMsMax: silence", (size) => provider({ idle_timeout: `${size}ms` }), 3_600_000, "must be at most 1 h"],
])("%s", (_, problems, max, message) => {
  expect(problems(max)).toEqual([]);
  expect(problems(max + 1).join("\n")).toContain(message);
});

test("a provider that says nothing of time has two minutes to begin, five between pieces, and is asked three times", () => {
  const read = readProviders({ providers: { a: { type: "anthropic", api_key: "env:A" } } });
  expect(read.ok && read.providers.get("a")).toMatchObject({ timeoutMs: 120_000, idleMs: 300_000, maxRetries: 2, baseUrl: "https://api.anthropic.com" });
});

test("secretCharsMax: a key", async () => {
  const opened = (size: number) => openModels({ file: undefined, env: { OPENAI_API_KEY: "k".repeat(size) }, clock: new HandClock(0) });
  expect((await opened(4_096)).providers).toHaveLength(1);
  await expect(opened(4_097)).rejects.toThrow("which holds no key");
});

let server: WireServer;
beforeEach(async () => {
  server = await wire.startAnthropic();
});
afterEach(() => server.close());

async function answering(body: string) {
  server.script({ body });
  const times = { timeoutMs: 10_000, idleMs: 10_000, maxRetries: 0 };
  const model = anthropicModel({ name: "here", apiKey: wire.anthropicKey, baseUrl: server.url, headers: {}, ...times, extraBody: {}, clock: new HandClock(0), hash: sha256 });
  return (await askModel(model, requestOf([user("hi")]))).outcome;
}

test("blocksMax: blocks of one answer", async () => {
  const blocks = (count: number) => wire.messageOf("end_turn", ...many(count, (index) => wire.textBlock(index, "x")));
  expect(await answering(blocks(1_024))).toMatchObject({ ok: true });
  expect(await answering(blocks(1_025))).toMatchObject({ ok: false, code: "malformed" });
});

test("providerIdCharsMax: an id is cut", async () => {
  expect(await answering(wire.messageOf("tool_use", wire.toolBlock(0, "i".repeat(1_025), "find", "{}")))).toMatchObject({ parts: [call("i".repeat(1_024))] });
});

test("answerBytesMax: an answer without end is left", async () => {
  const answer = wire.messageOf("end_turn", wire.textBlock(0, "x"));
  const padded = (bytes: number): string => `: ${"p".repeat(bytes - answer.length - 4)}\n\n${answer}`;
  expect(await answering(padded(64 * 1_024 * 1_024))).toMatchObject({ ok: true, parts: [said("x")] });
  expect(await answering(padded(64 * 1_024 * 1_024 + 1))).toMatchObject({ ok: false, code: "malformed", message: "here answered with more than 67108864 bytes" });
});
