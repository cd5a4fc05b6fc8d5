// What a worker says, between plain data and the wire's messages; reading refuses what breaks a bound.
import {
  bounded,
  bytesOf,
  cutText,
  decimalOf,
  FrameError,
  integerOf,
  jsonOf,
  leaseOf,
  nameOf,
  nameOrEmpty,
  recordOf,
  refuse,
  wordOf,
} from "./codec-checks.ts";
import * as wire from "./gen/signalbox/v1/work_pb.ts";
import { wellFormed } from "./json/well-formed.ts";
import { limits } from "./limits.ts";
import type {
  Emit,
  Heartbeat,
  InFlight,
  Malformed,
  Nack,
  Output,
  Register,
  Result,
  Usage,
  WorkError,
  WorkerMessage,
} from "./work.ts";

const UINT32_MAX = 0xffff_ffff;
const labelCharsMax = 256;
const inFlightStates = {
  accepted: wire.InFlight_State.ACCEPTED,
  running: wire.InFlight_State.RUNNING,
  done: wire.InFlight_State.DONE,
};
const outputChannels = {
  stdout: wire.Output_Channel.STDOUT,
  stderr: wire.Output_Channel.STDERR,
  partial: wire.Output_Channel.PARTIAL,
  log: wire.Output_Channel.LOG,
};
const resultStatuses = {
  succeeded: wire.Result_Status.SUCCEEDED,
  failed: wire.Result_Status.FAILED,
  cancelled: wire.Result_Status.CANCELLED,
};
const nackReasons = {
  retry_elsewhere: wire.Nack_Reason.RETRY_ELSEWHERE,
  reject: wire.Nack_Reason.REJECT,
};

const utf8 = new TextEncoder();

export type WorkerFrameContent = wire.WorkerFrame["message"];

/** Throws RangeError when a number of ours cannot stand on the wire; that is a fault of the sender's code. */
export function toWorkerFrame(message: Exclude<WorkerMessage, Malformed>): WorkerFrameContent {
  switch (message.type) {
    case "register":
      return { case: "register", value: writeRegister(message) };
    case "heartbeat":
      return {
        case: "heartbeat",
        value: {
          $typeName: "signalbox.v1.Heartbeat",
          load: message.load,
          inFlight: message.inFlight.map(writeInFlight),
          ...writeFreeMemory(message),
        },
      };
    case "accepted":
      return {
        case: "accepted",
        value: { $typeName: "signalbox.v1.Accepted", callId: message.callId, fence: BigInt(message.fence) },
      };
    case "started":
      return {
        case: "started",
        value: { $typeName: "signalbox.v1.Started", callId: message.callId, fence: BigInt(message.fence) },
      };
    case "output":
      return { case: "output", value: writeOutput(message) };
    case "progress":
      return {
        case: "progress",
        value: {
          $typeName: "signalbox.v1.Progress",
          callId: message.callId,
          fence: BigInt(message.fence),
          percent: message.percent,
          message: message.message,
        },
      };
    case "emit":
      return { case: "emit", value: writeEmit(message) };
    case "secret_request":
      return {
        case: "secretRequest",
        value: {
          $typeName: "signalbox.v1.SecretRequest",
          callId: message.callId,
          fence: BigInt(message.fence),
          names: [...message.names],
        },
      };
    case "result":
      return { case: "result", value: writeResult(message) };
    case "nack":
      return { case: "nack", value: writeNack(message) };
    case "draining":
      return { case: "draining", value: { $typeName: "signalbox.v1.Draining" } };
  }
}

/** Throws FrameError for what no honest worker sends. */
export function fromWorkerFrame(content: WorkerFrameContent): WorkerMessage {
  switch (content.case) {
    case "register":
      return readRegister(content.value);
    case "heartbeat":
      return readHeartbeat(content.value);
    case "accepted":
    case "started":
      return { type: content.case, ...leaseOf(content.value) };
    case "output":
      return readOutput(content.value);
    case "progress":
      return {
        type: "progress",
        ...leaseOf(content.value),
        percent: decimalOf("percent", content.value.percent, 100),
        message: cutText(content.value.message),
      };
    case "emit":
      return readEmit(content.value);
    case "secretRequest":
      return {
        type: "secret_request",
        ...leaseOf(content.value),
        names: bounded("names", content.value.names, limits.secretNamesPerCallMax).map((name) =>
          nameOf("a secret's name", name),
        ),
      };
    case "result":
      return readResult(content.value);
    case "nack":
      return {
        type: "nack",
        ...leaseOf(content.value),
        reason: wordOf("reason", nackReasons, content.value.reason),
        code: nameOf("code", content.value.code),
        message: cutText(content.value.message),
      };
    case "draining":
      return { type: "draining" };
    default:
      return refuse("the frame holds no message this side knows");
  }
}

