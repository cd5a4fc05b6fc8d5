// Reads the arguments of a tool call as a model wrote them: whole and an object, or a reason that the model can act on.
import { isRawNumber, limits, parseJson, utf8Bytes } from "@signalbox/protocol";

export type ArgumentsRead =
  /** JSON text of an object; numbers stand there with their digits. */
  | { readonly ok: true; readonly argsJson: string }
  | { readonly ok: false; readonly code: "invalid_input" | "payload_too_large"; readonly message: string };

const refused = (message: string): ArgumentsRead => ({ ok: false, code: "invalid_input", message });

/**
 * Nothing written counts as `{}`. Anything else must be one whole JSON object: it is never repaired, for a guess at
 * what a model meant would run with a person's rights.
 * @param cut the answer ended at its output limit within or right behind this call
 */
export function readArguments(text: string, cut: boolean): ArgumentsRead {
  if (text.trim() === "") return cut ? refused(truncated) : { ok: true, argsJson: "{}" };
  if (utf8Bytes(text) > limits.inputBytesMax) {
    const message = `the arguments have over ${limits.inputBytesMax} bytes: send less, or send it in several calls`;
    return { ok: false, code: "payload_too_large", message };
  }
  const parsed = parseJson(text, { depthMax: limits.jsonDepthMax, numbers: "finite", duplicateKeys: "refuse" });
  if (!parsed.ok) {
    if (parsed.problem.kind !== "malformed") return refused(`the arguments cannot be read: ${parsed.problem.message}`);
    return refused(cut ? truncated : `the arguments are malformed: ${parsed.problem.message}`);
  }
  const kind = kindOf(parsed.value);
  if (kind !== "an object")
    return refused(`the arguments are ${kind}, and must be an object: send {} where there are none`);
  return { ok: true, argsJson: JSON.stringify(parsed.value) };
}

const truncated =
  "the arguments were truncated: the answer reached the output limit before they were whole. Send the call again with shorter arguments, or in parts";

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  // A number whose digits a double would lose is an object to the engine.
  if (isRawNumber(value)) return "a number";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
