// Connections: callers that go away, that are too slow or too loud, that speak no HTTP, and a door that closes.
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { openDoor, postHead } from "../../../../../test/support/http-door.ts";
import { scriptedCall, scriptedPrincipals } from "../../../../../test/support/scripted-service.ts";
import type { Asked, InvokeAnswer } from "../../service.ts";

const invokeBody = '{"tool":"echo","input":1}';
const head = postHead(
  "/v1/executions",
  "Content-Type: application/json",
  `Content-Length: ${invokeBody.length}`,
  "X-Request-Id: r-1",
);

/** A promise and the function that fulfils it. */
function promised<T>(): { readonly promise: Promise<T>; readonly fulfil: (value: T) => void } {
  let fulfil: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    fulfil = resolve;
  });
  return { promise, fulfil };
}

/** An invoke that ends when the test says so, and tells when it has begun. */
function heldInvoke() {
  const begun = promised<Asked>();
  const end = promised<void>();
  const invoke = async (asked: Asked): Promise<InvokeAnswer> => {
    begun.fulfil(asked);
    await end.promise;
    return { call: scriptedCall(), progress: "settled", replayed: false };
  };
  return { begun: begun.promise, end: () => end.fulfil(), invoke };
}

describe("a caller that goes away", () => {
  test("while it waits: the runtime hears of it, and the log says so", async () => {
    const held = heldInvoke();
    const door = await openDoor({ invoke: held.invoke });
    const wire = door.wire();
    wire.send(head + invokeBody);
    const { signal } = await held.begun;
    expect(signal?.aborted).toBe(false);
    const aborted = new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
    wire.socket.destroy();
    await aborted;
    const line = await door.line((one) => one["request_id"] === "r-1");
    expect(line).toMatchObject({ caller_gone: true, route: "/v1/executions" });
    expect(line).not.toHaveProperty("status");
    held.end();
  });

  test("in the middle of its body: nothing reaches the runtime, and nothing is called an error of ours", async () => {
    const known = promised<void>();
    const door = await openDoor({
      authenticate: async () => {
        known.fulfil();
        return scriptedPrincipals["alice-token"]!;
      },
    });
    const wire = door.wire();
    wire.send(head + invokeBody.slice(0, 10));
    await known.promise;
    wire.socket.destroy();
    await door.line((one) => one["request_id"] === "r-1" && one["caller_gone"] === true);
    // Whatever else there was to do for that request is done by the time another one is answered.
    await door.ask("GET", "/healthz");
    expect(door.lines.filter(({ level }) => level === "error")).toEqual([]);
    expect(door.service.reached.map(({ method }) => method)).not.toContain("invoke");
  });

  test("after its answer: nothing is aborted", async () => {
    const seen: Asked[] = [];
    const door = await openDoor({
      listTools: async (asked) => {
        seen.push(asked);
        return { items: [], next: undefined };
      },
    });
    const wire = door.wire();
    wire.send("GET /v1/tools HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer alice-token\r\nX-Request-Id: r-2\r\n\r\n");
    await wire.until('"next_cursor":null}');
    wire.socket.destroy();
    await door.line((one) => one["request_id"] === "r-2");
    expect(seen.map(({ signal }) => signal?.aborted)).toEqual([false]);
  });

  test("a caller that has only ended its side still gets its answer", async () => {
    const held = heldInvoke();
    const door = await openDoor({ invoke: held.invoke });
    const wire = door.wire();
    wire.socket.end(head + invokeBody);
    const { signal } = await held.begun;
    expect(signal?.aborted).toBe(false);
    held.end();
    expect(await wire.until('"status":"succeeded"')).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("a caller that is too slow", () => {
  const bounds = { headersWaitMs: 250, requestWaitMs: 350, connectionCheckMs: 40 };

  test("with its headers", async () => {
    const door = await openDoor({}, { bounds });
    const wire = door.wire();
    wire.send("GET /healthz HTTP/1.1\r\nHost: t\r\nX-Slow: ");
    const got = await wire.closed();
    expect(got).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(got).toContain("did not arrive in time; send its headers within 250 ms and the whole of it within 350 ms");
    expect(got).toMatch(/\r\nX-Request-Id: req_[0-9A-Z]{26}\r\n/);
  });

  test("with its body", async () => {
    const door = await openDoor({}, { bounds });
    const wire = door.wire();
    wire.send(head + invokeBody.slice(0, 10));
    expect(await wire.closed()).toContain('"code":"invalid_input"');
    expect(door.service.reached.map(({ method }) => method)).not.toContain("invoke");
  });

  test("with saying anything at all", async () => {
    const door = await openDoor({}, { bounds });
    const wire = door.wire();
    expect(await wire.closed()).toContain('"code":"invalid_input"');
  });

  test("but may wait for its answer as long as that takes", async () => {
    const held = heldInvoke();
    const door = await openDoor({ invoke: held.invoke }, { bounds });
    const wire = door.wire();
    wire.send(head + invokeBody);
    await held.begun;
    // Slow strangers are cut off meanwhile, so the clock has passed both bounds.
    await door.wire().closed();
    held.end();
    expect(await wire.until('"status":"succeeded"')).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("what is no request", () => {
  test.each([
    ["no HTTP", "HELO mail.example\r\n\r\n"],
    ["two lengths", "POST /v1/executions HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}"],
    [
      "length and chunks together",
      "POST /v1/executions HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a header with a line break in it", "GET / HTTP/1.1\r\nHost: t\r\nX: a\rb\r\n\r\n"],
  ])("%s", async (_what, bytes) => {
    const door = await openDoor();
    const wire = door.wire();
    wire.send(bytes);
    const got = await wire.closed();
    expect(got).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(got).toContain('"code":"invalid_input"');
    expect(got).toContain("the request is not well-formed HTTP/1.1");
    expect(door.service.reached).toEqual([]);
  });

  test("headers over 16 KiB", async () => {
    const door = await openDoor();
    const wire = door.wire();
    wire.send(`GET /healthz HTTP/1.1\r\nHost: t\r\nX-Long: ${"x".repeat(17_000)}\r\n\r\n`);
    const got = await wire.closed();
    expect(got).toContain("the headers of the request are larger than 16384 bytes");
  });

  test("after a request that is still in work: that one is answered, nothing else is", async () => {
    const held = heldInvoke();
    const door = await openDoor({ invoke: held.invoke });
    const wire = door.wire();
    wire.send(`${head}${invokeBody}no HTTP at all\r\n\r\n`);
    await held.begun;
    held.end();
    const got = await wire.closed();
    expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200"]);
    expect(got).toContain('"status":"succeeded"');
  });
});

describe("keep-alive", () => {
  test("one connection serves many requests, and pipelined ones in order", async () => {
    const door = await openDoor();
    const wire = door.wire();
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: t\r\n\r\n`;
    wire.send(get("/healthz") + get("/nowhere") + get("/readyz"));
    const got = await wire.until('"ready":true');
    expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 404", "HTTP/1.1 200"]);
  });
});

describe("closing", () => {
  test("lets a request in work end, and takes no new connection", async () => {
    const held = heldInvoke();
    const door = await openDoor({ invoke: held.invoke });
    const wire = door.wire();
    wire.send(head + invokeBody);
    await held.begun;
    const closed = door.close(60_000);
    // Refused once the listener is gone; a connection of the same tick may still find it.
    await expect.poll(() => refused(door.port)).toBe(true);
    held.end();
    expect(await wire.closed()).toContain('"status":"succeeded"');
    await closed;
  });

  test("cuts what lasts longer than the grace", async () => {
    const held = heldInvoke();
    const door = await openDoor({ invoke: held.invoke });
    const wire = door.wire();
    wire.send(head + invokeBody);
    const { signal } = await held.begun;
    const aborted = new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
    const cut = wire.closed().catch(() => "reset");
    await door.close(20);
    await cut;
    await aborted;
    held.end();
  });

  test("does not wait for idle connections", async () => {
    const door = await openDoor();
    const wire = door.wire();
    wire.send("GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n");
    await wire.until('{"status":"ok"}');
    await door.close(60_000);
    await wire.closed();
  });
});

function refused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(true));
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
  });
}

test("a port that is taken is an error of listen", async () => {
  const door = await openDoor();
  const { createHttpDoor } = await import("./server.ts");
  const second = createHttpDoor({ service: door.service, host: "127.0.0.1", port: door.port });
  await expect(second.listen()).rejects.toMatchObject({ code: "EADDRINUSE" });
  await second.close(0);
});
