// PUT of a file and of a package, over a real connection: streamed, counted, broken off; and what a list may say.
import { createServer, type IncomingMessage } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { SignalboxError } from "@signalbox/protocol";
import { expect, onTestFinished, test } from "vitest";
import type { FilesService } from "../../../corridor/files-service.ts";
import type { PackageFile } from "../../../registry/package/listing.ts";
import type { Asked } from "../../../tenancy/types.ts";
import type { Answer } from "../answer.ts";
import { bodyStream } from "../body-stream.ts";
import { CallerGone } from "../body.ts";
import { callFiles } from "../schemas/files.ts";
import { check } from "../schemas/check.ts";
import { putFile, putPackage } from "./files.ts";

const asked = { requestId: "req_1" } as Asked;
const ref = `sha256:${"0".repeat(64)}`;

/** A server that hands each request to `take`, and answers with what it makes of it. */
async function serve(
  take: (message: IncomingMessage) => Promise<Answer>,
): Promise<{ url: string; port: number; ends: Promise<unknown>[] }> {
  const ends: Promise<unknown>[] = [];
  const server = createServer((message, response) => {
    const end = take(message).then(
      ({ status, text }) => void response.writeHead(status).end(text),
      (error: unknown) => {
        response
          .writeHead(error instanceof SignalboxError ? 413 : 500)
          .end(error instanceof Error ? error.message : "");
        return error;
      },
    );
    ends.push(end);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, ends };
}

async function length(content: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0;
  for await (const chunk of content) bytes += chunk.byteLength;
  return bytes;
}

function counting(parts: Partial<FilesService> = {}): FilesService {
  return {
    putFile: async (_asked, content) => ({ ref, bytes: await length(content) }),
    putPackage: async () => ({ ref, bytes: 5, alreadyThere: false }),
    ...parts,
  };
}

test("a file of any type, in as many pieces as it comes", async () => {
  const { url } = await serve((message) => putFile({ service: counting(), asked, body: undefined, content: (max) => bodyStream(message, max) }));
  const body = new Uint8Array(3_000_000);
  const answer = await fetch(url, { method: "PUT", body, headers: { "content-type": "text/csv" } });
  expect([answer.status, await answer.json()]).toEqual([200, { digest: ref, bytes: 3_000_000 }]);
  const chunked = await fetch(url, {
    method: "PUT",
    body: new Blob(["he", "llo"]).stream(),
    duplex: "half",
  } as RequestInit);
  expect(await chunked.json()).toEqual({ digest: ref, bytes: 5 });
  expect(await (await fetch(url, { method: "PUT" })).json()).toEqual({ digest: ref, bytes: 0 });
});

test("longer than is taken: by its headers before a byte is read, or at the first byte over", async () => {
  let seen = 0;
  const { url, ends } = await serve(async (message) => {
    for await (const chunk of bodyStream(message, 10)) seen += chunk.byteLength;
    return { status: 200, text: String(seen) };
  });
  expect((await fetch(url, { method: "PUT", body: "0123456789" })).status).toBe(200);
  const told = await fetch(url, { method: "PUT", body: "0123456789+" });
  expect([told.status, await told.text()]).toEqual([
    413,
    "the body is larger than 10 bytes; send less, or refer to stored data instead",
  ]);
  expect(seen).toBe(10);
  const chunked = await fetch(url, {
    method: "PUT",
    body: new Blob(["0123456789+"]).stream(),
    duplex: "half",
  } as RequestInit);
  expect(chunked.status).toBe(413);
  expect(seen).toBe(10);
  expect(await ends[2]).toMatchObject({ code: "payload_too_large" });
});

test("a caller that goes away in the middle", async () => {
  const started = Promise.withResolvers<undefined>();
  const { port, ends } = await serve(async (message) => {
    for await (const chunk of bodyStream(message, 100)) if (chunk.byteLength > 0) started.resolve(undefined);
    return { status: 200, text: "" };
  });
  const socket = connect(port, "127.0.0.1");
  socket.write("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello");
  await started.promise;
  socket.destroy();
  expect(await ends[0]).toBeInstanceOf(CallerGone);
});

async function packed(body: unknown, parts: Partial<FilesService> = {}): Promise<unknown> {
  try {
    const { status, text } = await putPackage({
      service: counting(parts),
      asked,
      body,
      content: () => bodyStream({} as IncomingMessage, 0),
    });
    return [status, JSON.parse(text)];
  } catch (error) {
    if (error instanceof SignalboxError) return error.details?.["fields"];
    throw error;
  }
}

test("a package: new, or there already", async () => {
  const files: readonly PackageFile[] = [{ path: "bin/run", mode: "0755", ref }];
  const seen: unknown[] = [];
  const service: Partial<FilesService> = {
    putPackage: async (_asked, given) => {
      seen.push(given);
      return { ref, bytes: 5, alreadyThere: seen.length > 1 };
    },
  };
  expect(await packed({ files }, service)).toEqual([201, { digest: ref, bytes: 5, already_there: false }]);
  expect(await packed({ files }, service)).toEqual([200, { digest: ref, bytes: 5, already_there: true }]);
  expect(seen).toEqual([files, files]);
});

test.each([
  [{}, "/files"],
  [{ files: [] }, "/files"],
  [{ files: [{ path: "a", mode: "0644" }] }, "/files/0/ref"],
  [{ files: [{ path: "a", mode: "0777", ref }] }, "/files/0/mode"],
  [{ files: [{ path: "a", mode: 420, ref }] }, "/files/0/mode"],
  [{ files: [{ path: "", mode: "0644", ref }] }, "/files/0/path"],
  [{ files: [{ path: "a", mode: "0644", ref: "x" }] }, "/files/0/ref"],
  [{ files: [{ path: "a", mode: "0644", ref, owner: "root" }] }, "/files/0/owner"],
  [{ files: [{ path: "a", mode: "0644", ref }], tenant: "beta" }, "/tenant"],
])("the list %j is refused at %s", async (body, pointer) => {
  expect(await packed(body)).toMatchObject([{ pointer }]);
});

test("files of a call: content or ref, and no other word", () => {
  const files = [
    { path: "a", content: "" },
    { path: "b", ref },
  ];
  expect(check(callFiles, files, "body")).toEqual(files);
  for (const wrong of [
    [{ path: "a", ref: "x" }],
    [{ content: "x" }],
    [{ path: "a", content: 1 }],
    [{ path: "a", url: "http://x" }],
    {},
  ]) {
    expect(() => check(callFiles, wrong, "body")).toThrow(SignalboxError);
  }
});
