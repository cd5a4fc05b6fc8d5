// What the runtime says to a worker, between plain data and the wire's messages; reading refuses what breaks a bound.
import {
  bounded,
  checkTextBytes,
  cutText,
  integerOf,
  jsonOf,
  leaseOf,
  nameOf,
  nameOrEmpty,
  recordOf,
  refuse,
  wordOf,
} from "./codec-checks.ts";
import * as wire from "./gen/signalbox/v1/work_pb.ts";
import { callIdCharsMax } from "./ids.ts";
import { limits } from "./limits.ts";
import type { Cancel, Invoke, Registered, RuntimeMessage, SecretGrant } from "./work.ts";

const UINT32_MAX = 0xffff_ffff;
const principalCharsMax = 256;
const digestCharsMax = 256;
const addressCharsMax = 1_024;
const resyncVerdicts = {
  keep: wire.Resync_Verdict.KEEP,
  drop: wire.Resync_Verdict.DROP,
  acked: wire.Resync_Verdict.ACKED,
};
const cancelReasons = {
  cancel: wire.Cancel_Reason.CANCEL,
  timeout: wire.Cancel_Reason.TIMEOUT,
  lost: wire.Cancel_Reason.LOST,
};
const ackVerdicts = {
  stored: wire.ResultAck_Verdict.STORED,
  lease_lost: wire.ResultAck_Verdict.LEASE_LOST,
};
const sideEffectClasses = {
  read_only: wire.SideEffectClass.READ_ONLY,
  idempotent_write: wire.SideEffectClass.IDEMPOTENT_WRITE,
  non_idempotent_write: wire.SideEffectClass.NON_IDEMPOTENT_WRITE,
  irreversible_action: wire.SideEffectClass.IRREVERSIBLE_ACTION,
};

const utf8 = new TextEncoder();

export type RuntimeFrameContent = wire.RuntimeFrame["message"];

/** Throws RangeError when a number of ours cannot stand on the wire; that is a fault of the sender's code. */
export function toRuntimeFrame(message: RuntimeMessage): RuntimeFrameContent {
  switch (message.type) {
    case "registered":
      return { case: "registered", value: writeRegistered(message) };
    case "invoke":
      return { case: "invoke", value: writeInvoke(message) };
    case "go":
      return {
        case: "go",
        value: { $typeName: "signalbox.v1.Go", callId: message.callId, fence: BigInt(message.fence) },
      };
    case "cancel":
      return { case: "cancel", value: writeCancel(message) };
    case "secret_grant":
      return { case: "secretGrant", value: writeSecretGrant(message) };
    case "result_ack":
      return {
        case: "resultAck",
        value: {
          $typeName: "signalbox.v1.ResultAck",
          callId: message.callId,
          fence: BigInt(message.fence),
          verdict: ackVerdicts[message.verdict],
        },
      };
    case "heartbeat_ack":
      return { case: "heartbeatAck", value: { $typeName: "signalbox.v1.HeartbeatAck" } };
    case "drain":
      return { case: "drain", value: { $typeName: "signalbox.v1.Drain" } };
    case "go_away":
      return {
        case: "goAway",
        value: { $typeName: "signalbox.v1.GoAway", reason: message.reason, reconnectTo: message.reconnectTo },
      };
  }
}

/** Throws FrameError for what no honest runtime sends. */
export function fromRuntimeFrame(content: RuntimeFrameContent): RuntimeMessage {
  switch (content.case) {
    case "registered":
      return readRegistered(content.value);
    case "invoke":
      return readInvoke(content.value);
    case "go":
      return { type: "go", ...leaseOf(content.value) };
    case "cancel":
      return {
        type: "cancel",
        ...leaseOf(content.value),
        graceMs: content.value.graceMs,
        reason: wordOf("reason", cancelReasons, content.value.reason),
      };
    case "secretGrant":
      return readSecretGrant(content.value);
    case "resultAck":
      return {
        type: "result_ack",
        ...leaseOf(content.value),
        verdict: wordOf("verdict", ackVerdicts, content.value.verdict),
      };
    case "heartbeatAck":
      return { type: "heartbeat_ack" };
    case "drain":
      return { type: "drain" };
    case "goAway":
      return {
        type: "go_away",
        reason: cutText(content.value.reason),
        reconnectTo: nameOrEmpty("reconnect_to", content.value.reconnectTo, addressCharsMax),
      };
    default:
      return refuse("the frame holds no message this side knows");
  }
}

function writeRegistered(message: Registered): wire.Registered {
  return {
    $typeName: "signalbox.v1.Registered",
    leaseTtlMs: message.leaseTtlMs,
    heartbeatMs: message.heartbeatMs,
    resync: message.resync.map(({ callId, fence, verdict }) => ({
      $typeName: "signalbox.v1.Resync",
      callId,
      fence: BigInt(fence),
      verdict: resyncVerdicts[verdict],
    })),
    refused: message.refused.map((handler) => ({ $typeName: "signalbox.v1.RefusedHandler", ...handler })),
  };
}

