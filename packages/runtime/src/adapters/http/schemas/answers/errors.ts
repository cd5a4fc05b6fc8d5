// What answers tell of errors, in all of the API the same.
import { z } from "zod";
import { callState } from "../fields.ts";
import { errorFields } from "./call-error.ts";
import { executionBlock } from "./executions.ts";

const error = z
  .strictObject({ ...errorFields, request_id: z.string().describe("Names the request; as in X-Request-Id") })
  .meta({ id: "Error", description: "Why a request was not served, or a call did not end well" });

export const errorAnswer = z
  .strictObject({
    error,
    execution_id: z.string().optional().describe("Set where the refused request left a record"),
  })
  .meta({ id: "ErrorAnswer", description: "What every answer holds that is an error" });

export const failedCallAnswer = z
  .strictObject({
    error,
    execution_id: z.string(),
    status: callState.describe("The state in which the call ended or stopped"),
    execution: executionBlock,
  })
  .meta({ id: "FailedCallAnswer", description: "The end of a call that somebody waited for, where it is an error" });
