// Calls over HTTP/1.1, one keep-alive connection for each call in flight.
import { Client, type Dispatcher } from "undici";
import type { Callers } from "./callers.ts";
import type { HttpDoor } from "./slice.ts";

const answerTimeoutMs = 30_000;

export function openHttp(door: HttpDoor, concurrency: number): Callers {
  const { origin, moreOrigins = [], path, headers, body, expect } = door;
  const origins = [origin, ...moreOrigins];
  const options: Dispatcher.DispatchOptions = { method: "POST", path, headers, body };
  const clients = Array.from(
    { length: concurrency },
    (_, at) => new Client(origins[at % origins.length] ?? origin, { pipelining: 1, headersTimeout: answerTimeoutMs, bodyTimeout: answerTimeoutMs }),
  );
  return {
    callers: clients.map((client) => () => call(client, options, expect)),
    async close() {
      await Promise.all(clients.map((client) => client.destroy()));
    },
  };
}

function call(client: Client, options: Dispatcher.DispatchOptions, expected: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let status = 0;
    let text = "";
    client.dispatch(options, {
      // The client insists on this method.
      onRequestStart() {},
      onResponseStart(_controller, statusCode) {
        status = statusCode;
      },
      onResponseData(_controller, chunk) {
        text += chunk.toString("latin1");
      },
      onResponseEnd() {
        resolve(status === 200 && text.includes(expected) ? undefined : errorCode(status, text));
      },
      onResponseError(_controller, error) {
        resolve("code" in error ? String(error.code) : error.name);
      },
    });
  });
}

function errorCode(status: number, text: string): string {
  const code = /"code"\s*:\s*"(\w+)"/.exec(text)?.[1];
  return code ?? (status === 200 ? "unexpected_answer" : `http_${status}`);
}
