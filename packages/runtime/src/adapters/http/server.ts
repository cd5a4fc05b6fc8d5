// The HTTP door: takes a request through its checks in one order (credential, scope, body, shape) and hands it to the runtime.
import type { IncomingMessage } from "node:http";
import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { limits, makeId, SignalboxError } from "@signalbox/protocol";
import { isLoopback } from "../system/exposure.ts";
import type { Service } from "../../service.ts";
import type { Scope } from "../../tenancy/types.ts";
import { requireOperator, requireScope } from "./admission.ts";
import type { Gate } from "./admission.ts";
import type { Answer } from "./answer.ts";
import { bearerToken } from "./auth.ts";
import { bodyStream } from "./body-stream.ts";
import { bodyKind, CallerGone, parseBody, readBody } from "./body.ts";
import { answerClientError } from "./client-error.ts";
import { crossOrigin } from "./cors.ts";
import { asSignalboxError, errorAnswer } from "./errors.ts";
import { httpLimits } from "./http-limits.ts";
import type { HttpLimits } from "./http-limits.ts";
import { noLog } from "./log.ts";
import type { DoorLog } from "./log.ts";
import { askedBy, beginPassage, passageOf } from "./passage.ts";
import { send } from "./reply.ts";
import { pooledRandom } from "./request-id.ts";
import type { GuardedRoute, OpenRoute } from "./routes/route.ts";
import { methodsAt, routeTable } from "./routes/table.ts";
import { invalidInput } from "./schemas/check.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route reads the body itself. */
    readonly streamed?: boolean;
  }
}

export interface HttpDoorOptions {
  readonly service: Service;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** PEM texts; left out, the port speaks clear text. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly log?: DoorLog;
  /** Wall clock, ms since 1970; for the time part of request ids. */
  readonly now?: () => number;
  readonly random?: (bytes: number) => Uint8Array;
  /** Whether `/metrics` answers without a credential. Left out: on a loopback host only. */
  readonly metricsOpen?: boolean;
  /** As in {@link Gate}; nobody is told when it is left out. */
  readonly onForbidden?: Gate["onForbidden"];
  /** Exact origins of web pages that may ask from a browser; none if left out. */
  readonly corsOrigins?: readonly string[];
  readonly bounds?: Partial<HttpLimits>;
}

export interface HttpDoor {
  /** @throws the listening error (`EADDRINUSE` …) */
  listen(): Promise<{ readonly port: number }>;
  /** Takes no new connections, lets requests in work end, and cuts those that last longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

interface Door extends Gate {
  readonly log: DoorLog;
  readonly bounds: HttpLimits;
  readonly newRequestId: () => string;
  closing: boolean;
}

export function createHttpDoor(options: HttpDoorOptions): HttpDoor {
  const {
    service,
    host,
    port,
    log = noLog,
    now = Date.now,
    random = pooledRandom(),
    onForbidden = async () => undefined,
  } = options;
  const metricsOpen = options.metricsOpen ?? isLoopback(host);
  const bounds = { ...httpLimits, ...options.bounds };
  const newRequestId = (): string => makeId("req", now(), random(10));
  const door: Door = { service, log, bounds, onForbidden, newRequestId, closing: false };
  const app = listener(door, new Set(options.corsOrigins), options.tls);
  for (const route of routeTable) {
    if (route.scope !== null) addGuarded(app, door, route);
    else addOpen(app, door, route, metricsOpen ? undefined : route.scopeOffLoopback);
  }
  return {
    listen: async () => {
      // For "localhost" fastify would open a second listener for the other address family, out of reach of our bounds.
      await app.listen({ host: host === "localhost" ? "127.0.0.1" : host, port });
      const address = app.server.address();
      return { port: typeof address === "object" && address !== null ? address.port : port };
    },
    close: async (graceMs) => {
      door.closing = true;
      const cut = setTimeout(() => app.server.closeAllConnections(), graceMs);
      try {
        await app.close();
      } finally {
        clearTimeout(cut);
      }
    },
  };
}

/** fastify as a listener and a router alone: its parsers, validators, serializers and log stay out of the way. */
function listener(door: Door, origins: ReadonlySet<string>, tls: HttpDoorOptions["tls"]): FastifyInstance {
  const { bounds } = door;
  const sockets = {
    headersTimeout: bounds.headersWaitMs,
    connectionsCheckingInterval: bounds.connectionCheckMs,
    maxHeaderSize: bounds.headerBytesMax,
  };
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    // Requests that come while the door closes get their answer from the runtime, which knows that it is draining.
    return503OnClosing: false,
    requestTimeout: bounds.requestWaitMs,
    keepAliveTimeout: bounds.keepAliveMs,
    bodyLimit: limits.bodyBytesMax,
    // The router's type would differ with the kind of server, and nothing here depends on that.
    ...((tls === undefined ? { http: sockets } : { https: { ...sockets, ...tls } }) as { readonly http: typeof sockets }),
    routerOptions: { maxParamLength: bounds.pathParameterCharsMax },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, door.newRequestId(), bounds),
    frameworkErrors: (error, request, reply) => {
      sendError(door, error, request, reply);
    },
  });
  app.server.maxConnections = bounds.connectionsMax;
  app.decorateRequest("passage", null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (request: FastifyRequest, message: IncomingMessage) =>
    request.routeOptions.config.streamed === true
      ? Promise.resolve(undefined)
      : readBody(message, request.routeOptions.bodyLimit),
  );
  app.addHook("onRequest", (request, reply, done) => {
    beginPassage(door.log, door.newRequestId, request, reply);
    if (origins.size > 0) {
      const preflight = crossOrigin(origins, methodsAt, request, reply);
      if (preflight !== undefined)
        return sendAnswer(door, { status: 204, text: "", headers: preflight }, request, reply);
    }
    // Before the body is looked at: what has no route has no reason to be read.
    done(request.is404 ? routeNotFound(request.method, request.url) : undefined);
  });
  app.setErrorHandler((error, request, reply) => {
    sendError(door, error, request, reply);
  });
  return app;
}

