// Many calls on one stream: each request is checked, made and answered as if it had come alone; the stream is read no faster than that.
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { errorTable, limits } from "@signalbox/protocol";
import type { Principal } from "../../../tenancy/types.ts";
import { requireScope } from "../../http/admission.ts";
import { tooLarge } from "../../http/body.ts";
import type { CallerGone } from "../../http/body.ts";
import type { ToldError } from "../../http/errors.ts";
import type { RequestHead } from "../../http/request-head.ts";
import { requestIdOf } from "../../http/request-id.ts";
import { faultAt } from "../../http/schemas/check.ts";
import { recordJson } from "../../http/views/executions.ts";
import { headOf } from "./ask.ts";
import { drainingError } from "./exchange.ts";
import type { ApiDoorParts, Exchange } from "./exchange.ts";
import { readMessage } from "./read.ts";
import type { Values } from "./read.ts";
import { detailJson } from "./status.ts";
import { invokeOnce } from "./unary.ts";
import type { InvokeOutcome } from "./unary.ts";
import { writeMessage } from "./write.ts";

export async function answerMany(door: ApiDoorParts, exchange: Exchange): Promise<void> {
  await exchange.admit();
  const head = headOf(exchange.call.metadata);
  if (head.headers["idempotency-key"] !== undefined) {
    throw faultAt(
      "header",
      "/Idempotency-Key",
      "const",
      "names one call; set idempotency_key in each request of a stream",
    );
  }
  exchange.begin();
  await new Many(door, exchange, head).run();
  exchange.end();
}

class Many {
  readonly #door: ApiDoorParts;
  readonly #exchange: Exchange;
  readonly #head: RequestHead;
  readonly #over = Promise.withResolvers<void>();
  /** Answers go out one behind the other, so that a slow reader is waited for once, and not by each of them. */
  #written: Promise<void> = Promise.resolve();
  #outstanding = 0;
  #outstandingBytes = 0;
  #noMore = false;
  #leaving = false;

  constructor(door: ApiDoorParts, exchange: Exchange, head: RequestHead) {
    this.#door = door;
    this.#exchange = exchange;
    this.#head = head;
  }

  /**
   * Resolves when the caller has said that no more requests come, and all are answered.
   * @throws SignalboxError draining, when the door closes and all are answered · CallerGone
   */
  run(): Promise<void> {
    const { call, gone } = this.#exchange;
    gone.addEventListener("abort", () => this.#over.reject(gone.reason as CallerGone), { once: true });
    call.once("end", () => {
      this.#noMore = true;
      this.#look();
    });
    this.#exchange.onClosing = () => {
      this.#leaving = true;
      this.#look();
    };
    call.on("data", (message: Buffer) => void this.#take(message));
    return this.#over.promise;
  }

  /** An answer counts as outstanding until the reader has room for it, so a reader that is slow is not read from. */
  async #take(message: Buffer): Promise<void> {
    const bytes = message.byteLength;
    this.#outstanding++;
    this.#outstandingBytes += bytes;
    this.#look();
    const answer = await this.#answer(message);
    this.#written = this.#written.then(() => this.#exchange.write(answer));
    // Who is gone needs no answer.
    await this.#written.catch(() => undefined);
    this.#outstanding--;
    this.#outstandingBytes -= bytes;
    this.#look();
  }

  #look(): void {
    const { call } = this.#exchange;
    const { outstandingMax, outstandingBytesMax } = this.#door.bounds;
    const full = this.#outstanding >= outstandingMax || this.#outstandingBytes >= outstandingBytesMax;
    if (this.#noMore && this.#outstanding === 0) this.#over.resolve();
    else if (this.#leaving && this.#outstanding === 0) this.#over.reject(drainingError());
    else if (full || this.#leaving) call.pause();
    else if (call.isPaused()) call.resume();
  }

  /** Never rejects: whatever goes wrong is this request's answer. */
  async #answer(message: Buffer): Promise<Uint8Array> {
    const request: One = {
      ref: refOf(message),
      requestId: requestIdOf(undefined, this.#door.newRequestId),
      principal: undefined,
    };
    const startedAtMs = performance.now();
    try {
      const outcome = await this.#invoke(request, message);
      return this.#tell(request, startedAtMs, outcome, outcome.failure);
    } catch (error) {
      return this.#tell(request, startedAtMs, undefined, this.#exchange.told(error, request.requestId));
    }
  }

  async #invoke(one: One, message: Buffer): Promise<InvokeOutcome> {
    const { rpc, gone } = this.#exchange;
    // The credential may have ended since the stream was opened, and so may its scopes.
    one.principal = await this.#exchange.authenticated(one.requestId);
    if (message.byteLength > rpc.bytesMax) throw tooLarge(rpc.bytesMax);
    const { ref, request, request_id: given } = readMessage(rpc.input, message);
    if (typeof given === "string") one.requestId = requestIdOf(given, () => one.requestId);
    const asked = { principal: one.principal, requestId: one.requestId, signal: gone };
    await requireScope(this.#door, asked, rpc.route.scope, rpc.name);
    if (String(ref).length > limits.nameCharsMax)
      throw faultAt("body", "/ref", "maxLength", `must have at most ${limits.nameCharsMax} characters`);
    if (request === undefined) throw faultAt("body", "/request", "required", "is required");
    return invokeOnce(this.#door.service, asked, request as Values, this.#head);
  }

  #tell(one: One, startedAtMs: number, outcome: InvokeOutcome | undefined, failure: ToldError | undefined): Uint8Array {
    const { rpc } = this.#exchange;
    const status = failure === undefined ? 0 : errorTable[failure.row].grpc;
    const executionId = outcome?.call.callId ?? failure?.executionId;
    this.#exchange.logLine(one.requestId, one.principal, {
      status,
      code: failure?.error.code,
      executionId,
      startedAtMs,
    });
    const head = { ref: one.ref, request_id: one.requestId, status_code: status, replayed: outcome?.replayed ?? false };
    const told = failure === undefined && outcome !== undefined ? `"execution":${recordJson(outcome.call)}` : "";
    const wrong = failure === undefined ? "" : `"error":${detailJson(failure)}`;
    const text = `${JSON.stringify(head).slice(0, -1)},${told}${wrong}}`;
    return writeMessage(rpc.output, text, rpc.name, this.#door.onStray);
  }
}

/** One request of the stream. */
interface One {
  readonly ref: string;
  requestId: string;
  principal: Principal | undefined;
}

const refField = 1;

/** The name of a request, of which the rest may be as broken as it likes. */
function refOf(message: Buffer): string {
  let ref = "";
  try {
    const reader = new BinaryReader(message);
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === refField && type === WireType.LengthDelimited) ref = reader.string();
      else reader.skip(type, field);
    }
  } catch {
    // Unreadable from here on; what was found before still names the request.
  }
  return ref.slice(0, limits.nameCharsMax);
}
