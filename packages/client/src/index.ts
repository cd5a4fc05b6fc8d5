// The public face of @signalbox/client.
export { createClient } from "./client.ts";
export type {
  Agent,
  AgentChange,
  AgentDetail,
  AgentDiff,
  AgentsClient,
  AgentSpec,
  AgentStatus,
  AgentVersion,
  AgentVersionLine,
  Commented,
  PublishedAgent,
  RolledBackAgent,
  ToolBinding,
} from "./agents.ts";
export type { AskOptions } from "./ask.ts";
export { isOpen } from "./call-types.ts";
export type {
  AnyTools,
  EndedCall,
  InvokedCall,
  InvokeMethod,
  InvokeOptions,
  OpenCall,
  StreamMethod,
  StreamOptions,
  SucceededCall,
  ToolMap,
  ToolShape,
  TypedInvoke,
  TypedRequest,
  TypedStream,
  UnsuccessfulCall,
  UntypedInvoke,
  UntypedRequest,
  UntypedStream,
} from "./call-types.ts";
export type { CallsClient } from "./calls.ts";
export type { Client, ClientOptions } from "./client.ts";
export type { FilesClient, PackageFile, StoredFile, StoredPackage } from "./files.ts";
export { SignalboxApiError } from "./errors.ts";
export type { ApiErrorFacts, ClientErrorCode } from "./errors.ts";
export type {
  ApprovalsClient,
  Approving,
  FreezesClient,
  GovernanceClient,
  PoliciesClient,
  ProjectsClient,
  Voting,
  WebhooksClient,
  WithArgsText,
} from "./governance.ts";
export type {
  Approval,
  ApprovalDetail,
  ApprovalQuery,
  ApprovalRequirements,
  ApprovalRoute,
  ApprovalStatus,
  CreatedWebhook,
  Delivery,
  DeliveryQuery,
  DeliveryState,
  ExplainedRule,
  Freeze,
  Policy,
  PolicyApproval,
  PolicyCaseResult,
  PolicyDecision,
  PolicyDefault,
  PolicyDetail,
  PolicyExplanation,
  PolicyLevel,
  PolicyMatch,
  PolicyObligations,
  PolicyQuery,
  PolicyQuestion,
  PolicyStatus,
  PolicyTestResult,
  PolicyWarning,
  Project,
  PublishedPolicy,
  Vote,
  VoteAnswer,
  Webhook,
} from "./governance-types.ts";
export type { SessionsClient } from "./sessions.ts";
export type { FollowSession } from "./session-stream.ts";
export type {
  CancelOptions,
  ChildTimeline,
  FollowSessionOptions,
  HistoryItem,
  SendOptions,
  SentSession,
  Session,
  SessionApproval,
  SessionCall,
  SessionDelta,
  SessionEvent,
  SessionEventPage,
  SessionLine,
  SessionQuery,
  SessionState,
  SessionTimeline,
  SessionTold,
  StartSession,
} from "./session-types.ts";
export type {
  ApprovalEvent,
  CallStreamEvent,
  EmitEvent,
  EndEvent,
  FollowOptions,
  GapEvent,
  ProgressEvent,
  StartEvent,
  TextEvent,
} from "./stream-types.ts";
export { providerName, providerNameCharsMax } from "./model-names.ts";
export { loadModelTools, modelTools, runToolCall, toAnthropicTools, toOpenAiTools } from "./model-tools.ts";
export type {
  AnthropicTool,
  AnthropicToolResult,
  AnthropicToolUse,
  ModelTool,
  ModelTools,
  OpenAiTool,
  OpenAiToolCall,
  OpenAiToolMessage,
  ToolCallOptions,
} from "./model-tools.ts";
export type {
  Limit,
  LimitQuery,
  LimitScope,
  LimitsClient,
  LimitTarget,
  MeteringClient,
  NewLimit,
  Quotas,
  Rate,
  UsageGroup,
  UsagePage,
  UsageQuery,
  UsageRow,
} from "./limits.ts";
export type { Lister, Paged, PagedEvents } from "./paged.ts";
export { retryDefaults } from "./retry.ts";
export type { RetryOptions, RetrySettings } from "./retry.ts";
export type { CreatedTenant, NewTenant, Tenant, TenantChange, TenantsClient } from "./tenants.ts";
export type { ToolsClient } from "./tools.ts";
export type { Activation, ProjectTool, Quarantined, RolledBack, ToolPin, ToolQuery } from "./tool-types.ts";
export { clientLimits } from "./transport.ts";
export type { TransportPorts } from "./transport.ts";
export type { WaitOptions } from "./wait.ts";
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
  ExecutionEdit,
  ExecutionPolicy,
  ExecutionQuery,
  ExecutionStatus,
  Grant,
  InputFile,
  InvokeRequest,
  Key,
  KeyQuery,
  LateResult,
  MatchedRule,
  NewGrant,
  NewKey,
  Page,
  PageQuery,
  RegisteredTool,
  ReplayRequest,
  LastOutput,
  ResolvedMany,
  ResolveManyRequest,
  ResolveRequest,
  UnknownEnd,
  RuntimeStatus,
  Tool,
  ToolDetail,
  ToolSpec,
  ToolVersion,
  WithOutputText,
  Worker,
} from "./types.ts";
