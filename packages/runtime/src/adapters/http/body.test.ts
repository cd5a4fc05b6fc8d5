// Bodies as they come over the wire: sizes, encodings, depth, digits, and types.
import { describe, expect, test } from "vitest";
import { openDoor, postHead } from "../../../../../test/support/http-door.ts";
import type { Heard } from "../../../../../test/support/http-door.ts";
import type { InvokeRequest } from "../../service.ts";

const bodyMax = 1_048_576;
const errorOf = (heard: Heard) =>
  (heard.json as { error: { code: string; message: string; details: Record<string, unknown> } }).error;

/** A valid invoke request of exactly so many bytes. */
function requestOf(bytes: number): string {
  const frame = '{"tool":"echo","input":""}';
  return frame.replace('""', `"${"x".repeat(bytes - frame.length)}"`);
}

describe("size", () => {
  test("1 MiB is taken", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body: requestOf(bodyMax) });
    expect(heard.status).toBe(200);
  });

  test("1 MiB + 1 is refused", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body: requestOf(bodyMax + 1) });
    expect(heard.status).toBe(413);
    expect(errorOf(heard)).toMatchObject({
      code: "payload_too_large",
      message: "the body is larger than 1048576 bytes; send less, or refer to stored data instead",
      details: { limit: "body_bytes_max", limit_bytes: 1_048_576 },
    });
    expect(door.service.reached.map(({ method }) => method)).toEqual(["authenticate"]);
  });

  test("a length that is too large is refused before a byte of the body came", async () => {
    const door = await openDoor();
    const wire = door.wire();
    wire.send(postHead("/v1/executions", "Content-Type: application/json", "Content-Length: 1048577"));
    const got = await wire.until('"payload_too_large"');
    expect(got).toMatch(/^HTTP\/1\.1 413 /);
    expect(got).toMatch(/\r\nconnection: close\r\n/i);
  });

  test("a chunked body is refused while it is being sent, and the connection closes when the sender is done", async () => {
    const door = await openDoor();
    const wire = door.wire();
    wire.send(postHead("/v1/executions", "Content-Type: application/json", "Transfer-Encoding: chunked"));
    wire.send(`100001\r\n${"x".repeat(bodyMax + 1)}\r\n`);
    expect(await wire.until('"payload_too_large"')).toMatch(/^HTTP\/1\.1 413 /);
    // The sender is still at it; what it sends is swallowed, so that it can read the answer.
    wire.send(`100000\r\n${"y".repeat(bodyMax)}\r\n0\r\n\r\n`);
    expect(await wire.closed()).toMatch(/"request_id":"req_/);
  });

  test("a sender of 6 MiB who reads only after sending gets the answer, not a reset", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body: requestOf(6 * bodyMax) });
    expect(heard.status).toBe(413);
  });

  test("a sender without an end is cut off", async () => {
    const door = await openDoor({}, { bounds: { lingerMs: 60_000, lingerBytesMax: 100_000 } });
    const wire = door.wire();
    wire.send(postHead("/v1/executions", "Content-Type: application/json", "Content-Length: 99999999"));
    await wire.until('"payload_too_large"');
    const cut = wire.closed().catch(() => "reset");
    wire.send("z".repeat(2_000_000));
    await cut;
  });

  test("a sender that falls silent is cut off", async () => {
    const door = await openDoor({}, { bounds: { lingerMs: 30 } });
    const wire = door.wire();
    wire.send(postHead("/v1/executions", "Content-Type: application/json", "Content-Length: 99999999"));
    expect(await wire.closed()).toContain('"payload_too_large"');
  });

  test("who may not send at all is refused before the body, and the same way", async () => {
    const door = await openDoor({}, { bounds: { lingerMs: 30 } });
    const wire = door.wire();
    wire.send("POST /v1/executions HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
    const got = await wire.closed();
    expect(got).toMatch(/^HTTP\/1\.1 401 /);
    expect(got).toMatch(/\r\nconnection: close\r\n/i);
  });

  test("a small body that a refusal left unread does not cost the connection", async () => {
    const door = await openDoor();
    const wire = door.wire();
    wire.send("POST /v1/executions HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n{}");
    await wire.until('"unauthenticated"');
    wire.send("GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n");
    expect(await wire.until('{"status":"ok"}')).toContain("HTTP/1.1 200 OK");
  });

  test("a manifest has a bound of its own", async () => {
    const door = await openDoor();
    const body = JSON.stringify({ description: "x".repeat(256 * 1024) });
    expect((await door.ask("PUT", "/v1/tools", { body })).status).toBe(413);
  });
});

