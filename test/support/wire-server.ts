// A provider by hand: an HTTP server that keeps what it was asked, and answers with bytes cut wherever a test likes.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface WireReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Byte offsets at which the body is cut into chunks. */
  readonly cuts?: readonly number[];
  /** `cut` breaks the connection behind the body; `hang` keeps it open and says no more. */
  readonly after?: "end" | "cut" | "hang";
  /** Written behind the body as soon as it is there. */
  readonly more?: Promise<string>;
  /** Never answers at all. */
  readonly silent?: true;
}

export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface WireServer {
  readonly url: string;
  /** Every request that came, refused ones included. */
  readonly requests: readonly WireRequest[];
  /** Answers of the next requests, in order; the last one stays. */
  script(...replies: readonly WireReply[]): void;
  /** Resolves when the client has left a connection that hangs. */
  readonly left: Promise<void>;
  close(): Promise<void>;
}

/** @param refuse what the provider itself would say to such a request, or undefined */
export async function startWire(refuse: (request: WireRequest) => WireReply | undefined): Promise<WireServer> {
  const requests: WireRequest[] = [];
  let replies: WireReply[] = [];
  const { promise: left, resolve: onLeft } = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    void (async () => {
      const asked = await readRequest(request);
      requests.push(asked);
      const refusal = refuse(asked);
      const reply = refusal ?? (replies.length > 1 ? replies.shift() : replies[0]) ?? { status: 500, body: "{}" };
      response.on("close", onLeft);
      await answer(response, reply);
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    script: (...next) => void (replies = [...next]),
    left,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

async function readRequest(request: IncomingMessage): Promise<WireRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return { path: request.url ?? "", headers: request.headers, body: JSON.parse(text) as Record<string, unknown> };
}

async function answer(response: ServerResponse, { status = 200, headers = {}, body, cuts = [], after = "end", more, silent }: WireReply): Promise<void> {
  if (silent === true) return;
  const bytes = Buffer.from(body);
  const streamed = status === 200 && headers["content-type"] === undefined ? { "content-type": "text/event-stream; charset=utf-8" } : { "content-type": "application/json" };
  response.writeHead(status, { ...streamed, ...headers });
  response.flushHeaders();
  const edges = [0, ...[...new Set(cuts)].filter((cut) => cut > 0 && cut < bytes.length).sort((one, other) => one - other), bytes.length];
  for (const [index, from] of edges.slice(0, -1).entries()) {
    await new Promise((resolve) => void response.write(bytes.subarray(from, edges[index + 1]), resolve));
    await new Promise((resolve) => void setImmediate(resolve));
  }
  if (more !== undefined) response.write(await more);
  if (after === "end") response.end();
  else if (after === "cut") response.destroy();
}

/** Whether a text holds half of a surrogate pair anywhere: what a strict reader takes for no JSON. */
export function isIllFormed(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => isIllFormed(key) || isIllFormed(inner));
}
