// Asks the real HTTP door and keeps every byte of the answer, with what the runtime read and wrote for it.
import { request as httpRequest } from "node:http";

export interface Asked {
  readonly method: string;
  readonly path: string;
  /** Data becomes JSON; text goes out as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Heard {
  readonly status: number;
  /** Names and values in the order in which they came; without the time of day. */
  readonly headers: readonly string[];
  readonly text: string;
}

/** Given to every request, so that answers differ by nothing that the runtime made up. */
const requestId = "req_same";

export function ask(port: number, secret: string, { method, path, body, headers = {} }: Asked): Promise<Heard> {
  const sent = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        port,
        host: "127.0.0.1",
        method,
        path,
        agent: false,
        headers: {
          authorization: `Bearer ${secret}`,
          "x-request-id": requestId,
          ...(sent === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(sent) }),
          ...headers,
        },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => void (text += part));
        response.on("error", reject);
        response.on("end", () => {
          const kept = response.rawHeaders.filter((_, at, all) => (all[at - (at % 2)] ?? "").toLowerCase() !== "date");
          resolve({ status: response.statusCode ?? 0, headers: kept, text });
        });
      },
    );
    request.on("error", reject);
    request.end(sent);
  });
}

/** Every call of the ledger and of the store, in order: its name, whose it was, and of a unit its writes. */
export class Works {
  #seen: string[] = [];

  watch(what: string, thing: object): void {
    const methods = new Set<string>();
    for (
      let at: object | null = thing;
      at !== null && at !== Object.prototype;
      at = Object.getPrototypeOf(at) as object | null
    )
      for (const name of Object.getOwnPropertyNames(at)) methods.add(name);
    for (const name of methods) {
      const method = (thing as Record<string, unknown>)[name];
      if (typeof method !== "function" || name === "constructor") continue;
      const watched = (...args: unknown[]): unknown => {
        this.#seen.push(`${what}.${name} ${words(args)}`);
        return (method as (...all: unknown[]) => unknown).apply(thing, args);
      };
      Object.defineProperty(thing, name, { value: watched, configurable: true, writable: true });
    }
  }

  /** What happened since the last time. */
  take(): readonly string[] {
    const seen = this.#seen;
    this.#seen = [];
    return seen;
  }
}

/** As much of the arguments as shows whose data is touched. */
function words(args: readonly unknown[]): string {
  return JSON.stringify(args, (_, value: unknown) =>
    value instanceof Uint8Array ? `${value.length} bytes` : typeof value === "function" ? "…" : value,
  );
}
