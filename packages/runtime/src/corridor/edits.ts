// Judges changed arguments as if the call came anew: schema, permission, and every rule, always.
import { errorBody, fieldFault, limits, utf8Bytes, type ErrorBody } from "@signalbox/protocol";
import type { Call } from "../call/types.ts";
import type { AuditDraft } from "../call/audit-draft.ts";
import type { PlainWrite } from "../ledger/port.ts";
import type { HashedArgs } from "../policy/approval/machine.ts";
import type { ApprovalRequirements } from "../policy/approval/types.ts";
import type { Judgement } from "../policy/decide.ts";
import { hashedArgs, readArgs } from "./args.ts";
import { fitsBox } from "./boxes.ts";
import { begin, count, countsOf, denialOf, hear, hearCounted, isOver, judge, missingFor, type GovernorPorts } from "./governor.ts";
import { allowanceOf, unheldObligation } from "./obligations.ts";
import type { Hash } from "./ports.ts";

export type JudgedEdit =
  | {
      readonly ok: true;
      /** As they would run: nulls for optional fields taken out. */
      readonly accepted: HashedArgs;
      /** What the rules ask for these arguments; null = they ask nobody. */
      readonly requirements: ApprovalRequirements | null;
      readonly timeoutMs: number;
      readonly resultBytesMax: number;
      /** What was decided about them, for the audit. */
      readonly record: PlainWrite;
    }
  | { readonly ok: false; readonly error: ErrorBody };

const no = (error: ErrorBody): JudgedEdit => ({ ok: false, error });

export async function judgeEdit(
  ports: GovernorPorts & { readonly hash: Hash },
  call: Call,
  edit: HashedArgs,
  by: string,
): Promise<JudgedEdit> {
  const now = ports.clock.now();
  const bytes = utf8Bytes(edit.argsJson);
  if (bytes > limits.inputBytesMax) return no(errorBody("payload_too_large", `the arguments have ${bytes} bytes; the limit is ${limits.inputBytesMax}`));
  const version = await ports.ledger.toolVersion(call.toolTenant, call.tool, call.version);
  if (version === undefined) return no(errorBody("tool_not_found", `${call.tool}@${call.version} is gone`));
  const tool = await ports.agents.toolFor(call, ports.catalog.ready(version));
  const verdict = tool.input.validateInput(readArgs(edit.argsJson));
  if (!verdict.ok) {
    const message = `the changed arguments do not match the input schema of ${call.tool}@${call.version}`;
    return no(errorBody("invalid_input", message, { errors: verdict.errors, fields: [fieldFault("/args", "format", "must match the input schema of the tool")] }));
  }
  const holdings = await ports.directory.holdingsByName(call.tenant, call.principal, call.project, now);
  if (holdings === undefined) return no(errorBody("forbidden", `no key of ${call.principal} is valid any more`, { reason: "principal_gone" }));
  const context = JSON.parse(call.contextJson) as Readonly<Record<string, unknown>>;
  const asking = { tenant: call.tenant, project: call.project, principal: call.principal, holdings, tool, context };
  const missing = missingFor(asking);
  if (missing.length > 0) return no(errorBody("forbidden", `${call.principal} has no grant for ${missing.join(", ")}`, { missing }));
  const begun = begin(ports, asking, call.decision.id);
  const heard = isOver(begun) ? begun : hear(ports, begun, verdict.value, tool);
  // The call itself is in the ledger: it does not count against itself.
  const counted = isOver(heard) ? [] : await count(ports.ledger, countsOf(heard, call, now), 1);
  const judgement = judge(ports, hearCounted(ports, heard, counted));
  if (judgement.decision.outcome === "deny") {
    const { code, message, details } = denialOf(judgement);
    return no(errorBody(code, message, details));
  }
  const unheld = unheldObligation(version, judgement.obligations);
  if (unheld !== undefined) return no(unheld);
  const wish = { version, obligations: judgement.obligations, args: verdict.value, lowered: ports.catalog.switches.lowered };
  if (!fitsBox(call, wish)) {
    const message = `the changed arguments need another box than ${call.callId} was admitted to; reject it, and make a new call`;
    return no(errorBody("invalid_input", message, { fields: [fieldFault("/args", "not", "must not need another box")], reason: "other_box" }));
  }
  const accepted = verdict.edits.length === 0 ? edit : hashedArgs(ports.hash, JSON.stringify(verdict.value));
  return {
    ok: true,
    accepted,
    requirements: judgement.approval,
    ...allowanceOf(judgement.obligations, call),
    record: { op: "append_audit", draft: recordOf(call, judgement, accepted, { by, now }) },
  };
}

/** The row keeps what was decided at admission; what was decided about other arguments stands in the audit. */
function recordOf(call: Call, { decision }: Judgement, accepted: HashedArgs, { by, now }: { by: string; now: number }): AuditDraft {
  return {
    ts: now,
    tenant: call.tenant,
    project: call.project,
    principal: call.principal,
    action: "call.decided_again",
    tool: call.tool,
    version: call.version,
    manifestDigest: call.manifestDigest,
    executionId: call.callId,
    callId: call.callId,
    inputHash: accepted.argsHash,
    status: call.state,
    policy: { decision: decision.outcome, ids: decision.rules.map((rule) => `${rule.policy}@${rule.version}`) },
    requestId: call.requestId,
    details: { edited_by: by, reason: decision.reason },
  };
}
