// One rpc on its way through the door: its name, who asks, whether the caller is still there, how it is answered, and its log line.
import { Metadata } from "@grpc/grpc-js";
import type { ServerDuplexStream } from "@grpc/grpc-js";
import { SignalboxError } from "@signalbox/protocol";
import { requireScope } from "../../http/admission.ts";
import type { Gate } from "../../http/admission.ts";
import { bearerToken } from "../../http/auth.ts";
import { CallerGone, tooLarge } from "../../http/body.ts";
import { asSignalboxError, toldError } from "../../http/errors.ts";
import type { ToldError } from "../../http/errors.ts";
import type { DoorLog } from "../../http/log.ts";
import { requestIdOf } from "../../http/request-id.ts";
import { invalidInput } from "../../http/schemas/check.ts";
import type { Asked } from "../../../service.ts";
import type { Principal } from "../../../tenancy/types.ts";
import type { ApiLimits } from "./limits.ts";
import type { Rpc } from "./rpcs.ts";
import { endingOf } from "./status.ts";
import type { OnStray } from "./write.ts";

/** Every rpc is a stream of bytes in both directions to grpc-js, so that nothing is read before somebody is let in. */
export type RawCall = ServerDuplexStream<Buffer, Uint8Array>;

export interface ApiDoorParts extends Gate {
  readonly log: DoorLog;
  readonly newRequestId: () => string;
  readonly onStray: OnStray;
  readonly bounds: ApiLimits;
  /** The exchanges that have not ended … */
  readonly open: Set<Exchange>;
  /** … and who wants to know when the last of them has. */
  onIdle: () => void;
  closing: boolean;
}

export const drainingError = (): SignalboxError =>
  new SignalboxError("draining", "the runtime is shutting down; try again in a moment", {
    details: { retry_after_s: 1 },
  });

export class Exchange {
  readonly rpc: Rpc;
  readonly call: RawCall;
  readonly requestId: string;
  /** Of the call that it is about, once that is known. */
  executionId: string | undefined;
  /** Told when the door closes, for what would not end by itself. */
  onClosing = (): void => undefined;
  readonly #door: ApiDoorParts;
  readonly #gone = new AbortController();
  readonly #startedAtMs = performance.now();
  #principal: Principal | undefined;
  #ended = false;