function writeRegister(message: Register): wire.Register {
  return {
    $typeName: "signalbox.v1.Register",
    workerId: message.workerId,
    incarnation: message.incarnation,
    imageDigest: message.imageDigest,
    pool: message.pool,
    labels: { ...message.labels },
    handlers: message.handlers.map((offer) => ({ $typeName: "signalbox.v1.HandlerOffer", ...offer })),
    backends: [...message.backends],
    capacity: message.capacity,
    inFlight: message.inFlight.map(writeInFlight),
    ...writeFreeMemory(message),
  };
}

function readRegister(message: wire.Register): Register {
  return {
    type: "register",
    workerId: nameOf("worker_id", message.workerId),
    incarnation: nameOf("incarnation", message.incarnation),
    imageDigest: nameOrEmpty("image_digest", message.imageDigest, labelCharsMax),
    pool: nameOrEmpty("pool", message.pool),
    labels: recordOf("labels", message.labels, limits.labelsPerWorkerMax, (what, text) =>
      nameOrEmpty(what, text, labelCharsMax),
    ),
    handlers: bounded("handlers", message.handlers, limits.handlersPerWorkerMax).map((offer) => ({
      tool: nameOf("a handler's tool", offer.tool),
      version: nameOf("a handler's version", offer.version),
      maxConcurrency: integerOf("max_concurrency", offer.maxConcurrency, 1, limits.workerCapacityMax),
      descriptorHash: nameOrEmpty("descriptor_hash", offer.descriptorHash),
    })),
    backends: bounded("backends", message.backends, limits.backendsPerWorkerMax).map((name) =>
      nameOf("a backend", name),
    ),
    capacity: integerOf("capacity", message.capacity, 1, limits.workerCapacityMax),
    inFlight: readInFlight(message.inFlight),
    ...readFreeMemory(message),
  };
}

/** What is wrong with an event is told beside it: a message that is refused would end the call. */
function readEmit(message: wire.Emit): Emit {
  const lease = leaseOf(message);
  try {
    return {
      type: "emit",
      ...lease,
      ordinal: integerOf("ordinal", message.ordinal, 1, UINT32_MAX),
      eventType: nameOf("event_type", message.eventType),
      payloadJson: jsonOf("payload_json", message.payloadJson, limits.eventPayloadBytesMax).text,
    };
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const eventType = wellFormed(message.eventType.slice(0, limits.nameCharsMax)).text;
    return { type: "emit", ...lease, ordinal: message.ordinal, eventType, payloadJson: "null", refused: error.message };
  }
}

function readHeartbeat(message: wire.Heartbeat): Heartbeat {
  return { type: "heartbeat", load: decimalOf("load", message.load, 1), inFlight: readInFlight(message.inFlight), ...readFreeMemory(message) };
}

function writeFreeMemory({ freeMemoryBytes }: Pick<Heartbeat, "freeMemoryBytes">): { freeMemoryBytes?: bigint } {
  return freeMemoryBytes === undefined ? {} : { freeMemoryBytes: BigInt(freeMemoryBytes) };
}

function readFreeMemory({ freeMemoryBytes }: Pick<wire.Heartbeat, "freeMemoryBytes">): Pick<Heartbeat, "freeMemoryBytes"> {
  return freeMemoryBytes === undefined ? {} : { freeMemoryBytes: integerOf("free_memory_bytes", freeMemoryBytes, 0, Number.MAX_SAFE_INTEGER) };
}

function writeInFlight(call: InFlight): wire.InFlight {
  return {
    $typeName: "signalbox.v1.InFlight",
    callId: call.callId,
    fence: BigInt(call.fence),
    state: inFlightStates[call.state],
  };
}

function readInFlight(calls: readonly wire.InFlight[]): InFlight[] {
  return bounded("in_flight", calls, limits.inFlightPerWorkerMax).map((call) => ({
    ...leaseOf(call),
    state: wordOf("state", inFlightStates, call.state),
  }));
}

function writeOutput(message: Output): wire.Output {
  return {
    $typeName: "signalbox.v1.Output",
    callId: message.callId,
    fence: BigInt(message.fence),
    seq: message.seq,
    channel: outputChannels[message.channel],
    chunk: message.chunk,
  };
}

