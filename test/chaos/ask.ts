// Asks any of several runtimes over REST, and asks the next one when a connection breaks or none is there; for a run in which that is normal.
import { request } from "undici";

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Asker {
  /** One try. Rejects when no whole answer came. */
  once(method: "GET" | "POST" | "PUT", path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /**
   * Tries until there is an answer other than "not now" (429, 503 and the like without a call in it).
   * @throws Error when `giveUp` aborts first
   */
  until(giveUp: AbortSignal, ...ask: Parameters<Asker["once"]>): Promise<Answer>;
}

/** A little longer than any call waits for its answer. */
const answerMsMax = 8_000;
const pauseMs = { first: 25, longest: 400 };

export function createAsker(urls: readonly string[], key: string): Asker {
  let turn = 0;
  const once: Asker["once"] = async (method, path, body, headers = {}) => {
    const url = urls[turn % urls.length] ?? "";
    try {
      const answer = await request(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(answerMsMax),
      });
      return { status: answer.statusCode, body: JSON.parse(await answer.body.text()) as Answer["body"] };
    } catch (error) {
      turn++;
      throw error;
    }
  };
  return {
    once,
    async until(giveUp, ...ask) {
      let last = "nothing was asked";
      for (let pause = pauseMs.first; !giveUp.aborted; pause = Math.min(pause * 2, pauseMs.longest)) {
        try {
          const answer = await once(...ask);
          if (!isNotNow(answer)) return answer;
          last = `${answer.status} ${JSON.stringify(answer.body)}`;
          turn++;
        } catch (error) {
          last = String(error);
        }
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
      throw new Error(`${ask[0]} ${ask[1]} got no answer: ${last}`);
    },
  };
}

/** What a client tries again: nothing came of it, and it says so by naming no call. */
function isNotNow({ status, body }: Answer): boolean {
  return (status === 429 || status >= 500) && executionIdOf(body) === undefined;
}

/** The call that an answer is about: a record names it, and so do the details of a call's error. */
export function executionIdOf(body: Answer["body"]): string | undefined {
  const id = body["execution_id"];
  return typeof id === "string" ? id : undefined;
}
