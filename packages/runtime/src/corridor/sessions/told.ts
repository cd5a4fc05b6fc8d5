// What a model is told of a call: its result, or in words why there is none.
import { cutJson, utf8Bytes, type ErrorBody } from "@signalbox/protocol";
import type { Call, TerminalState } from "../../call/types.ts";
import { toldEdited } from "../../policy/approval/told.ts";
import type { PreparedCall } from "../../session/turn/types.ts";
import type { ToldResult } from "../../session/types.ts";

/** Of one result; what is longer is cut, and says so. A model's window is small beside what a tool may return. */
export const toldBytesMax = 256 * 1024;

/** A call that has ended. What it is told never changes: the row does not either. */
export function toldOfRow(prepared: PreparedCall, row: Call): ToldResult {
  const edited = row.argsEditedBy === null ? null : row.effectiveArgsJson;
  const { text, isError } = row.state === "succeeded" ? succeeded(row) : { text: errorText(row.error, row.state), isError: true };
  const startedAt = row.startedAt ?? row.dispatchedAt;
  return {
    ...base(prepared),
    told: "row",
    status: row.state as TerminalState,
    text: edited === null ? text : `${toldEdited(row.tool, edited)}\n${text}`,
    isError,
    errorCode: row.state === "succeeded" ? null : (row.error?.code ?? row.state),
    editedArgsJson: edited,
    editedBy: row.argsEditedBy,
    durationMs: row.usage?.durationMs ?? (startedAt === null || row.settledAt === null ? 0 : Math.max(0, row.settledAt - startedAt)),
  };
}

/** The pipeline refused it before there was a row: nothing ran. */
export function toldOfRefusal(prepared: PreparedCall, error: ErrorBody): ToldResult {
  return {
    ...base(prepared),
    told: "refused",
    status: error.code === "forbidden" || error.code === "policy_error" ? "denied" : error.code === "cancelled" ? "cancelled" : "failed",
    text: errorText(error, "failed"),
    isError: true,
    errorCode: error.code,
    editedArgsJson: null,
    editedBy: null,
    durationMs: 0,
  };
}

function base({ index, callId, providerId, name, metadata }: PreparedCall): Pick<ToldResult, "index" | "callId" | "providerId" | "name" | "metadata"> {
  return { index, callId, providerId, name, ...(metadata === undefined ? {} : { metadata }) };
}

function succeeded({ outputJson }: Call): { readonly text: string; readonly isError: boolean } {
  const text = outputJson ?? "null";
  return { text: utf8Bytes(text) > toldBytesMax ? cutJson(text, toldBytesMax) : text, isError: false };
}

function errorText(error: ErrorBody | null, state: string): string {
  if (error === null) return `[${state}]`;
  const fields = schemaText(error.details);
  return `[${error.code}] ${error.message}${fields}`;
}

/** Where the arguments did not fit, the places help the model more than the sentence. */
function schemaText(details: Readonly<Record<string, unknown>> | undefined): string {
  const errors = details?.["errors"];
  return Array.isArray(errors) && errors.length > 0 ? `\n${JSON.stringify(errors)}` : "";
}
