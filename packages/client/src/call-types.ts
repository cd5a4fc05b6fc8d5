// What an invoke takes and gives, and how a map of tools makes both precise.
import type { AskOptions } from "./ask.ts";
import type { CallStreamEvent } from "./stream-types.ts";
import type { Execution, ExecutionStatus, InvokeRequest } from "./types.ts";

type Ended<Output, Status extends ExecutionStatus> = Omit<Execution<Output>, "status" | "output"> & {
  readonly status: Status;
};

/** `outputText` is the output as the worker wrote it, with every digit. */
export type SucceededCall<Output = unknown> = Ended<Output, "succeeded"> & {
  readonly output: Output;
  readonly outputText: string;
};

/** A call that was stopped; also, where nobody waited for it (`mode: "async"`), one that ended badly. `error` says how. */
export type UnsuccessfulCall = Ended<never, "cancelled" | "failed" | "timed_out" | "denied"> & {
  readonly output?: never;
  readonly outputText: null;
};

/** It goes on, or waits for people (`awaiting_approval`, `indeterminate`); `client.wait` follows it to its end. */
export type OpenCall = Ended<never, "queued" | "dispatched" | "running" | "awaiting_approval" | "indeterminate"> & {
  readonly output?: never;
  readonly outputText: null;
};

export type EndedCall<Output = unknown> = SucceededCall<Output> | UnsuccessfulCall;
/** `status` tells which of them it is. */
export type InvokedCall<Output = unknown> = EndedCall<Output> | OpenCall;

const openStatuses: ReadonlySet<string> = new Set<OpenCall["status"]>([
  "queued",
  "dispatched",
  "running",
  "awaiting_approval",
  "indeterminate",
]);

/** True while a call has yet to end. */
export function isOpen(call: InvokedCall): call is OpenCall {
  return openStatuses.has(call.status);
}

/** One tool as a program knows it. */
export interface ToolShape {
  readonly input: unknown;
  readonly output: unknown;
}

/** A type or interface that maps names of tools to their shapes. */
export type ToolMap<Tools> = { readonly [Name in keyof Tools]: ToolShape };

/** Without a map: any name, any input, an output that the caller vouches for. */
export interface AnyTools {
  readonly [tool: string]: ToolShape;
}

/** Everything of a request but the tool and its input. */
export type InvokeOptions = Omit<InvokeRequest, "tool" | "input"> & AskOptions;

/** `inputText` is JSON text that is sent in place of `input` as it is. */
export type UntypedRequest = InvokeRequest & { readonly inputText?: string };

type ToolName<Tools> = keyof Tools & string;
type InputOf<Tools, Name extends keyof Tools> = Tools[Name] extends { readonly input: infer Input } ? Input : never;
type OutputOf<Tools, Name extends keyof Tools> = Tools[Name] extends { readonly output: infer Output } ? Output : never;

/** Either the input as data, or `inputText`, which nobody can check here. */
export type TypedRequest<Tools, Name extends ToolName<Tools>> = Omit<InvokeRequest, "tool" | "input"> & {
  readonly tool: Name;
} & (
    | { readonly input: InputOf<Tools, Name>; readonly inputText?: undefined }
    | { readonly input?: undefined; readonly inputText: string }
  );

export interface UntypedInvoke {
  <Input = unknown, Output = unknown>(
    tool: string,
    input: Input,
    options?: InvokeOptions,
  ): Promise<InvokedCall<Output>>;
  <Output = unknown>(request: UntypedRequest, options?: AskOptions): Promise<InvokedCall<Output>>;
}

export interface TypedInvoke<Tools> {
  <Name extends ToolName<Tools>>(
    tool: Name,
    input: InputOf<Tools, Name>,
    options?: InvokeOptions,
  ): Promise<InvokedCall<OutputOf<Tools, Name>>>;
  <Name extends ToolName<Tools>>(
    request: TypedRequest<Tools, Name>,
    options?: AskOptions,
  ): Promise<InvokedCall<OutputOf<Tools, Name>>>;
}

export type InvokeMethod<Tools> = string extends keyof Tools ? UntypedInvoke : TypedInvoke<Tools>;

/** A stream waits for the end by itself. */
type Streamed<Request> = Request extends unknown ? Omit<Request, "mode" | "wait_ms"> : never;
export type StreamOptions = Omit<InvokeOptions, "mode" | "wait_ms">;

export interface UntypedStream {
  <Input = unknown, Output = unknown>(
    tool: string,
    input: Input,
    options?: StreamOptions,
  ): AsyncIterable<CallStreamEvent<Output>>;
  <Output = unknown>(request: Streamed<UntypedRequest>, options?: AskOptions): AsyncIterable<CallStreamEvent<Output>>;
}

export interface TypedStream<Tools> {
  <Name extends ToolName<Tools>>(
    tool: Name,
    input: InputOf<Tools, Name>,
    options?: StreamOptions,
  ): AsyncIterable<CallStreamEvent<OutputOf<Tools, Name>>>;
  <Name extends ToolName<Tools>>(
    request: Streamed<TypedRequest<Tools, Name>>,
    options?: AskOptions,
  ): AsyncIterable<CallStreamEvent<OutputOf<Tools, Name>>>;
}

export type StreamMethod<Tools> = string extends keyof Tools ? UntypedStream : TypedStream<Tools>;