function routeNotFound(method: string, url: string): SignalboxError {
  const methods = methodsAt(url.split("?", 1)[0] ?? "");
  if (methods.length === 0)
    return new SignalboxError("route_not_found", "there is nothing at this path; the API starts at /v1");
  return new SignalboxError("route_not_found", `this path does not take ${method}; it takes ${methods.join(", ")}`, {
    details: { allowed_methods: methods },
  });
}

function addOpen(app: FastifyInstance, door: Door, route: OpenRoute, scope: Scope | undefined): void {
  app.route({
    method: route.method,
    url: route.path,
    // Load balancers and uptime checks like to ask with HEAD.
    exposeHeadRoute: true,
    ...(scope === undefined ? {} : { onRequest: (request: FastifyRequest) => admitTo(door, route, request, scope) }),
    handler: async (request, reply) => {
      const answer = await route.answer(door.service, request.raw);
      sendAnswer(door, answer, request, reply);
      return reply;
    },
  });
}

function addGuarded(app: FastifyInstance, door: Door, route: GuardedRoute): void {
  app.route({
    method: route.method,
    url: route.path,
    config: { streamed: route.body === "stream" },
    bodyLimit: route.body === "manifest" ? limits.manifestBytesMax : limits.bodyBytesMax,
    onRequest: (request) => admit(door, request, route.scope),
    handler: async (request, reply) => {
      const answer = await handle(door, route, request);
      sendAnswer(door, answer, request, reply);
      return reply;
    },
  });
}

async function admitTo(door: Door, route: OpenRoute, request: FastifyRequest, scope: Scope): Promise<void> {
  await admit(door, request, scope);
  if (route.operatorOffLoopback === true) requireOperator(askedBy(passageOf(request)));
}

/** Credential first, then scope; both before a byte of the body is read. */
async function admit(door: Door, request: FastifyRequest, scope: GuardedRoute["scope"]): Promise<void> {
  const passage = passageOf(request);
  passage.principal = await door.service.authenticate(bearerToken(request.headers.authorization), passage.requestId);
  await requireScope(door, askedBy(passage), scope, passage.route);
}

async function handle(door: Door, route: GuardedRoute, request: FastifyRequest): Promise<Answer> {
  return route.handle({
    service: door.service,
    asked: askedBy(passageOf(request)),
    params: request.params as Readonly<Record<string, string>>,
    query: queryOf(route, request),
    body: bodyOf(route, request),
    message: request.raw,
    content: (bytesMax) => bodyStream(request.raw, bytesMax),
  });
}

function queryOf(route: GuardedRoute, request: FastifyRequest): unknown {
  const [stray] = route.operation.query !== undefined ? [] : Object.keys(request.query as object);
  if (stray !== undefined) throw invalidInput("this route takes no query parameters; leave them out");
  return request.query;
}

/** fastify leaves the body undefined when the headers promise none. */
function bodyOf(route: GuardedRoute, request: FastifyRequest): unknown {
  if (route.body === "stream") return undefined;
  const bytes = request.body instanceof Buffer ? request.body : Buffer.alloc(0);
  if (route.body === "json" || route.body === "manifest")
    return parseBody(bytes, bodyKind(request.headers, route.body === "manifest"));
  if (bytes.length === 0) return undefined;
  if (route.body === "none") {
    // The body of a GET is never read, so this is about DELETE.
    throw invalidInput("this route takes no body; leave it out");
  }
  return parseBody(bytes, bodyKind(request.headers, false));
}

function sendAnswer(door: Door, answer: Answer, request: FastifyRequest, reply: FastifyReply): void {
  const passage = passageOf(request);
  passage.answeredAtMs = performance.now();
  passage.executionId = answer.executionId;
  passage.code = answer.code;
  // An idle connection would hold the closing door open for as long as it is kept alive.
  if (door.closing) reply.header("connection", "close");
  if (answer.stream !== undefined) endWithStream(door, request, reply);
  const { requestId, route } = passage;
  send(reply, answer, requestId, door.bounds, (err) => {
    door.log.error({ request_id: requestId, route, err }, "a stream broke off");
  });
}

/** The head of a stream has gone out before the door knows that it will close; then the connection goes with the stream. */
function endWithStream(door: Door, { raw: { socket } }: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once("finish", () => {
    if (door.closing) socket.end();
  });
}

function sendError(door: Door, cause: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (cause instanceof CallerGone) {
    reply.hijack();
    return;
  }
  // A path that the router cannot read comes here before any hook has run.
  const passage = request.passage ?? beginPassage(door.log, door.newRequestId, request, reply);
  const error = asSignalboxError(cause);
  if (error.code === "internal") {
    door.log.error(
      { request_id: passage.requestId, route: passage.route, err: error.cause ?? error },
      "internal error",
    );
  }
  sendAnswer(door, errorAnswer(error, passage.requestId), request, reply);
}
