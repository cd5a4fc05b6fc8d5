// Waits for the end of one call, through broken connections, for as long as its caller likes.
import { isOpen } from "./call-types.ts";
import type { EndedCall, InvokedCall } from "./call-types.ts";
import { SignalboxApiError } from "./errors.ts";
import type { RetryOptions } from "./retry.ts";
import type { CallStreams } from "./stream.ts";
import { inSeconds } from "./transport.ts";
import type { TransportPorts } from "./transport.ts";
import type { Execution, WithOutputText } from "./types.ts";

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Without it as long as the call takes. */
  readonly timeoutMs?: number;
  /** `attemptsMax`: connections in a row that bring no event (10). */
  readonly retry?: RetryOptions;
}

export type Wait = <Output>(call: InvokedCall<Output> | string, options?: WaitOptions) => Promise<EndedCall<Output>>;

export function waiting(ports: TransportPorts, streams: CallStreams): Wait {
  return async <Output>(
    call: InvokedCall<Output> | string,
    { signal, timeoutMs, retry }: WaitOptions = {},
  ): Promise<EndedCall<Output>> => {
    if (typeof call !== "string" && !isOpen(call)) return endOf<Output>(call);
    const id = typeof call === "string" ? call : call.execution_id;
    const timeout = timeoutMs === undefined ? undefined : ports.timeoutSignal(timeoutMs);
    const signals = [signal, timeout].filter((one) => one !== undefined);
    const options = {
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
      ...(retry === undefined ? {} : { retry }),
    };
    try {
      for await (const event of streams.follow<Output>(id, options))
        if (event.type === "done" || event.type === "error") return endOf<Output>(event.data);
    } catch (error) {
      if (timeout?.aborted !== true || signal?.aborted === true) throw error;
      throw tooLong(id, timeoutMs ?? 0, error);
    }
    throw new Error("a stream that is read from its beginning tells the end");
  };
}

/** @throws SignalboxApiError the call's own error, as `invoke` throws it; a cancelled call is no error */
function endOf<Output>(call: WithOutputText<Execution<Output>>): EndedCall<Output> {
  if (call.status === "succeeded" || call.status === "cancelled") return call as EndedCall<Output>;
  const { error } = call;
  throw new SignalboxApiError({
    code: error?.code ?? "internal",
    message: error?.message ?? `the call ended as ${call.status}`,
    // The record came as it should; only the call did not.
    httpStatus: 200,
    retryable: error?.retryable ?? false,
    executionId: call.execution_id,
    requestId: call.request_id,
    ...(error === undefined ? {} : { type: error.type, details: error.details ?? {} }),
  });
}

function tooLong(id: string, timeoutMs: number, cause: unknown): SignalboxApiError {
  return new SignalboxApiError({
    code: "wait_timeout",
    message: `the call ${id} has not ended within ${inSeconds(timeoutMs)} and goes on; wait for it again, or cancel it`,
    httpStatus: 0,
    retryable: true,
    executionId: id,
    cause,
  });
}
