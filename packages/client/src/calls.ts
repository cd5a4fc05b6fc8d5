// The client's part for calls: makes them, waits for them, looks at them, stops them, and says how they ended.
import { segment, spliced, textOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import type {
  AnyTools,
  EndedCall,
  InvokedCall,
  InvokeMethod,
  InvokeOptions,
  StreamMethod,
  UntypedRequest,
} from "./call-types.ts";
import { lister, pagedEvents } from "./paged.ts";
import type { Lister, PagedEvents } from "./paged.ts";
import type { CallStreams } from "./stream.ts";
import type { CallStreamEvent, FollowOptions } from "./stream-types.ts";
import type { Answer, TransportPorts } from "./transport.ts";
import { waiting } from "./wait.ts";
import type { WaitOptions } from "./wait.ts";
import type {
  EventPage,
  EventQuery,
  Execution,
  ExecutionDetail,
  ExecutionQuery,
  Page,
  ReplayRequest,
  ResolvedMany,
  ResolveManyRequest,
  ResolveRequest,
  WithOutputText,
} from "./types.ts";

export interface CallsClient<Tools = AnyTools> {
  /**
   * Runs a tool: `invoke(tool, input, options?)`, or `invoke(request, options?)`. Resolves to a call that has ended
   * well, or (`mode: "async"`, a parked call, a wait that was too short) to one that has yet to end: `status` tells, and
   * `wait` follows it. It is sent again when that may help, always under one idempotency key (one of its own, if the
   * caller gives none), so that it runs once.
   * @throws SignalboxApiError when the call was refused or ended otherwise; `executionId` names its record, if there is
   *   one. With `details.may_have_executed` and no record: ask again with `{ idempotency_key: error.idempotencyKey }`
   */
  readonly invoke: InvokeMethod<Tools>;
  /**
   * Runs a tool and follows it; takes what `invoke` takes. `cancel_on_disconnect` counts while this first connection
   * stands. @throws as `invoke` and `follow`
   */
  readonly stream: StreamMethod<Tools>;
  /**
   * What a call says while it runs, in order, and its end last; for a call that has ended, what was kept of it. Comes
   * back by itself when the connection breaks, and tells what it missed as a `gap`. Breaking off the loop closes it.
   * @throws SignalboxApiError when it is refused, or when nothing answers for too long
   */
  follow<Output = unknown>(executionId: string, options?: FollowOptions): AsyncIterable<CallStreamEvent<Output>>;
  /**
   * Resolves when the call has ended, however long that takes and whatever becomes of the connection; at once, when
   * it has. @param call what `invoke` gave, or the id of a call
   * @throws SignalboxApiError the call's own error when it ended badly; `wait_timeout` when `timeoutMs` went by, which
   *   stops nothing
   */
  wait<Output = unknown>(call: InvokedCall<Output> | string, options?: WaitOptions): Promise<EndedCall<Output>>;
  get<Output = unknown>(executionId: string, options?: AskOptions): Promise<WithOutputText<ExecutionDetail<Output>>>;
  /** The newest first. */
  readonly list: Lister<Execution, ExecutionQuery>;
  /** Awaited, one page; in a `for await`, every event that was written so far. */
  events(executionId: string, query?: EventQuery, options?: AskOptions): PagedEvents;
  /** Idempotent. The record is still open while the worker has yet to confirm that it stopped. */
  cancel(executionId: string, options?: AskOptions): Promise<Execution>;
  resolve(
    executionId: string,
    answer: ResolveRequest & { readonly outputText?: string },
    options?: AskOptions,
  ): Promise<Execution>;
  /** The same word on many calls, each resolved by itself; with `dry_run` a look at them. */
  resolveMany(request: ResolveManyRequest, options?: AskOptions): Promise<ResolvedMany>;
  /** @throws SignalboxApiError `conflict` where it is open, or may have had its effect and that was not acknowledged */
  replay(executionId: string, request?: ReplayRequest, options?: AskOptions): Promise<Execution>;
}

type Making = Pick<CallsClient, "invoke" | "stream">;

export function calls<Tools>(ask: Ask, ports: TransportPorts, streams: CallStreams): CallsClient<Tools> {
  // Which of the two shapes the methods show is a matter of types alone.
  return {
    ...(making(ask, ports, streams) as unknown as Pick<CallsClient<Tools>, "invoke" | "stream">),
    follow: streams.follow,
    wait: waiting(ports, streams),
    ...looking(ask),
    ...ending(ask),
  };
}

/** `(tool, input, options)` or `(request, options)`, as one request with a key. */
function request(
  { newKey }: TransportPorts,
  first: UntypedRequest | string,
  second: unknown,
  third: InvokeOptions = {},
): { readonly fields: UntypedRequest; readonly how: AskOptions | undefined } {
  if (typeof first !== "string")
    return {
      fields: { ...first, idempotency_key: first.idempotency_key ?? newKey() },
      how: second as AskOptions | undefined,
    };
  const { signal, retry, ...rest } = third;
  return {
    fields: { ...rest, tool: first, input: second, idempotency_key: rest.idempotency_key ?? newKey() },
    how: { ...(signal === undefined ? {} : { signal }), ...(retry === undefined ? {} : { retry }) },
  };
}

function making(ask: Ask, ports: TransportPorts, streams: CallStreams): Making {
  return {
    async invoke(first: UntypedRequest | string, second?: unknown, third?: InvokeOptions) {
      const { fields, how } = request(ports, first, second, third);
      const { inputText, ...body } = fields;
      const answer = await ask(
        {
          method: "POST",
          path: "/v1/executions",
          bodyText: spliced(ask, body, "input", inputText),
          repeatable: true,
          idempotencyKey: fields.idempotency_key,
          recordIsFinal: true,
          waitMs: body.wait_ms ?? 0,
        },
        how,
      );
      return withOutputText<never>(answer);
    },
    stream<Output>(first: UntypedRequest | string, second?: unknown, third?: InvokeOptions) {
      const { fields, how } = request(ports, first, second, third);
      return streams.start<Output>(fields, how);
    },
  };
}

function withOutputText<Record extends object>(answer: Answer): WithOutputText<Record> {
  const record = answer.body as Record;
  return { ...record, outputText: textOf(answer, "output") };
}

function looking(ask: Ask): Pick<CallsClient, "get" | "list" | "events"> {
  const eventsOf =
    (id: string) =>
    async (query: EventQuery, how: AskOptions | undefined): Promise<EventPage> => {
      const path = `/v1/executions/${segment(id)}/events`;
      return (await ask({ method: "GET", path, query: { ...query }, repeatable: true }, how)).body as EventPage;
    };
  return {
    async get<Output>(id: string, how?: AskOptions): Promise<WithOutputText<ExecutionDetail<Output>>> {
      return withOutputText(await ask({ method: "GET", path: `/v1/executions/${segment(id)}`, repeatable: true }, how));
    },
    list: lister(async (query, how) => {
      const answer = await ask({ method: "GET", path: "/v1/executions", query: { ...query }, repeatable: true }, how);
      return answer.body as Page<Execution>;
    }),
    events: (id, query = {}, how) => pagedEvents(eventsOf(id), query, how),
  };
}

function ending(ask: Ask): Pick<CallsClient, "cancel" | "resolve" | "resolveMany" | "replay"> {
  return {
    async cancel(id, how) {
      const path = `/v1/executions/${segment(id)}/cancel`;
      return (await ask({ method: "POST", path, bodyText: "{}", repeatable: true }, how)).body as Execution;
    },
    async resolve(id, { outputText, ...answer }, how) {
      const bodyText = spliced(ask, answer, "output", outputText);
      const path = `/v1/executions/${segment(id)}/resolve`;
      return (await ask({ method: "POST", path, bodyText, repeatable: false }, how)).body as Execution;
    },
    async resolveMany(request, how) {
      const bodyText = JSON.stringify(request);
      return (await ask({ method: "POST", path: "/v1/executions:resolve", bodyText, repeatable: request.dry_run === true }, how)).body as ResolvedMany;
    },
    async replay(id, request = {}, how) {
      const path = `/v1/executions/${segment(id)}/replay`;
      const repeatable = request.idempotency_key !== undefined;
      return (await ask({ method: "POST", path, bodyText: JSON.stringify(request), repeatable }, how)).body as Execution;
    },
  };
}
