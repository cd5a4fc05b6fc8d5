// The door to receivers, against real sockets: what is sent, what counts as an answer, and where it refuses to dial.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Receiver } from "../../../../../test/support/webhooks.ts";
import { webhookDoor } from "./door.ts";

const open = webhookDoor({ version: "9.8.7", allowPrivate: true });
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function receiver(answer: ConstructorParameters<typeof Receiver>[0]): Promise<{ at: string; receiver: Receiver }> {
  const made = new Receiver(answer);
  const at = await made.open();
  closing.push(() => made.close());
  return { at, receiver: made };
}

/** A server that says what it likes, byte by byte. */
async function rawServer(onRequest: (socket: Socket) => void): Promise<{ at: string; port: number; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server: Server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => onRequest(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => void server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { at: `http://127.0.0.1:${port}`, port, sockets };
}

const post = (url: string, signal = new AbortController().signal) => ({
  url,
  headers: { "content-type": "application/cloudevents+json; charset=utf-8", "webhook-id": "dlv_1" },
  body: '{"word":"grün"}',
  signal,
});

test("posts body and headers as they are, and says who sends", async () => {
  const { at, receiver: heard } = await receiver((response) => response.writeHead(204).end());
  expect(await open.send(post(`${at}/hooks/a?team=b`))).toEqual({ status: 204, retryAfter: null });
  const [{ message, body } = { message: undefined, body: "" }] = heard.received;
  expect(body).toBe('{"word":"grün"}');
  expect(message?.method).toBe("POST");
  expect(message?.url).toBe("/hooks/a?team=b");
  expect(message?.headers).toEqual({
    host: at.slice("http://".length),
    connection: "close",
    "content-length": "16",
    "content-type": "application/cloudevents+json; charset=utf-8",
    "user-agent": "signalbox/9.8.7",
    "webhook-id": "dlv_1",
  });
});

test("a redirect is an answer like any other, and nobody is asked where it leads", async () => {
  const { at: target, receiver: never } = await receiver((response) => response.end());
  const { at } = await receiver((response) => response.writeHead(307, { location: `${target}/inside` }).end());
  expect(await open.send(post(at))).toEqual({ status: 307, retryAfter: null });
  expect(never.received).toEqual([]);
});

test("the status and Retry-After are all that is taken from an answer", async () => {
  const { at } = await receiver((response) => response.writeHead(503, { "retry-after": "120" }).end("the stack trace"));
  expect(await open.send(post(at))).toEqual({ status: 503, retryAfter: "120" });
});

test("an endless body is left after its first pieces", async () => {
  let sent = 0;
  const piece = Buffer.alloc(64 * 1024, "x");
  const server = await rawServer((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece)) sent += piece.length;
    };
    socket.on("drain", more);
    more();
  });
  expect(await open.send(post(server.at))).toEqual({ status: 200, retryAfter: null });
  const [socket] = server.sockets;
  if (socket?.destroyed === false) await new Promise((resolve) => void socket.once("close", resolve));
  // What fits into the buffers of two sockets, not what somebody likes to send.
  expect(sent).toBeLessThan(64 * 1024 * 1024);
});

