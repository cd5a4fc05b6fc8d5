// How the parts of the client ask: one request in, one answer out, with the pieces that several of them build it from.
import { memberText } from "./json-text.ts";
import { send } from "./transport.ts";
import type { RetryOptions } from "./retry.ts";
import type { Answer, Request, TransportPorts, TransportSettings } from "./transport.ts";

export interface AskOptions {
  /** Ends the request, and the waits between its tries. */
  readonly signal?: AbortSignal;
  /** For this request alone; what is left out is as the client's own. */
  readonly retry?: RetryOptions;
}

export interface Ask {
  (request: Request, options: AskOptions | undefined): Promise<Answer>;
  /** Turns a body into JSON text. */
  readonly stringify: TransportPorts["stringify"];
}

export function askWith(ports: TransportPorts, settings: TransportSettings): Ask {
  const ask = (request: Request, options: AskOptions | undefined): Promise<Answer> =>
    send(ports, settings, asked(request, options));
  return Object.assign(ask, { stringify: ports.stringify });
}

/** The request, with what its caller wants of it. */
export function asked(request: Request, { signal, retry }: AskOptions = {}): Request {
  return {
    ...request,
    ...(signal === undefined ? {} : { signal }),
    ...(retry === undefined ? {} : { retry }),
  };
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
      (await ask({ method: "POST", path, bodyText: ask.stringify(body), repeatable }, how)).body,
    put: async (path, body, how) =>
      (await ask({ method: "PUT", path, bodyText: ask.stringify(body), repeatable: true }, how)).body,
    remove: async (path, how) => (await ask({ method: "DELETE", path, repeatable: true }, how)).body,
  };
}

/** A request that carries a document: text is YAML (JSON is a part of it), anything else goes out as JSON. */
export function documentRequest(
  { stringify }: Ask,
  path: string,
  document: object | string,
  query: NonNullable<Request["query"]>,
): Request {
  const yaml = typeof document === "string";
  return {
    method: "PUT",
    path,
    query,
    bodyText: yaml ? document : stringify(document),
    contentType: yaml ? "application/yaml" : "application/json",
    repeatable: true,
  };
}

/** JSON text of `fields` with one more member whose value is JSON text already. */
export function spliced(
  { stringify }: Pick<Ask, "stringify">,
  fields: object,
  name: string,
  valueText: string | undefined,
): string {
  const head = stringify(fields);
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
