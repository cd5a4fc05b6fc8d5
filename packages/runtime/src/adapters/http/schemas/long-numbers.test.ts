// Numbers with more digits than a double keeps are refused by the bound that they break.
import { parseJson, SignalboxError } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { check } from "./check.ts";

const schema = z.object({ wait_ms: z.int().min(0).max(300_000), list: z.array(z.object({ n: z.int() })).default([]) });

function faults(text: string): unknown {
  const parsed = parseJson(text, { depthMax: 9, numbers: "finite", duplicateKeys: "refuse" });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  try {
    return check(schema, parsed.value, "body");
  } catch (error) {
    return error instanceof SignalboxError ? error.details?.["fields"] : error;
  }
}

test.each([
  ['{"wait_ms":9223372036854775807}', "/wait_ms", "maximum", "must be at most 300000"],
  ['{"wait_ms":-9223372036854775808}', "/wait_ms", "minimum", "must be at least 0"],
  ['{"wait_ms":1,"list":[{"n":1},{"n":9007199254740993}]}', "/list/1/n", "maximum", "must be at most 9007199254740991"],
  // The double is 5; what was sent is not.
  ['{"wait_ms":5.00000000000000000001}', "/wait_ms", "type", "must be a whole number"],
  ['{"wait_ms":9223372036854775807,"list":5}', "/wait_ms", "maximum", "must be at most 300000"],
])("%s", (text, pointer, keyword, message) => {
  expect(faults(text)).toMatchObject([{ pointer, keyword, message }, ...(text.endsWith(":5}") ? [{ pointer: "/list" }] : [])]);
});
