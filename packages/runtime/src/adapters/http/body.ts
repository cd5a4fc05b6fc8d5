// Reads a request's body: counted while it comes in, checked for being text, and parsed by the runtime's own JSON parser.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { limits, parseJson, SignalboxError } from "@signalbox/protocol";
import { invalidInput } from "./schemas/check.ts";
import { parseYaml } from "./yaml.ts";

/** The caller went away in the middle of its request; nobody is left to be answered. */
export class CallerGone extends Error {
  override readonly name = "CallerGone";
}

export function tooLarge(bytesMax: number): SignalboxError {
  return new SignalboxError(
    "payload_too_large",
    `the body is larger than ${bytesMax} bytes; send less, or refer to stored data instead`,
    {
      details: { limit: "body_bytes_max", limit_bytes: bytesMax },
    },
  );
}

/** The length that the headers promise; undefined for a chunked body. */
export function declaredBytes(headers: IncomingHttpHeaders): number | undefined {
  if (headers["transfer-encoding"] !== undefined) return undefined;
  return Number(headers["content-length"] ?? 0);
}

/**
 * Resolves to the whole body. Rejects as soon as the headers promise, or the wire has brought, one byte too many;
 * what is left of the body then stays unread.
 */
export function readBody(message: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if ((declaredBytes(message.headers) ?? 0) > bytesMax) return reject(tooLarge(bytesMax));
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = (): void => {
      message.off("data", take).off("end", finish).off("error", gone).off("close", gone);
    };
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      stop();
      message.pause();
      reject(tooLarge(bytesMax));
    };
    const finish = (): void => {
      stop();
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bytes));
    };
    const gone = (): void => {
      stop();
      reject(new CallerGone("the connection closed before the body was complete"));
    };
    message.on("data", take).on("end", finish).on("error", gone).on("close", gone);
  });
}

export type BodyKind = "json" | "yaml";

const yamlTypes: ReadonlySet<string> = new Set(["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"]);

/** What the headers say the body is. `+json` types count as JSON; parameters other than charset are passed over. */
export function bodyKind(headers: IncomingHttpHeaders, yamlToo: boolean): BodyKind {
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw invalidInput("the body is compressed (Content-Encoding); send it as it is");
  }
  const [type = "", ...parameters] = (headers["content-type"] ?? "")
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset = parameters
    .find((parameter) => parameter.startsWith("charset="))
    ?.slice(8)
    .replaceAll('"', "");
  if (charset !== undefined && charset !== "utf-8" && charset !== "utf8")
    throw invalidInput("the body must be UTF-8; its Content-Type names another charset");
  if (type === "application/json" || (type.startsWith("application/") && type.endsWith("+json"))) return "json";
  if (yamlToo && yamlTypes.has(type)) return "yaml";
  const wanted = yamlToo ? "application/json or application/yaml" : "application/json";
  throw invalidInput(
    type === ""
      ? `the body has no Content-Type; send ${wanted}`
      : `a body of this Content-Type is not taken here; send ${wanted}`,
  );
}

/** Fatal: text with a byte that is no UTF-8 is refused, never repaired. */
const utf8 = new TextDecoder("utf-8", { fatal: true });

export function parseBody(bytes: Buffer, kind: BodyKind): unknown {
  if (bytes.length === 0) throw invalidInput("the body is empty; send a JSON object");
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw invalidInput("the body is not well-formed UTF-8");
  }
  return kind === "yaml" ? parseYaml(text) : parseJsonBody(text);
}

/** @param at where the text stands in the body, if it is not the whole of it: it may be so much less deep */
export function parseJsonBody(text: string, at: readonly (string | number)[] = []): unknown {
  const depthMax = limits.jsonDepthMax - at.length;
  const parsed = parseJson(text, { depthMax, numbers: "finite", duplicateKeys: "refuse", at });
  if (parsed.ok) return parsed.value;
  const { kind, message, pointer, offset } = parsed.problem;
  throw new SignalboxError("invalid_input", message, {
    details: {
      reason: kind,
      ...(pointer === undefined ? {} : { pointer }),
      ...(offset === undefined ? {} : { offset }),
    },
  });
}