test("a body that breaks off does not take back the status", async () => {
  const server = await rawServer((socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"));
  expect(await open.send(post(server.at))).toEqual({ status: 200, retryAfter: null });
});

test("a body that stands still is left when the signal says so, and does not take back the status either", async () => {
  const abort = new AbortController();
  // Node tells here that the answer's head was read; one turn later its listeners have heard of it.
  const headRead = (): void => void setImmediate(() => abort.abort(new Error("no answer within 10 s")));
  subscribe("http.client.response.finish", headRead);
  closing.push(async () => unsubscribe("http.client.response.finish", headRead));
  const server = await rawServer((socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"));
  expect(await open.send(post(server.at, abort.signal))).toEqual({ status: 200, retryAfter: null });
  expect(abort.signal.aborted).toBe(true);
});

test("a receiver that keeps silent is left when the signal says so, and the connection with it", async () => {
  const abort = new AbortController();
  const server = await rawServer(() => abort.abort(new Error("no answer within 10 s")));
  expect(await open.send(post(server.at, abort.signal))).toEqual({ status: null, error: "no answer within 10 s" });
  const [socket] = server.sockets;
  if (socket?.destroyed === false) await new Promise((resolve) => void socket.once("close", resolve));
  expect(socket?.destroyed).toBe(true);
});

test("a signal that is aborted already sends nothing", async () => {
  const { at, receiver: heard } = await receiver((response) => response.end());
  expect(await open.send(post(at, AbortSignal.abort(new Error("the runtime is stopping"))))).toEqual({ status: null, error: "the runtime is stopping" });
  expect(heard.received).toEqual([]);
});

test("a look-up that hangs does not hold the attempt", async () => {
  const abort = new AbortController();
  const hanging = webhookDoor({ version: "1", allowPrivate: true, resolve: () => new Promise<never>(() => abort.abort(new Error("no answer within 10 s"))) });
  expect(await hanging.send(post("http://slow.test/", abort.signal))).toEqual({ status: null, error: "no answer within 10 s" });
});

test.each([
  ["closes without a word", (socket: Socket) => void socket.destroy(), "the connection was closed without an answer (ECONNRESET)"],
  ["talks something else", (socket: Socket) => void socket.end("220 mail.example.com ESMTP\r\n"), "no answer (HPE_INVALID_CONSTANT)"],
  ["answers with a megabyte of headers", (socket: Socket) => void socket.end(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(1024 * 1024)}\r\n\r\n`), "the answer's headers are too large (HPE_HEADER_OVERFLOW)"],
])("a receiver that %s gave no answer", async (_, say, error) => {
  const server = await rawServer(say);
  expect(await open.send(post(server.at))).toEqual({ status: null, error });
});

test("a receiver that wants to change the protocol is answered with a closed door", async () => {
  const server = await rawServer((socket) => void socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"));
  expect(await open.send(post(server.at))).toEqual({ status: 101, retryAfter: null });
});

test("TLS with somebody who does not speak it, and a port at which nobody listens", async () => {
  const server = await rawServer((socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\n"));
  expect((await open.send(post(`https://127.0.0.1:${server.port}/`))).status).toBeNull();
  const silent = await rawServer(() => undefined);
  await closing.pop()?.();
  expect(await open.send(post(silent.at))).toEqual({ status: null, error: "the connection was refused (ECONNREFUSED)" });
});

const shut = (resolve?: (name: string) => Promise<readonly string[]>) => webhookDoor({ version: "1", allowPrivate: false, ...(resolve === undefined ? {} : { resolve }) });

test("an address that is not public is refused, however it is written, and nothing is dialled", async () => {
  const { at, receiver: heard } = await receiver((response) => response.end());
  const port = new URL(at).port;
  for (const host of ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "[::]"]) {
    const answer = await shut().send(post(`http://${host}:${port}/`));
    expect(answer, host).toMatchObject({ status: null, error: expect.stringContaining("not a public address; start the runtime with --allow-private-webhooks") as string });
  }
  expect(heard.received).toEqual([]);
});

test("a name is as good as the worst of its addresses", async () => {
  const answer = (addresses: readonly string[]) => shut(async () => addresses).send(post("http://receiver.test/"));
  expect(await answer(["169.254.169.254"])).toMatchObject({ error: expect.stringMatching(/^receiver\.test is at 169\.254\.169\.254, which is not a public address/) as string });
  expect(await answer(["8.8.8.8", "10.0.0.1"])).toMatchObject({ error: expect.stringContaining("is at 10.0.0.1,") as string });
  expect(await answer(["fd00::1"])).toMatchObject({ error: expect.stringContaining("is at fd00::1,") as string });
  expect(await answer([])).toEqual({ status: null, error: "the name receiver.test has no address" });
});

test("the system's own look-up of localhost is refused as well", async () => {
  expect(await shut().send(post("http://localhost:1/"))).toMatchObject({ status: null, error: expect.stringMatching(/^localhost is at (127\.0\.0\.1|::1), which is not/) as string });
});

test("what was looked up is what is dialled: the name is asked for once, and kept for the receiver to read", async () => {
  const { at, receiver: heard } = await receiver((response) => response.writeHead(200).end());
  const asked: string[] = [];
  // A resolver that would answer otherwise the second time, as one does that rebinds.
  const door = webhookDoor({
    version: "1",
    allowPrivate: true,
    resolve: async (name) => {
      asked.push(name);
      return asked.length === 1 ? ["127.0.0.1"] : ["127.0.0.2"];
    },
  });
  // The reserved name `invalid` is known to no other resolver, so only a pinned address can reach the receiver.
  expect(await door.send(post(`http://receiver.invalid:${new URL(at).port}/`))).toEqual({ status: 200, retryAfter: null });
  expect(asked).toEqual(["receiver.invalid"]);
  expect(heard.received[0]?.message.headers.host).toBe(`receiver.invalid:${new URL(at).port}`);
  expect(heard.received[0]?.dialled).toBe("127.0.0.1");
});

test("a name with several addresses is reached at one that answers", async () => {
  const { at } = await receiver((response) => response.writeHead(200).end());
  const door = webhookDoor({ version: "1", allowPrivate: true, resolve: async () => ["127.0.0.9", "127.0.0.1"] });
  expect((await door.send(post(`http://receiver.invalid:${new URL(at).port}/`))).status).toBe(200);
});

test("a name that nobody knows", async () => {
  const door = shut(async () => {
    throw Object.assign(new Error("getaddrinfo ENOTFOUND receiver.test"), { code: "ENOTFOUND" });
  });
  expect(await door.send(post("http://receiver.test/"))).toEqual({ status: null, error: "the name is not known (ENOTFOUND)" });
});

test("what will be refused at every attempt is told beforehand, without a look-up", () => {
  const door = shut(() => Promise.reject(new Error("nobody may be asked")));
  const problem = (url: string): string | undefined => door.hostProblem(new URL(url).hostname);
  expect(problem("http://10.0.0.1/")).toBe("10.0.0.1, which is not a public address; start the runtime with --allow-private-webhooks if it is meant");
  expect(problem("http://[::1]:3000/")).toMatch(/^::1, which/);
  expect(problem("http://localhost:3000/")).toMatch(/^localhost is this machine/);
  expect(problem("http://LOCALHOST./")).toMatch(/^localhost is this machine/);
  expect(problem("http://app.localhost/")).toMatch(/^app\.localhost is this machine/);
  expect(problem("http://8.8.8.8/")).toBeUndefined();
  expect(problem("https://localhost.example.com/")).toBeUndefined();
  expect(open.hostProblem("127.0.0.1")).toBeUndefined();
});
