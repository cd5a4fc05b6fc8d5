// A plain HTTP server that gives fixed answers, in turn for each method and path, and keeps what it was asked.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export interface ScriptedAnswer {
  readonly status?: number;
  /** Sent as it is when it is text, else as JSON. */
  readonly body: unknown;
  /** Asked after the request has been read and before the answer goes out. */
  readonly after?: () => Promise<void>;
}

export interface SeenRequest {
  readonly line: string;
  readonly body: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
}

export interface ScriptedHttp {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
}

/** @param script `GET /v1/tools` → its answers in turn, the last one again and again. Query strings do not count. */
export async function scriptedHttp(script: Readonly<Record<string, readonly ScriptedAnswer[]>>): Promise<ScriptedHttp> {
  const seen: SeenRequest[] = [];
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      seen.push({
        line: `${request.method} ${request.url}`,
        body,
        authorization: request.headers.authorization,
        contentType: request.headers["content-type"],
      });
      const place = `${request.method} ${request.url?.split("?")[0]}`;
      const count = counts.get(place) ?? 0;
      counts.set(place, count + 1);
      const answers = script[place] ?? [];
      const answer = answers[Math.min(count, answers.length - 1)] ?? notScripted(place);
      await answer.after?.();
      response.writeHead(answer.status ?? 200, { "content-type": "application/json", "x-request-id": "req_scripted" });
      response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function notScripted(place: string): ScriptedAnswer {
  return {
    status: 404,
    body: { error: { code: "route_not_found", message: `${place} is not scripted`, retryable: false } },
  };
}
