// What an rpc ends with when it is refused or its call failed: a gRPC status, with all that REST would tell as its typed detail.
import { Metadata } from "@grpc/grpc-js";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { errorTable } from "@signalbox/protocol";
import { ErrorDetailSchema } from "@signalbox/protocol/v1/shared";
import { limitMet, rateLimitHeaders, retryAfterS } from "../../http/errors.ts";
import type { ToldError } from "../../http/errors.ts";
import { oneLine } from "../status-text.ts";
import { apiLimits } from "./limits.ts";
import { planOf } from "./plan.ts";
import { writeMessage } from "./write.ts";
import type { OnStray } from "./write.ts";

export interface Ending {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

const detailPlan = planOf(ErrorDetailSchema);
const detailType = `type.googleapis.com/${ErrorDetailSchema.typeName}`;

export function endingOf(told: ToldError, onStray: OnStray): Ending {
  const { row, error } = told;
  const code = errorTable[row].grpc;
  const details = statusText(error.message);
  const metadata = new Metadata();
  metadata.set("x-request-id", error.request_id);
  metadata.set("signalbox-error-code", error.code);
  const afterS = retryAfterS(row, error.details);
  if (afterS !== undefined) metadata.set("retry-after", String(afterS));
  for (const [name, value] of Object.entries(rateLimitHeaders(limitMet(row, error.details)))) metadata.set(name, value);
  metadata.set("grpc-status-details-bin", rpcStatus(code, details, boundedDetail(told, onStray)));
  return { code, details, metadata };
}

/** The JSON that an `ErrorDetail` stands for: what REST tells, in one object. */
export function detailJson({ error, executionId, ended }: ToldError): string {
  const about = executionId === undefined ? {} : { execution_id: executionId };
  const how = ended === undefined ? {} : { status: ended.state, execution: ended.execution };
  return JSON.stringify({ ...error, ...about, ...how });
}

/** Trailers that a client cannot take would cost it the whole answer; the call's record has what is left out here. */
function boundedDetail(told: ToldError, onStray: OnStray): Uint8Array {
  const { row, error, executionId } = told;
  const { detailBytesMax, statusTextBytesMax } = apiLimits;
  const omitted = { ...error, details: { omitted: `details over ${detailBytesMax} bytes in all` } };
  const about = executionId === undefined ? {} : { executionId };
  const shorter: readonly ToldError[] = [
    told,
    { ...told, error: omitted },
    { row, ...about, error: { ...omitted, message: oneLine(error.message, statusTextBytesMax) } },
  ];
  const last = shorter.length - 1;
  for (const [place, one] of shorter.entries()) {
    const bytes = writeMessage(detailPlan, detailJson(one), "", onStray);
    if (bytes.byteLength <= detailBytesMax || place === last) return bytes;
  }
  return new Uint8Array();
}

/** A `google.rpc.Status`, by its field numbers, with one `google.protobuf.Any` in it. */
function rpcStatus(code: number, message: string, detail: Uint8Array): Buffer {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.Varint).int32(code).tag(2, WireType.LengthDelimited).string(message);
  writer.tag(3, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(detailType).tag(2, WireType.LengthDelimited).bytes(detail).join();
  return Buffer.from(writer.finish());
}

/** Cut until it is short enough in the percent-encoding of its trailer, which is three times as long for some, nine for other letters. */
function statusText(message: string): string {
  const { statusTextBytesMax } = apiLimits;
  const texts = [500, 200].map((charsMax) => oneLine(message, charsMax));
  return texts.find((text) => encodeURI(text).length <= statusTextBytesMax) ?? oneLine(message, 60);
}