describe("text", () => {
  test("an empty body is refused", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body: "" });
    expect([heard.status, errorOf(heard).message]).toEqual([400, "the body is empty; send a JSON object"]);
  });

  test("a request without any body is refused", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions");
    expect([heard.status, errorOf(heard).code]).toEqual([400, "invalid_input"]);
  });

  test.each([
    "{",
    '{"tool":}',
    "tool: echo",
    '{"tool":"echo","input":1}}',
    "{'tool':'echo'}",
    '{"tool":"echo","input":01}',
    "\u0000",
  ])("%j is malformed", async (body) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body });
    expect(heard.status).toBe(400);
    expect(errorOf(heard)).toMatchObject({ code: "invalid_input", details: { reason: "malformed" } });
  });

  test.each([
    ["a lone continuation byte", [0x80]],
    ["an encoded surrogate", [0xed, 0xa0, 0x80]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["a cut character", [0xe2, 0x82]],
  ])("%s is no UTF-8", async (_what, bytes) => {
    const door = await openDoor();
    const frame = new TextEncoder();
    const body = new Uint8Array([...frame.encode('{"tool":"echo","input":"'), ...bytes, ...frame.encode('"}')]);
    const heard = await door.ask("POST", "/v1/executions", { body });
    expect([heard.status, errorOf(heard).message]).toEqual([400, "the body is not well-formed UTF-8"]);
  });

  test("a lone surrogate escape is refused by its place", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body: '{"tool":"echo","input":{"a":[1,"\\ud800"]}}' });
    expect(heard.status).toBe(400);
    expect(errorOf(heard)).toMatchObject({
      code: "invalid_input",
      details: { reason: "lone_surrogate", pointer: "/input/a/1" },
    });
  });

  test("a surrogate pair is a character like any other", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body: '{"tool":"echo","input":"\\ud83d\\ude00"}' });
    expect(heard.json).toMatchObject({ output: "😀" });
  });

  test.each([
    ["[", "]"],
    ['{"a":', "}"],
  ])("20 000 levels of %s are refused at once", async (open, shut) => {
    const door = await openDoor();
    const body = `{"tool":"echo","input":${open.repeat(20_000)}1${shut.repeat(20_000)}}`;
    const before = performance.now();
    const heard = await door.ask("POST", "/v1/executions", { body });
    expect(performance.now() - before).toBeLessThan(1_000);
    expect(heard.status).toBe(400);
    expect(errorOf(heard)).toMatchObject({ code: "invalid_input", details: { reason: "too_deep" } });
  });

  test.each([
    ['{"tool":"echo","input":1,"__proto__":{"mode":"async"}}', "/__proto__"],
    ['{"tool":"echo","input":{"a":{"__proto__":{"admin":true}}}}', "/input/a/__proto__"],
    ['{"tool":"echo","input":1,"context":{"__pro\\u0074o__":1}}', "/context/__proto__"],
  ])("%s does not get past the parser", async (body, pointer) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body });
    expect(heard.status).toBe(400);
    expect(errorOf(heard)).toMatchObject({ code: "invalid_input", details: { reason: "proto_key", pointer } });
    expect(({} as Record<string, unknown>)["admin"]).toBeUndefined();
  });

  test("constructor and prototype are keys like any other", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", {
      body: '{"tool":"echo","input":{"constructor":{"prototype":1}}}',
    });
    expect(heard.json).toMatchObject({ output: { constructor: { prototype: 1 } } });
  });

  test.each([
    "9007199254740993",
    "-9007199254740993",
    "0.12345678901234567890",
    "123456789012345678901234567890",
  ])("%s keeps its digits to the runtime and back", async (digits) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body: `{"tool":"echo","input":{"n":${digits}}}` });
    expect(heard.status).toBe(200);
    const request = door.service.reached.find(({ method }) => method === "invoke")?.args[0] as
      | InvokeRequest
      | undefined;
    expect(JSON.stringify(request?.input)).toBe(`{"n":${digits}}`);
    expect(heard.text).toContain(`"output":{"n":${digits}}`);
  });
});

test.each(["1e400", "-1e999", `1${"0".repeat(4_300)}`])("%.12s… is a number nobody can hold, and is refused", async (digits) => {
  const door = await openDoor();
  const heard = await door.ask("POST", "/v1/executions", { body: `{"tool":"echo","input":{"n":${digits}}}` });
  expect(heard.status).toBe(400);
  expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { reason: "number_range", pointer: "/input/n" } } });
  expect(door.service.reached.map(({ method }) => method)).not.toContain("invoke");
});

describe("type", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    'Application/JSON;charset="UTF-8"',
    "application/vnd.acme+json",
  ])("%s is taken", async (type) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", {
      body: '{"tool":"echo","input":1}',
      headers: { "content-type": type },
    });
    expect(heard.status).toBe(200);
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/yaml",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "nonsense",
    "application/json-patch",
  ])("%s is refused as invalid input", async (type) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", {
      body: '{"tool":"echo","input":1}',
      headers: { "content-type": type },
    });
    expect([heard.status, errorOf(heard).code]).toEqual([400, "invalid_input"]);
  });

  test("no type is refused", async () => {
    const door = await openDoor();
    const wire = door.wire();
    wire.send(`${postHead("/v1/executions", "Content-Length: 25")}{"tool":"echo","input":1}`);
    expect(await wire.until("no Content-Type")).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("a compressed body is refused, not guessed at", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body: "{}", headers: { "content-encoding": "gzip" } });
    expect([heard.status, errorOf(heard).message]).toEqual([
      400,
      "the body is compressed (Content-Encoding); send it as it is",
    ]);
  });

  test.each(["cancel", "audit"])("%s takes no body, and an empty object, and nothing else", async (what) => {
    const door = await openDoor();
    const path = what === "cancel" ? "/v1/executions/exec_01KDY7MFG80000000000000000/cancel" : "/v1/audit:verify";
    expect((await door.ask("POST", path)).status).toBe(200);
    expect((await door.ask("POST", path, { body: "" })).status).toBe(200);
    expect((await door.ask("POST", path, { body: "{}" })).status).toBe(200);
    expect((await door.ask("POST", path, { body: '{"why":1}' })).status).toBe(400);
    expect((await door.ask("POST", path, { body: "[]" })).status).toBe(400);
  });

  test("DELETE takes no body", async () => {
    const door = await openDoor();
    expect((await door.ask("DELETE", "/v1/keys/key_1", { body: "{}" })).status).toBe(400);
    expect((await door.ask("DELETE", "/v1/keys/key_1")).status).toBe(200);
  });
});
