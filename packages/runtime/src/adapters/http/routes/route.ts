// What a route is: a method, a path, the scope that it asks for, and a function from a checked request to an answer.
import type { Asked, Service } from "../../../service.ts";
import type { Scope } from "../../../tenancy/types.ts";
import type { Answer } from "../answer.ts";
import type { RequestHead } from "../request-head.ts";
import type { Operation } from "./operation.ts";

export interface Ask {
  readonly service: Service;
  readonly asked: Asked;
  readonly params: Readonly<Record<string, string>>;
  /** Parsed, unchecked: a string per parameter, a list where one is repeated. */
  readonly query: unknown;
  /** Parsed, unchecked. Undefined where the route takes no body, or an absent one. */
  readonly body: unknown;
  /** For the headers that a route reads itself. */
  readonly message: RequestHead;
  /**
   * The body of a route that reads it itself: one pass, at the reader's pace.
   * @throws SignalboxError payload_too_large as soon as there are more bytes
   */
  readonly content: (bytesMax: number) => AsyncIterable<Uint8Array>;
}

/** `json`: required. `optional`: JSON or none. `manifest`: JSON or YAML, required. `stream`: read by the route itself. */
export type BodyRule = "none" | "json" | "optional" | "manifest" | "stream";

export interface GuardedRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** In the router's notation: `:id` is a parameter, `::` a colon. */
  readonly path: string;
  /**
   * The door asks for it before it reads the body; the runtime asks again where it has reasons of its own. Of a list
   * any one will do; a refusal is recorded as a lack of the first.
   */
  readonly scope: Scope | readonly [Scope, ...Scope[]];
  readonly body: BodyRule;
  /** How the API's document tells it; where it has no query, the door refuses every parameter. */
  readonly operation: Operation;
  readonly handle: (ask: Ask) => Promise<Answer>;
}

/** Answers without a credential. */
export interface OpenRoute {
  readonly method: "GET";
  readonly path: string;
  readonly scope: null;
  /** Set where the route is open on a loopback listener only; elsewhere it asks for this scope. */
  readonly scopeOffLoopback?: Scope;
  /** Set where that must be a key of the platform. */
  readonly operatorOffLoopback?: true;
  /** Null: a page for people, no part of the API. */
  readonly operation: Operation | null;
  readonly answer: (service: Service, message: RequestHead) => Promise<Answer>;
}

export type Route = GuardedRoute | OpenRoute;