function readOutput(message: wire.Output): Output {
  return {
    type: "output",
    ...leaseOf(message),
    seq: integerOf("seq", message.seq, 1, UINT32_MAX),
    channel: wordOf("channel", outputChannels, message.channel),
    chunk: bytesOf("chunk", message.chunk, limits.outputStreamBytesMax),
  };
}

function writeEmit(message: Emit): wire.Emit {
  return {
    $typeName: "signalbox.v1.Emit",
    callId: message.callId,
    fence: BigInt(message.fence),
    ordinal: message.ordinal,
    eventType: message.eventType,
    payloadJson: utf8.encode(message.payloadJson),
  };
}

function writeNack(message: Nack): wire.Nack {
  return {
    $typeName: "signalbox.v1.Nack",
    callId: message.callId,
    fence: BigInt(message.fence),
    reason: nackReasons[message.reason],
    code: message.code,
    message: message.message,
  };
}

function writeResult(message: Result): wire.Result {
  return {
    $typeName: "signalbox.v1.Result",
    callId: message.callId,
    fence: BigInt(message.fence),
    status: resultStatuses[message.status],
    illFormed: message.illFormed ?? false,
    usage: writeUsage(message.usage),
    ...(message.outputJson === undefined ? {} : { outputJson: utf8.encode(message.outputJson) }),
    ...(message.error === undefined ? {} : { error: writeError(message.error) }),
  };
}

function readResult(message: wire.Result): Result {
  const status = wordOf("status", resultStatuses, message.status);
  const base = { type: "result", ...leaseOf(message), status, usage: readUsage(message.usage) } as const;
  const error = message.error === undefined ? {} : { error: readError(message.error) };
  if (status === "failed" && message.error === undefined) refuse("a failed result has no error");
  if (message.outputJson === undefined) {
    if (status === "succeeded") refuse("a succeeded result has no output_json");
    return { ...base, ...error };
  }
  const { length } = message.outputJson;
  if (length > limits.resultBytesMax) return { ...base, status: "failed", error: tooLarge(length) };
  const { text, replaced } = jsonOf("output_json", message.outputJson, limits.resultBytesMax);
  return { ...base, ...error, outputJson: text, ...(replaced || message.illFormed ? { illFormed: true } : {}) };
}

/** No fault of the frame: the sender meant a result, and its call is to end by the limit that it broke. */
function tooLarge(bytes: number): WorkError {
  const message = `the result has ${bytes} bytes, more than ${limits.resultBytesMax}: return a reference to it instead`;
  return { code: "result_too_large", message, retryable: false };
}

function writeUsage(usage: Usage): wire.Usage {
  return {
    $typeName: "signalbox.v1.Usage",
    durationMs: usage.durationMs,
    ...(usage.cpuMs === undefined ? {} : { cpuMs: usage.cpuMs }),
    ...(usage.peakMemoryBytes === undefined ? {} : { peakMemoryBytes: BigInt(usage.peakMemoryBytes) }),
    ...(usage.warm === undefined ? {} : { warm: usage.warm }),
    truncated: [...(usage.truncated ?? [])],
  };
}

const channels = ["stdout", "stderr"] as const;

/** A result without usage is a whole result: what it cost is then unknown, not zero work for nothing. */
function readUsage(usage: wire.Usage | undefined): Usage {
  if (usage === undefined) return { durationMs: 0 };
  const most = Number.MAX_SAFE_INTEGER;
  return {
    durationMs: decimalOf("duration_ms", usage.durationMs, most),
    ...(usage.cpuMs === undefined ? {} : { cpuMs: decimalOf("cpu_ms", usage.cpuMs, most) }),
    ...(usage.peakMemoryBytes === undefined
      ? {}
      : { peakMemoryBytes: integerOf("peak_memory_bytes", usage.peakMemoryBytes, 0, most) }),
    ...(usage.warm === undefined ? {} : { warm: usage.warm }),
    ...(usage.truncated.length === 0 ? {} : { truncated: channels.filter((name) => usage.truncated.includes(name)) }),
  };
}

function writeError(error: WorkError): wire.WorkError {
  return {
    $typeName: "signalbox.v1.WorkError",
    code: error.code,
    message: error.message,
    retryable: error.retryable,
    ...(error.detailsJson === undefined ? {} : { detailsJson: utf8.encode(error.detailsJson) }),
  };
}

function readError(error: wire.WorkError): WorkError {
  return {
    code: nameOf("error.code", error.code),
    message: cutText(error.message),
    retryable: error.retryable,
    ...(error.detailsJson === undefined
      ? {}
      : { detailsJson: jsonOf("error.details_json", error.detailsJson, limits.errorDetailsBytesMax).text }),
  };
}
