// The public face of @signalbox/client.
export { createClient } from "./client.ts";
export type { AskOptions, Client, ClientOptions, WithOutputText } from "./client.ts";
export { SignalboxApiError } from "./errors.ts";
export type { ApiErrorFacts, ClientErrorCode } from "./errors.ts";
export { clientLimits } from "./transport.ts";
export type { TransportPorts } from "./transport.ts";
export type {
  Attempt,
  AuditProblem,
  AuditQuery,
  AuditRecord,
  AuditVerdict,
  CallEvent,
  CreatedKey,
  Decision,
  EventPage,
  EventQuery,
  Execution,
  ExecutionBlock,
  ExecutionDetail,
  ExecutionQuery,
  ExecutionStatus,
  Grant,
  InvokeRequest,
  Key,
  LateResult,
  MatchedRule,
  NewGrant,
  NewKey,
  Page,
  PageQuery,
  RegisteredTool,
  ResolveRequest,
  RuntimeStatus,
  Tool,
  ToolDetail,
  ToolSpec,
  ToolVersion,
  Worker,
} from "./types.ts";
