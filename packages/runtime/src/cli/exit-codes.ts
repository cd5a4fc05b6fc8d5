// The exit codes of the command line, and which error code ends in which of them.

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  notFound: 4,
  unavailable: 5,
  unsettled: 6,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodesHelp = `Exit codes:
  0    it worked
  1    the tool, the call or the check failed (tool_error, timeout, denied …)
  2    the command line is wrong
  3    refused: no valid key, or the key may not do this (401, 403)
  4    there is no such thing (404)
  5    the runtime is not there or cannot serve now (no answer, 503), or its ledger or audit key cannot be used
  6    no end yet: the call is parked, indeterminate, or still going
  130  interrupted`;

/** Codes that end otherwise than their HTTP status says. */
const byCode: Readonly<Record<string, ExitCode>> = {
  unreachable: exitCodes.unavailable,
  indeterminate: exitCodes.unsettled,
  // A refused call has a record and an end of its own; 401 and the plain 403 are refusals of the caller.
  approval_denied: exitCodes.failed,
  approval_expired: exitCodes.failed,
};

/** @param code of the one error table, or of the client */
export function exitCodeOf(code: string, httpStatus: number): ExitCode {
  const own = byCode[code];
  if (own !== undefined) return own;
  if (httpStatus === 401 || httpStatus === 403) return exitCodes.refused;
  if (httpStatus === 404) return exitCodes.notFound;
  if (httpStatus === 503) return exitCodes.unavailable;
  return exitCodes.failed;
}

/** @param status a call's state; an open one has no end yet */
export function exitCodeOfStatus(status: string): ExitCode {
  if (status === "succeeded") return exitCodes.ok;
  return ["denied", "failed", "timed_out", "cancelled"].includes(status) ? exitCodes.failed : exitCodes.unsettled;
}
