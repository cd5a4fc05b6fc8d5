// The end of every file of end-to-end tests: everything stops, and the ledger that is left must make sense.
import { expect } from "vitest";
import type { Stack } from "./stack.ts";
import { brokenRules, readTrace, type TraceOptions } from "./trace.ts";

/** For `afterAll`. A stack that did not come up has nothing to be checked. */
export async function finish(stack: Stack | undefined, options: TraceOptions = {}): Promise<void> {
  if (stack === undefined) return;
  try {
    await stack.close();
    expect(stack.logs()).not.toContain("an answer and its gRPC message differ");
    const trace = await readTrace(stack.dataDir);
    // A trace without calls would be good whatever the rules say.
    expect(trace.calls).not.toEqual([]);
    expect(brokenRules(trace, options)).toEqual([]);
  } finally {
    stack.remove();
  }
}
