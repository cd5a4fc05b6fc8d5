// What to do after an error, by its code: the `next:` line of the command line.
import type { ErrorCode } from "@signalbox/protocol";

export interface ErrorContext {
  /** As it was asked for; empty when the command concerns none. */
  readonly tool?: string | undefined;
  readonly executionId?: string | undefined;
  /** Under which a call was asked for. */
  readonly idempotencyKey?: string | undefined;
  /** The approval that the command concerns. */
  readonly approvalId?: string | undefined;
  /** How to look at the policy that denied the call. */
  readonly policy?: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Codes of the client and of the command line itself. */
type OwnCode = "unreachable" | "unreadable_answer" | "no_runtime" | "no_key" | "no_platform_key";

type Step = string | ((context: ErrorContext) => string);

const showTool = ({ tool }: ErrorContext): string => `signalbox tools show ${tool ?? "<tool>"}`;
const showCall = ({ executionId }: ErrorContext): string =>
  executionId === undefined ? "signalbox calls list" : `signalbox calls show ${executionId}`;

/** The approval that the command is about, or that the error names. */
const approvalOf = ({ approvalId, details }: ErrorContext): string | undefined =>
  approvalId ?? (typeof details["approval_id"] === "string" ? details["approval_id"] : undefined);
const showApproval =
  (otherwise: Step): Step =>
  (context) => {
    const id = approvalOf(context);
    if (id !== undefined) return `signalbox approvals show ${id}`;
    return typeof otherwise === "string" ? otherwise : otherwise(context);
  };

const steps: Readonly<Record<ErrorCode | OwnCode, Step>> = {
  unauthenticated:
    "check the key: --key, SIGNALBOX_KEY or .signalbox/client.json; a lost local key: signalbox keys reset --local",
  token_expired: "make a new key: signalbox keys create (with a key that is still valid)",
  key_revoked: "use another key, or make one: signalbox keys create",
  forbidden: (context) => {
    if (context.policy !== undefined) return context.policy;
    if (context.details["missing_scope"] !== undefined)
      return "ask an administrator for a key with that scope: signalbox keys create";
    if (context.details["reason"] === "tenant_suspended")
      return "whoever runs the runtime can resume it: signalbox tenants resume <tenant> --platform";
    if (context.details["reason"] === "over_operator_limit") return "see what the operator has set: signalbox limits list";
    if (context.details["reason"] === "not_theirs") return "start one of your own: signalbox chat <agent>";
    if (context.details["reason"] === "operator_only") return "speak as the platform's operator: add --platform";
    // A vote that was refused says so with a reason; what is missing then is another person, or a role.
    if (context.approvalId !== undefined && typeof context.details["reason"] === "string") {
      const still =
        context.details["reason"] === "edit_denied" ? "nothing has changed, and the question is still open: " : "";
      return `${still}signalbox approvals show ${context.approvalId}`;
    }
    const { switch: off } = context.details;
    if (context.details["reason"] === "tool_off" && typeof off === "string")
      return `whoever runs the runtime can switch it on: signalbox dev --enable ${off}`;
    if (context.details["reason"] === "tool_disabled") return `signalbox tools enable ${context.tool ?? "<tool>"}`;
    // No rule denied it: a level's default did.
    if (context.details["decision_id"] !== undefined)
      return `see what the rules say of it: signalbox policies explain ${context.tool ?? "<tool>"}`;
    return "ask an administrator for the permission named above: signalbox grants create";
  },
  policy_error: ({ policy }) => policy ?? "the policy itself is broken; an administrator has to correct it",
  integrity_violation: (context) =>
    typeof context.details["version"] === "string" || context.details["reason"] === "quarantined"
      ? showTool(context)
      : "compare the worker's build with the identities and digests that the tool's manifest allows",
  approval_denied: showApproval(showCall),
  approval_expired: "make the call again, and have it approved in time",
  tool_not_found: (context) => {
    const { did_you_mean: near, versions } = context.details;
    if (Array.isArray(near) && near.length > 0) return `did you mean ${near.join(" or ")}?`;
    return Array.isArray(versions) && versions.length > 0 ? showTool(context) : "signalbox tools list";
  },
  execution_not_found: "signalbox calls list",
  key_not_found: "signalbox keys list",
  grant_not_found: "signalbox grants list",
  approval_not_found: "see which there are: signalbox approvals list --all",
  policy_not_found: "signalbox policies list",
  agent_not_found: ({ details }) => {
    const { agent, versions } = details;
    return typeof agent === "string" && Array.isArray(versions) ? `signalbox agents versions ${agent}` : "signalbox agents list";
  },
  session_not_found: "signalbox sessions list",
  tenant_not_found: "signalbox tenants list --platform",
  project_not_found: "signalbox projects list",
  webhook_not_found: "signalbox webhooks list",
  worker_not_found: "signalbox workers list",
  route_not_found: "check the URL: this runtime may be older than this command line (signalbox status)",
  invalid_input: ({ tool }) =>
    tool === undefined
      ? "correct what is named here and try again"
      : `compare with the schema: signalbox tools show ${tool} --json`,
  payload_too_large: "send less, or pass a reference in place of the data",
  idempotency_conflict: "use another --idempotency-key, or the same tool, version and input as the first time",
  approval_closed: showApproval(showCall),
  conflict: showApproval("look at what is there now, then decide again"),
  rate_limited: "wait a moment and try again",
  quota_exceeded: "wait for the quota's next period, or ask an administrator to raise it: signalbox limits list",
  queue_full: "wait until calls have ended: signalbox calls list --status queued",
  timeout: ({ details, executionId }) =>
    details["may_have_executed"] === true
      ? `it may have had its effect: look before you repeat it: ${showCall({ details, executionId })}`
      : "try again with a longer --timeout, if the tool allows it",
  resource_exceeded: "give the tool more of what ran out (details), or smaller input",
  sandbox_unavailable: "signalbox doctor says which boxes this machine can make; signalbox worker connects a sandbox worker",
  no_handler: ({ tool }) => `start a worker that offers ${tool ?? "the tool"}, then try again: signalbox workers list`,
  capacity_exhausted: "try again, or start more workers: signalbox workers list",
  breaker_open: "wait until the tool has recovered, then try again",
  draining: "the runtime is stopping; try again when it is back",
  ledger_unavailable: "see whether its disk is full, or another process has the data folder; of PostgreSQL, whether it answers at that address",
  lease_expired: showCall,
  indeterminate: ({ executionId }) =>
    executionId === undefined
      ? "find out whether it happened, then: signalbox calls resolve"
      : `find out whether it happened, then: signalbox calls resolve ${executionId} confirm|retry|fail`,
  worker_rejected: "look at the worker's log",
  tool_error: showCall,
  invalid_output: showTool,
  cancelled: showCall,
  internal: "look in the runtime's log for the request id",
  unreachable: (context) => {
    if (context.details["reason"] === "certificate_not_trusted")
      return "where you know who signed its certificate, name the file: NODE_EXTRA_CA_CERTS=cert.pem signalbox …";
    return "is it running? start one with: signalbox dev";
  },
  unreadable_answer: "check the URL: --url, SIGNALBOX_URL or .signalbox/client.json",
  no_runtime: "start one with: signalbox dev",
  no_key: "give one: --key, or SIGNALBOX_KEY",
  no_platform_key:
    "give one: --key, or SIGNALBOX_PLATFORM_KEY; on this machine start the runtime again, it writes one: signalbox dev",
};

/** Of a call that has no record as far as anybody here knows, and may have been made all the same. */
const isOpen = ({ details, executionId, idempotencyKey }: ErrorContext): boolean =>
  details["may_have_executed"] === true && executionId === undefined && idempotencyKey !== undefined;

function askAgain({ tool, idempotencyKey = "" }: ErrorContext): string {
  const key = /^[\w.:-]+$/.test(idempotencyKey) ? idempotencyKey : `'${idempotencyKey.replaceAll("'", "'\\''")}'`;
  return `the call may have been made; ask again under the same key, and it runs once: signalbox run ${tool ?? "<tool>"} … --idempotency-key ${key}`;
}

/** Undefined for a code that this version does not know. */
export function nextStep(code: string, context: ErrorContext): string | undefined {
  if (isOpen(context)) return askAgain(context);
  if (!Object.hasOwn(steps, code)) return undefined;
  const step = steps[code as ErrorCode | OwnCode];
  return typeof step === "string" ? step : step(context);
}
