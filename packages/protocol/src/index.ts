// The public face of @signalbox/protocol: what crosses between processes, and nothing else.
export { SignalboxError, errorBody, errorTable, fieldFault, isErrorCode } from "./errors.ts";
export type { ErrorBody, ErrorCode, ErrorRow, ErrorType, FieldFault } from "./errors.ts";
export { callIdCharsMax, crockford128, isCallId, makeId, sessionCallId, uuid7Text } from "./ids.ts";
export type { IdPrefix } from "./ids.ts";
export { limits } from "./limits.ts";
export type { Limits } from "./limits.ts";
export { isSafe, sideEffectClassDefault, sideEffectClasses } from "./side-effects.ts";
export type { SideEffectClass } from "./side-effects.ts";

// Work messages
export { boxNotProvisioned } from "./work.ts";
export type {
  Accepted,
  Cancel,
  Drain,
  Draining,
  Emit,
  FileRef,
  Go,
  GoAway,
  HandlerOffer,
  Heartbeat,
  HeartbeatAck,
  InFlight,
  InFlightState,
  Invoke,
  Lease,
  Malformed,
  Nack,
  Output,
  Progress,
  Register,
  Registered,
  Result,
  ResultAck,
  Resync,
  RuntimeMessage,
  SecretGrant,
  SecretRequest,
  Started,
  Usage,
  WorkError,
  WorkStream,
  WorkerMessage,
} from "./work.ts";

// Words
export { timeInWords } from "./time-in-words.ts";

// JSON
export { parseWithBigInts, stringifyWithBigInts } from "./json/bigint.ts";
export { canonicalJson } from "./json/canonical.ts";
export { cutJson, cutJsonBytesMin } from "./json/cut.ts";
export { bigIntDigitsMax, isRawNumber } from "./json/exact-number.ts";
export type { RawNumber } from "./json/exact-number.ts";
export { jsonDepthCeiling, parseJson, toPlain } from "./json/parse.ts";
export type { JsonParsed, JsonProblem, ParseJsonOptions } from "./json/parse.ts";
export { jsonPointer } from "./json/pointer.ts";
export { scanJson } from "./json/scan.ts";
export type { JsonScan } from "./json/scan.ts";
export { findSyntaxError } from "./json/syntax-error.ts";
export type { JsonSyntaxError } from "./json/syntax-error.ts";
export { decodeUtf8, isWellFormed, utf8Bytes, wellFormed, wellFormedJson } from "./json/well-formed.ts";
export type { WellFormedText } from "./json/well-formed.ts";

// Work streams
export { cutText } from "./codec-checks.ts";
export { decodeRuntime, decodeWorker, encodeRuntime, encodeWorker } from "./codec.ts";
export type { FromRuntime } from "./codec.ts";
export { grpcMethod, workService } from "./grpc-service.ts";
export type { GrpcMethod, MethodCodec } from "./grpc-service.ts";
export { createBatch } from "./batch.ts";
export type { Batch, BatchOptions } from "./batch.ts";
export { createOutbox, weigh } from "./outbox.ts";
export type { Outbox, OutboxOptions } from "./outbox.ts";
export { createPipe } from "./pipe.ts";
