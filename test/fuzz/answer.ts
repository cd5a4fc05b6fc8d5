// What every answer of the HTTP door must be, whatever was asked: of the error table or a success, well-formed, and nobody else's.
import { errorTable, isErrorCode, limits } from "@signalbox/protocol";
import { canary, type Heard, type House } from "./house.ts";
import { reasonOf } from "./target.ts";

const requestId = /^[A-Za-z0-9_.-]{1,64}$/;
const fine = new Set([200, 201, 202, 204, 308]);

/** @throws Error that says which rule the answer breaks */
export function checkAnswer(house: House, heard: Heard): void {
  const { status, headers, text } = heard;
  const fail = (why: string): never => {
    throw new Error(`${why}: ${status} ${text.slice(0, 600)}`);
  };
  const [cause] = house.causes.splice(0);
  if (cause !== undefined) fail(`an error of the runtime's own: ${reasonOf(cause)}`);
  if (!text.isWellFormed()) fail("half a character");
  if (text.includes(canary)) fail("something of another tenant");
  if (!requestId.test(String(headers["x-request-id"]))) fail("no request id");
  const type = String(headers["content-type"]);
  if (fine.has(status)) {
    if (type.startsWith("application/json") && text !== "") JSON.parse(text);
    return;
  }
  if (!type.startsWith("application/json")) fail("an error that is no JSON");
  const { error } = JSON.parse(text) as { readonly error: Readonly<Record<string, unknown>> };
  const { code, message, details, retryable, request_id: told } = error;
  if (typeof code !== "string" || !isErrorCode(code)) return fail("a code that is not in the table");
  const row = errorTable[code];
  if (row.http !== status || row.type !== error["type"]) fail("another status or type than the table's");
  if (code === "internal") fail("an internal error");
  if (typeof message !== "string" || message === "" || message.length > limits.errorMessageCharsMax) fail("no message");
  if (typeof details !== "object" || details === null || Array.isArray(details)) fail("no details");
  if (typeof retryable !== "boolean") fail("nothing about repeating it");
  if (told !== headers["x-request-id"]) fail("two request ids");
}
