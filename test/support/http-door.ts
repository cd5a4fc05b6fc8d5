// Opens an HTTP door over a scripted service on a free port, and speaks to it with fetch or with bare bytes.
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { createHttpDoor, type HttpDoorOptions } from "../../packages/runtime/src/adapters/http/server.ts";
import type { Service } from "../../packages/runtime/src/service.ts";
import { scriptedAt, scriptedService, type ScriptedService } from "./scripted-service.ts";

export interface LogLine {
  readonly level: "info" | "error";
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface Sent {
  readonly token?: string | null;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

export interface OpenDoor {
  readonly port: number;
  readonly service: ScriptedService;
  readonly lines: readonly LogLine[];
  /** The first line of the log, past or to come, that fits. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** With alice's token unless told otherwise; a text body is JSON. */
  ask(method: string, path: string, sent?: Sent): Promise<Heard>;
  /** An open connection; what comes back is gathered until it closes. */
  wire(): Wire;
  close(graceMs: number): Promise<void>;
}

export interface Wire {
  readonly socket: Socket;
  send(bytes: string | Uint8Array): void;
  /** Everything received so far, as soon as it holds `text`. */
  until(text: string): Promise<string>;
  /** Everything received, once the other side has closed. */
  closed(): Promise<string>;
}

export async function openDoor(
  replaced: Partial<Service> = {},
  options: Partial<Omit<HttpDoorOptions, "service" | "port">> = {},
): Promise<OpenDoor> {
  const service = scriptedService(replaced);
  const log = gatheredLog();
  const door = createHttpDoor({
    service,
    host: "127.0.0.1",
    port: 0,
    log,
    now: () => scriptedAt,
    random: (bytes) => new Uint8Array(bytes),
    ...options,
  });
  const { port } = await door.listen();
  let closing: Promise<void> | undefined;
  const close = (graceMs: number): Promise<void> => (closing ??= door.close(graceMs));
  onTestFinished(() => close(0));
  return {
    port,
    service,
    lines: log.lines,
    line: (fits) => log.line(fits),
    ask: (method, path, sent) => ask(port, method, path, sent),
    wire: () => wire(port),
    close,
  };
}

export function gatheredLog() {
  const lines: LogLine[] = [];
  const waiting = new Set<() => void>();
  const add = (level: LogLine["level"], fields: object, message: string): void => {
    // As a log would write it: undefined fields are left out.
    lines.push({ level, message, ...(JSON.parse(JSON.stringify(fields)) as object) });
    for (const look of waiting) look();
  };
  return {
    lines,
    info: (fields: object, message: string) => add("info", fields, message),
    error: (fields: object, message: string) => add("error", fields, message),
    line: (fits: (line: LogLine) => boolean): Promise<LogLine> =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = lines.find(fits);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}

async function ask(
  port: number,
  method: string,
  path: string,
  { token = "alice-token", body, headers }: Sent = {},
): Promise<Heard> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? (JSON.parse(text) as unknown) : undefined,
  };
}

function wire(port: number): Wire {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
  });
  let got = "";
  const looks = new Set<() => void>();
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    got += chunk;
    for (const look of looks) look();
  });
  const ended = new Promise<string>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", (failed) => {
      if (!failed) resolve(got);
    });
  });
  // A test that does not wait for the end does not care how it came.
  ended.catch(() => undefined);
  return {
    socket,
    send: (bytes) => {
      socket.write(bytes);
    },
    until: (text) =>
      Promise.race([
        new Promise<string>((resolve) => {
          const look = (): void => {
            if (!got.includes(text)) return;
            looks.delete(look);
            resolve(got);
          };
          looks.add(look);
          look();
        }),
        ended.then((all) => {
          if (all.includes(text)) return all;
          throw new Error(`the connection closed without ${JSON.stringify(text)}; it said ${JSON.stringify(all)}`);
        }),
      ]),
    closed: () => ended,
  };
}

/** The head of a POST with alice's token, ready for its body. */
export function postHead(path: string, ...headers: readonly string[]): string {
  return ["POST " + path + " HTTP/1.1", "Host: test", "Authorization: Bearer alice-token", ...headers, "", ""].join(
    "\r\n",
  );
}
