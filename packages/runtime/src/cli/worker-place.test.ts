// Where a sandbox worker goes, by what its flags, its environment and the data folder say.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { placeOf, type PlaceFlags } from "./worker-place.ts";

let cwd: string;
const pem = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "signalbox-place-"));
  writeFileSync(join(cwd, "ca.pem"), pem);
  writeFileSync(join(cwd, "client.json"), '{"grpc":"127.0.0.1:9090","platform_key":"sbk_file"}');
});
afterAll(() => rmSync(cwd, { recursive: true }));

const place = (flags: Partial<PlaceFlags>, env: Readonly<Record<string, string>> = { SIGNALBOX_WORKER_KEY: "sbk_own" }) =>
  placeOf({ cwd, env }, { connect: [], data: "nowhere", ...flags });

test("given once, given again, separated by commas", () => {
  expect(place({ connect: ["a:1"] })).toEqual({ address: ["a:1"], key: "sbk_own" });
  expect(place({ connect: ["a:1, b.internal:2", "[::1]:3"] }).address).toEqual(["a:1", "b.internal:2", "[::1]:3"]);
});

test("not given: the data folder says where, and may say with which key", () => {
  expect(place({ data: "." }, { SIGNALBOX_WORKER_KEY: "" })).toEqual({ address: "127.0.0.1:9090", key: "sbk_file" });
  expect(() => place({})).toThrow("where is the runtime?");
  expect(() => place({ connect: ["a:1"] }, {})).toThrow("no key of the platform is known");
});

test.each(["a", "a:", ":9090", "a:0", "a:65536", "a:1,", "a b:1", "http://a:1"])("%j is no address", (text) => {
  expect(() => place({ connect: [text] })).toThrow("--connect takes host:port, not");
});

test("seventeen addresses are too many", () => {
  expect(() => place({ connect: Array.from({ length: 17 }, (_, at) => `a:${at + 1}`) })).toThrow("--connect takes 16 addresses at most, not 17");
});

test("TLS: by the machine's authorities, by those of a file, or, said so, none", () => {
  const connect = ["a:1"];
  expect(place({ connect, tls: true })).toMatchObject({ tls: true });
  expect(place({ connect, tlsCa: "ca.pem" })).toMatchObject({ tls: { ca: pem } });
  expect(place({ connect, insecure: true })).toEqual({ address: ["a:1"], key: "sbk_own", insecure: true });
});

test("files that cannot vouch for anybody, and two flags that contradict each other, are refused", () => {
  const connect = ["a:1"];
  expect(() => place({ connect, tlsCa: "none.pem" })).toThrow("none.pem cannot be read");
  expect(() => place({ connect, tlsCa: "client.json" })).toThrow("client.json holds no certificate in PEM");
  for (const flags of [{ tls: true }, { tlsCa: "ca.pem" }])
    expect(() => place({ connect, insecure: true, ...flags })).toThrow("--insecure is for clear text");
});
