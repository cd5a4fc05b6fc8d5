// The public face of @signalbox/worker.
export { Worker } from "./worker.ts";
export type { BoxRunEnd, BoxRunner, ToolHandler, ToolOptions, TypedSchema, WorkerOptions } from "./worker.ts";
export { CallStopped, ToolError } from "./failure.ts";
export type { ToolContext } from "./context.ts";
export { ConnectRefused } from "./ports.ts";
export type { Connect, WorkerStream, World } from "./ports.ts";
export { connectGrpc } from "./grpc.ts";
export type { GrpcOptions, TlsOptions } from "./grpc.ts";
export { createWorkerCore } from "./core.ts";
export type { WorkerCore } from "./core.ts";
export type { CoreHandler, HandlerEnd, StopReason, WorkerCoreConfig, WorkerInput, WorkerOutput } from "./core-types.ts";
