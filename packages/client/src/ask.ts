// How the parts of the client ask: one request in, one answer out, with the pieces that several of them build it from.
import { memberText } from "./json-text.ts";
import { send } from "./transport.ts";
import type { Answer, Request, TransportPorts, TransportSettings } from "./transport.ts";

export interface AskOptions {
  readonly signal?: AbortSignal;
}

export type Ask = (request: Request, options: AskOptions | undefined) => Promise<Answer>;

export function askWith(ports: TransportPorts, settings: TransportSettings): Ask {
  return (request, options) =>
    send(ports, settings, options?.signal === undefined ? request : { ...request, signal: options.signal });
}

/** The four ways in which most methods ask; each gives the answer's data. */
export interface Verbs {
  get(path: string, query: Request["query"], how: AskOptions | undefined): Promise<unknown>;
  post(path: string, body: object, repeatable: boolean, how: AskOptions | undefined): Promise<unknown>;
  put(path: string, body: object, how: AskOptions | undefined): Promise<unknown>;
  remove(path: string, how: AskOptions | undefined): Promise<unknown>;
}

export function verbsOf(ask: Ask): Verbs {
  return {
    get: async (path, query, how) =>
      (await ask({ method: "GET", path, query: query ?? {}, repeatable: true }, how)).body,
    post: async (path, body, repeatable, how) =>
      (await ask({ method: "POST", path, bodyText: JSON.stringify(body), repeatable }, how)).body,
    put: async (path, body, how) =>
      (await ask({ method: "PUT", path, bodyText: JSON.stringify(body), repeatable: true }, how)).body,
    remove: async (path, how) => (await ask({ method: "DELETE", path, repeatable: true }, how)).body,
  };
}

/** A request that carries a document: text is YAML (JSON is a part of it), anything else goes out as JSON. */
export function documentRequest(
  path: string,
  document: object | string,
  query: NonNullable<Request["query"]>,
): Request {
  const yaml = typeof document === "string";
  return {
    method: "PUT",
    path,
    query,
    bodyText: yaml ? document : JSON.stringify(document),
    contentType: yaml ? "application/yaml" : "application/json",
    repeatable: true,
  };
}

/** JSON text of `fields` with one more member whose value is JSON text already. */
export function spliced(fields: object, name: string, valueText: string | undefined): string {
  const head = JSON.stringify(fields);
  if (valueText === undefined) return head;
  const comma = head === "{}" ? "" : ",";
  return `${head.slice(0, -1)}${comma}${JSON.stringify(name)}:${valueText}}`;
}

/** The source text of one member of the answer, with every digit; null when it has none. */
export function textOf(answer: Answer, member: string): string | null {
  return memberText(answer.text, member) ?? null;
}

/** An id or a name as one part of a path. */
export const segment: (text: string) => string = encodeURIComponent;
