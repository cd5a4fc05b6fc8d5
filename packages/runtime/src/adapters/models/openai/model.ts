// A model of the Chat Completions API, of OpenAI itself or of a server that speaks the same, asked through the official library.
import type { Clock } from "../../../corridor/ports.ts";
import type { Model } from "../../../session/model.ts";
import type { StableHash } from "../../../session/provider-names.ts";
import { exchange } from "../exchange.ts";
import { refusedBefore } from "../pairing.ts";
import { chatAnswer } from "./answer.ts";
import { chatRequest, type Dialect } from "./request.ts";

export interface OpenAiOptions {
  /** As it is configured. */
  readonly name: string;
  /** Undefined: the server asks for none. */
  readonly apiKey: string | undefined;
  readonly baseUrl: string;
  readonly organization: string | null;
  readonly project: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly idleMs: number;
  readonly maxRetries: number;
  /** Further fields of the request. */
  readonly extraBody: Readonly<Record<string, unknown>>;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly hash: StableHash;
}

/** The library's own timers wrap above this, so this is without one: the exchange keeps time. */
const noTimeoutMs = 2 ** 31 - 1;

export function openAiModel(options: OpenAiOptions): Model {
  const { name, clock, timeoutMs, idleMs, apiKey } = options;
  return {
    async complete(request, signal, onDelta) {
      const refused = refusedBefore(request.history);
      if (refused !== undefined) return refused;
      const body = { ...options.extraBody, ...chatRequest(request, options.dialect, options.hash) };
      // Late: the library takes time and memory that a runtime without this provider need not spend.
      const { OpenAI } = await import("openai");
      const answer = chatAnswer(onDelta);
      return exchange({
        name,
        clock,
        timeoutMs,
        idleMs,
        request,
        signal,
        answer,
        async open(fetch, ended) {
          const client = new OpenAI({
            apiKey: apiKey ?? "none",
            adminAPIKey: null,
            baseURL: options.baseUrl,
            organization: options.organization,
            project: options.project,
            defaultHeaders: apiKey === undefined ? { Authorization: null, ...options.headers } : options.headers,
            maxRetries: options.maxRetries,
            timeout: noTimeoutMs,
            fetch,
            // It would write what providers say to our log.
            logLevel: "off",
          });
          return client.chat.completions.create(body as unknown as Parameters<typeof client.chat.completions.create>[0] & { stream: true }, { signal: ended });
        },
      });
    },
  };
}
