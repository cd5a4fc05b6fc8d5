// Follows calls: reads their events as they come, and comes back for the rest when the connection breaks.
import { segment, spliced } from "./ask.ts";
import type { AskOptions } from "./ask.ts";
import type { UntypedRequest } from "./call-types.ts";
import { memberText } from "./json-text.ts";
import { Losses } from "./lost.ts";
import { brokenOff, listen, once, streamLimits } from "./stream-connection.ts";
import type { SseMessage } from "./stream-lines.ts";
import { Patience, retrySettings } from "./retry.ts";
import type { Failure, RetryOptions } from "./retry.ts";
import type { CallStreamEvent, FollowOptions } from "./stream-types.ts";
import type { Request, TransportPorts, TransportSettings } from "./transport.ts";

/** Where a reader stands. */
interface Place {
  executionId: string;
  /** Of the last event that it has. */
  seq: number;
  readonly signal: AbortSignal | undefined;
  readonly retry: RetryOptions | undefined;
}

export interface CallStreams {
  follow<Output>(executionId: string, options?: FollowOptions): AsyncIterable<CallStreamEvent<Output>>;
  /** @param request without an idempotency key it is sent once */
  start<Output>(
    request: Omit<UntypedRequest, "mode" | "wait_ms">,
    options?: AskOptions,
  ): AsyncIterable<CallStreamEvent<Output>>;
}

export function callStreams(ports: TransportPorts, settings: TransportSettings): CallStreams {
  return {
    follow<Output>(executionId: string, { afterSeq = 0, signal, retry }: FollowOptions = {}) {
      const place: Place = { executionId, seq: afterSeq, signal, retry };
      return once(() => events<Output>(ports, settings, place, undefined));
    },
    start<Output>(
      { inputText, ...request }: Omit<UntypedRequest, "mode" | "wait_ms">,
      { signal, retry }: AskOptions = {},
    ) {
      const place: Place = { executionId: "", seq: 0, signal, retry };
      const first: Request = {
        method: "POST",
        path: "/v1/executions",
        bodyText: spliced(ports, { ...request, stream: true }, "input", inputText),
        repeatable: request.idempotency_key !== undefined,
        idempotencyKey: request.idempotency_key,
      };
      return once(() => events<Output>(ports, settings, place, first));
    },
  };
}

async function* events<Output>(
  ports: TransportPorts,
  settings: TransportSettings,
  place: Place,
  first: Request | undefined,
): AsyncGenerator<CallStreamEvent<Output>> {
  const following = { ...settings.retry, attemptsMax: streamLimits.fruitlessTriesMax };
  let request = first;
  const losses = new Losses({ repeatable: first?.repeatable ?? true, idempotencyKey: first?.idempotencyKey });
  let patience = new Patience(retrySettings(request === undefined ? following : settings.retry, place.retry));
  for (;;) {
    const before = place.seq;
    const failed = yield* connection<Output>(ports, settings, place, request ?? followRequest(place));
    if (failed === "over") return;
    if (place.seq > before) patience.renew();
    // Once its answer has come, the call exists, and is followed by its own address.
    if (request !== undefined && place.executionId !== "") {
      request = undefined;
      patience = new Patience(retrySettings(following, place.retry));
    }
    // A refusal that names a record is that call's own end.
    const final = request !== undefined && (!request.repeatable || failed.error.executionId !== undefined);
    const waitMs = final ? undefined : patience.waitMs(failed, ports.monotonicMs(), ports.random());
    losses.note(failed.error);
    if (waitMs === undefined) throw losses.told(failed.error, place.executionId || failed.error.executionId);
    await ports.sleep(waitMs, place.signal);
  }
}

function followRequest({ executionId, seq }: Place): Request {
  const path = `/v1/executions/${segment(executionId)}/stream`;
  return { method: "GET", path, headers: seq === 0 ? {} : { "last-event-id": String(seq) }, repeatable: true };
}

/** One connection, to its end or to the stream's. */
async function* connection<Output>(
  ports: TransportPorts,
  settings: TransportSettings,
  place: Place,
  request: Request,
): AsyncGenerator<CallStreamEvent<Output>, "over" | Failure> {
  const heard = listen(ports, settings, { ...request, ...(place.signal === undefined ? {} : { signal: place.signal }) }, (response) => {
    place.executionId = idOf(response) ?? place.executionId;
  });
  try {
    for (;;) {
      const { done, value } = await heard.next();
      if (done === true) return value === "ended" ? brokenOff(settings, "the stream ended before the call did", undefined) : value;
      const event = read<Output>(ports, value);
      if (event === undefined) continue;
      const seq = event.type === "gap" ? event.to : event.seq;
      // A runtime that says something twice is not listened to twice.
      if (seq <= place.seq) continue;
      place.seq = seq;
      yield event;
      if (event.type === "done" || event.type === "error") return "over";
    }
  } finally {
    await heard.return("ended");
  }
}

/** The address of the call that an invoke was answered with. */
function idOf(response: Response): string | undefined {
  const location = response.headers.get("location");
  return location === null ? undefined : decodeURIComponent(location.slice(location.lastIndexOf("/") + 1));
}

const known: ReadonlySet<string> = new Set<CallStreamEvent["type"]>([
  "start",
  "stdout",
  "stderr",
  "progress",
  "partial",
  "log",
  "emit",
  "approval",
  "gap",
  "done",
  "error",
]);

/** Undefined for what a newer runtime may say and this client does not know. */
function read<Output>(ports: TransportPorts, { event, data }: SseMessage): CallStreamEvent<Output> | undefined {
  if (!known.has(event)) return undefined;
  const fields = ports.parse(data) as Record<string, unknown>;
  if (event !== "done" && event !== "error") return { type: event, ...fields } as CallStreamEvent<Output>;
  const record = fields["data"] as object;
  const outputText = memberText(memberText(data, "data") ?? "", "output") ?? null;
  return { type: event, ...fields, data: { ...record, outputText } } as CallStreamEvent<Output>;
}
