// What a record tells of the error with which a call, or one attempt of it, ended.
import { errorTable, limits } from "@signalbox/protocol";
import type { ErrorCode, ErrorType } from "@signalbox/protocol";
import { z } from "zod";
import { anyObject } from "./common.ts";

const codes = Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]];
const types = [...new Set(Object.values(errorTable).map(({ type }) => type))] as [ErrorType, ...ErrorType[]];

const errorCode = z
  .enum(codes)
  .meta({ id: "ErrorCode", description: "What went wrong; stable. Later versions may know more codes" });

export const errorFields = {
  code: errorCode,
  message: z.string().max(limits.errorMessageCharsMax).describe("For people; names the next step. Not stable"),
  type: z.enum(types).describe("The kind of trouble, for programs that group errors"),
  retryable: z.boolean().describe("True where the same request may be sent again: it is safe, and it can help"),
  details: anyObject.describe("Facts by code, such as the fields at fault"),
};

/** Without the id of a request: whoever reads a record sends another one than the request that failed. */
export const callError = z
  .strictObject({ ...errorFields, details: errorFields.details.optional() })
  .meta({ id: "CallError", description: "Why a call, or one attempt of it, did not end well" });