  constructor(door: ApiDoorParts, rpc: Rpc, call: RawCall) {
    this.rpc = rpc;
    this.call = call;
    this.#door = door;
    const sent = call.metadata.get("x-request-id").map(String);
    this.requestId = requestIdOf(sent.length === 1 ? sent[0] : undefined, door.newRequestId);
    door.open.add(this);
    // Without a listener a caller that goes away in the middle would be an uncaught error.
    call.on("error", () => undefined);
    // grpc-js says it of a call that has ended well, too.
    call.once("cancelled", () => {
      if (this.#finish(undefined, undefined)) this.#gone.abort(new CallerGone("the caller went away"));
    });
  }

  /** Aborts when the caller goes away before it is answered, also by its deadline. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get asked(): Asked {
    if (this.#principal === undefined) throw new Error("nobody was let in yet");
    return { principal: this.#principal, requestId: this.requestId, signal: this.#gone.signal };
  }

  /** Credential first, then scope. @throws SignalboxError */
  async admit(): Promise<void> {
    this.#principal = await this.authenticated(this.requestId);
    await requireScope(this.#door, this.asked, this.rpc.route.scope, this.rpc.name);
    if (this.#door.closing) throw drainingError();
  }

  /** Whoever holds the credential of this stream now; it may have ended since the stream was opened. */
  authenticated(requestId: string): Promise<Principal> {
    const [credential] = this.call.metadata.get("authorization");
    return this.#door.service.authenticate(bearerToken(credential?.toString()), requestId);
  }

  /** The one message of a request that is no stream. @throws SignalboxError · CallerGone */
  oneMessage(): Promise<Buffer> {
    const { call, rpc } = this;
    const { requestWaitMs } = this.#door.bounds;
    return new Promise((resolve, reject) => {
      let message: Buffer | undefined;
      const refuse = (error: Error): void => {
        clearTimeout(late);
        reject(error);
      };
      const late = setTimeout(
        () => reject(invalidInput(`the request did not arrive within ${requestWaitMs} ms`)),
        requestWaitMs,
      );
      call.on("data", (bytes: Buffer) => {
        if (bytes.byteLength > rpc.bytesMax) refuse(tooLarge(rpc.bytesMax));
        else if (message === undefined) message = bytes;
        else refuse(invalidInput(`${rpc.name} takes one request message, and more came`));
      });
      call.once("end", () => {
        if (message === undefined) return refuse(invalidInput(`${rpc.name} takes a request message, and none came`));
        clearTimeout(late);
        resolve(message);
      });
      this.gone.addEventListener("abort", () => refuse(this.gone.reason as CallerGone));
    });
  }

  /** Tells the caller that it was let in, with what REST has in headers. */
  begin(headers: Readonly<Record<string, string>> = {}): void {
    const metadata = new Metadata();
    metadata.set("x-request-id", this.requestId);
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    this.call.sendMetadata(metadata);
  }

  /** Resolves when the reader can take more. @throws CallerGone */
  async write(bytes: Uint8Array): Promise<void> {
    this.gone.throwIfAborted();
    if (this.call.write(bytes)) return;
    await new Promise<void>((resolve, reject) => {
      this.call.once("drain", resolve);
      this.gone.addEventListener("abort", () => reject(this.gone.reason as CallerGone), { once: true });
    });
  }

  end(): void {
    if (!this.#finish(0, undefined)) return;
    this.call.end();
  }

  /** Ends with what went wrong; a caller that went away hears nothing. */
  fail(cause: unknown): void {
    if (cause instanceof CallerGone) return;
    this.refuse(this.told(cause, this.requestId));
  }

  /** What a caller is told of anything that was thrown; the log gets what is our own fault. */
  told(cause: unknown, requestId: string): ToldError {
    const error = asSignalboxError(cause);
    if (error.code === "internal")
      this.#door.log.error({ request_id: requestId, rpc: this.rpc.name, err: error.cause ?? error }, "internal error");
    return toldError(error, requestId);
  }

  refuse(told: ToldError): void {
    this.executionId ??= told.executionId;
    const ending = endingOf(told, this.#door.onStray);
    if (!this.#finish(ending.code, told.error.code)) return;
    // Read on, and thrown away, so that the end of the request is seen.
    this.call.resume();
    this.call.emit("error", ending);
  }

  /** For who has waited long enough for the end. */
  cut(): void {
    this.refuse(toldError(drainingError(), this.requestId));
  }

  /** False where it has ended before. `status` is left out where the caller went away. */
  #finish(status: number | undefined, code: string | undefined): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#door.open.delete(this);
    if (this.#door.open.size === 0) this.#door.onIdle();
    const line = { status, code, executionId: this.executionId, startedAtMs: this.#startedAtMs };
    this.logLine(this.requestId, this.#principal, line);
    return true;
  }

  logLine(
    requestId: string,
    principal: Principal | undefined,
    how: {
      readonly status: number | undefined;
      readonly code: string | undefined;
      readonly executionId: string | undefined;
      readonly startedAtMs: number;
    },
  ): void {
    this.#door.log.info(
      {
        request_id: requestId,
        tenant: principal?.tenant,
        principal: principal?.name,
        rpc: this.rpc.name,
        execution_id: how.executionId,
        status: how.status,
        code: how.code,
        caller_gone: how.status === undefined ? true : undefined,
        ms: Math.round((performance.now() - how.startedAtMs) * 100) / 100,
      },
      "request",
    );
  }
}
