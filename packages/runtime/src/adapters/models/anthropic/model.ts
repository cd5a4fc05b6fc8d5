// A model of Anthropic's Messages API, asked through its official library.
import type { Clock } from "../../../corridor/ports.ts";
import type { Model } from "../../../session/model.ts";
import type { StableHash } from "../../../session/provider-names.ts";
import { exchange } from "../exchange.ts";
import { refusedBefore } from "../pairing.ts";
import { messagesAnswer } from "./answer.ts";
import { messagesRequest } from "./request.ts";

export interface AnthropicOptions {
  /** As it is configured. */
  readonly name: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly idleMs: number;
  readonly maxRetries: number;
  /** Further fields of the request. */
  readonly extraBody: Readonly<Record<string, unknown>>;
  readonly clock: Clock;
  readonly hash: StableHash;
}

/** The library's own timers wrap above this, so this is without one: the exchange keeps time. */
const noTimeoutMs = 2 ** 31 - 1;

export function anthropicModel(options: AnthropicOptions): Model {
  const { name, clock, timeoutMs, idleMs } = options;
  return {
    async complete(request, signal, onDelta) {
      const refused = refusedBefore(request.history);
      if (refused !== undefined) return refused;
      const body = { ...options.extraBody, ...messagesRequest(request, options.hash) };
      // Late: the library takes time and memory that a runtime without this provider need not spend.
      const { Anthropic } = await import("@anthropic-ai/sdk");
      const answer = messagesAnswer(onDelta);
      return exchange({
        name,
        clock,
        timeoutMs,
        idleMs,
        request,
        signal,
        answer,
        async open(fetch, ended) {
          const client = new Anthropic({
            apiKey: options.apiKey,
            baseURL: options.baseUrl,
            defaultHeaders: options.headers,
            maxRetries: options.maxRetries,
            timeout: noTimeoutMs,
            fetch,
            // It would write what providers say to our log.
            logLevel: "off",
            openTelemetry: false,
          });
          return client.messages.create(body as unknown as Parameters<typeof client.messages.create>[0] & { stream: true }, { signal: ended });
        },
      });
    },
  };
}