function readRegistered(message: wire.Registered): Registered {
  return {
    type: "registered",
    leaseTtlMs: integerOf("lease_ttl_ms", message.leaseTtlMs, 1, UINT32_MAX),
    heartbeatMs: integerOf("heartbeat_ms", message.heartbeatMs, 1, UINT32_MAX),
    resync: bounded("resync", message.resync, limits.inFlightPerWorkerMax).map((call) => ({
      ...leaseOf(call),
      verdict: wordOf("verdict", resyncVerdicts, call.verdict),
    })),
    refused: bounded("refused", message.refused, limits.handlersPerWorkerMax).map((handler) => ({
      tool: nameOf("a refused handler's tool", handler.tool),
      version: nameOf("a refused handler's version", handler.version),
      reason: cutText(handler.reason),
    })),
  };
}

function writeInvoke(message: Invoke): wire.Invoke {
  return {
    $typeName: "signalbox.v1.Invoke",
    callId: message.callId,
    fence: BigInt(message.fence),
    attempt: message.attempt,
    idempotencyKey: message.idempotencyKey,
    tenant: message.tenant,
    project: message.project,
    principal: message.principal,
    tool: message.tool,
    version: message.version,
    argsJson: utf8.encode(message.argsJson),
    contextJson: utf8.encode(message.contextJson),
    files: message.files.map(({ path, digest, bytes }) => ({
      $typeName: "signalbox.v1.FileRef",
      path,
      digest,
      bytes: BigInt(bytes),
    })),
    timeoutMs: message.timeoutMs,
    deadlineAtMs: BigInt(message.deadlineAtMs),
    sideEffectClass: sideEffectClasses[message.sideEffectClass],
    needsGo: message.needsGo,
    traceparent: message.traceparent,
    boxJson: message.boxJson === undefined ? none : utf8.encode(message.boxJson),
  };
}

const none = new Uint8Array(0);

function readInvoke(message: wire.Invoke): Invoke {
  return {
    type: "invoke",
    ...leaseOf(message),
    attempt: integerOf("attempt", message.attempt, 1, UINT32_MAX),
    idempotencyKey: nameOf("idempotency_key", message.idempotencyKey, callIdCharsMax),
    tenant: nameOf("tenant", message.tenant),
    project: nameOrEmpty("project", message.project),
    principal: nameOrEmpty("principal", message.principal, principalCharsMax),
    tool: nameOf("tool", message.tool),
    version: nameOf("version", message.version),
    argsJson: jsonOf("args_json", message.argsJson, limits.inputBytesMax).text,
    // A runtime that has no context to give may leave it out.
    contextJson:
      message.contextJson.length === 0
        ? "{}"
        : jsonOf("context_json", message.contextJson, limits.contextBytesMax).text,
    files: bounded("files", message.files, limits.filesPerCallMax).map((file) => ({
      path: nameOf("a file's path", file.path, limits.pathCharsMax),
      digest: nameOf("a file's digest", file.digest, digestCharsMax),
      bytes: integerOf("a file's bytes", file.bytes, 0, Number.MAX_SAFE_INTEGER),
    })),
    timeoutMs: integerOf("timeout_ms", message.timeoutMs, 1, limits.runTimeoutMsMax),
    deadlineAtMs: integerOf("deadline_at_ms", message.deadlineAtMs, 0, Number.MAX_SAFE_INTEGER),
    sideEffectClass: wordOf("side_effect_class", sideEffectClasses, message.sideEffectClass),
    needsGo: message.needsGo,
    traceparent: nameOrEmpty("traceparent", message.traceparent),
    ...(message.boxJson.length === 0 ? {} : { boxJson: jsonOf("box_json", message.boxJson, limits.boxBytesMax).text }),
  };
}

function writeCancel(message: Cancel): wire.Cancel {
  return {
    $typeName: "signalbox.v1.Cancel",
    callId: message.callId,
    fence: BigInt(message.fence),
    graceMs: message.graceMs,
    reason: cancelReasons[message.reason],
  };
}

function writeSecretGrant(message: SecretGrant): wire.SecretGrant {
  return {
    $typeName: "signalbox.v1.SecretGrant",
    callId: message.callId,
    fence: BigInt(message.fence),
    secrets: { ...message.secrets },
    refused: [...message.refused],
  };
}

function readSecretGrant(message: wire.SecretGrant): SecretGrant {
  return {
    type: "secret_grant",
    ...leaseOf(message),
    secrets: recordOf("secrets", message.secrets, limits.secretNamesPerCallMax, (what, text) =>
      checkTextBytes(what, text, limits.secretValueBytesMax),
    ),
    refused: bounded("refused", message.refused, limits.secretNamesPerCallMax).map((name) =>
      nameOf("a secret's name", name),
    ),
  };
}
