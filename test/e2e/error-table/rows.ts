// All rows of the error table that are met, and those that nothing answers with so far.
import type { ErrorCode } from "@signalbox/protocol";
import { accessCases } from "./access.ts";
import { approvalCases } from "./approvals.ts";
import type { ErrorCase } from "./case.ts";
import { endCases } from "./ends.ts";
import { extremeCases } from "./extremes.ts";
import { lookupCases } from "./lookups.ts";
import { requestCases } from "./requests.ts";
import { routingCases } from "./routing.ts";

/** Those that share one runtime. */
export const commonCases: readonly ErrorCase[] = [
  ...accessCases,
  ...lookupCases,
  ...requestCases,
  ...approvalCases,
  ...endCases,
  ...routingCases,
];

export const allCases: readonly ErrorCase[] = [...commonCases, ...extremeCases];

/** Why nothing can be answered with it. A source that says it all the same fails the test of this table. */
export const unreached: Readonly<Partial<Record<ErrorCode, string>>> = {
  worker_not_found: "no route names a worker: they are listed",
};
