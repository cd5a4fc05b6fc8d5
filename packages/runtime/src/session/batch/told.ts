// What a model is told of a call that was cancelled and had no result of its own in time.
import type { PreparedCall } from "../turn/types.ts";
import type { ToldResult } from "../types.ts";

/** How long running calls may still bring their own result after a cancel, where nobody says otherwise. */
export const cancelGraceMsDefault = 50;

export const cancelledText = "[Tool execution cancelled]\ntool call cancelled";

export function syntheticResult(call: PreparedCall): ToldResult {
  return {
    index: call.index,
    callId: call.callId,
    providerId: call.providerId,
    name: call.name,
    told: "synthetic",
    status: "cancelled",
    cancelledBy: "runtime",
    text: cancelledText,
    isError: true,
    errorCode: "cancelled",
    editedArgsJson: null,
    editedBy: null,
    durationMs: 0,
    ...(call.metadata === undefined ? {} : { metadata: call.metadata }),
  };
}
