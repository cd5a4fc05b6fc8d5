// The JSON reader against the engine's own: what both take is the same value, and what one refuses has a reason.
import { isDeepStrictEqual } from "node:util";
import { jsonDepthCeiling, limits, parseJson, scanJson, toPlain, wellFormedJson } from "@signalbox/protocol";
import fc from "fast-check";
import { spoiltText } from "../mutate.ts";
import { target, within } from "../target.ts";

const good = [
  '{"tool":"echo","input":{"n":[1,-2.5e10,true,null,"é 🦊 \\u00e9"]},"context":{}}',
  "[9007199254740993,-123456789012345678901234567890,0.1000000000000000055511151231257827,1e21,-0]",
  '{"a":{"a":{"a":[[[]]]}},"b":"\\ud83d\\ude00","c":"\\"\\\\\\/\\b\\f\\n\\r\\t"}',
  '{"constructor":{"prototype":1},"toString":"x","":0}',
  "  \t\n [ ] \r ",
  '"text"',
  "-1.25E-7",
];

const cpuMsMax = 500;

export const jsonTarget = target<string>({
  name: "json",
  about: "the reader of JSON bodies and results",
  async open() {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return {
      inputs: fc.oneof(spoiltText(good), fc.json({ maxDepth: 6 })),
      check: (text) => within(cpuMsMax, () => checkReading(text)),
      // UTF-16, so that halves of surrogate pairs can stand in a file.
      write: (text) => Buffer.from(text, "utf16le"),
      read: (bytes) => (isUtf16(bytes) ? Buffer.from(bytes).toString("utf16le") : decoder.decode(bytes)),
      close: async () => undefined,
    };
  },
});

/** Seeds are written by hand in UTF-8; what the fuzzer keeps is UTF-16, and has a zero in every other byte somewhere. */
function isUtf16(bytes: Uint8Array): boolean {
  return bytes.length >= 2 && bytes.length % 2 === 0 && bytes.some((byte, at) => at % 2 === 1 && byte === 0);
}

function checkReading(text: string): void {
  const engine = byEngine(text);
  const loose = parseJson(text, { depthMax: jsonDepthCeiling, protoKeys: "keep" });
  const strict = parseJson(text, { depthMax: limits.jsonDepthMax, numbers: "finite", duplicateKeys: "refuse" });
  if (!engine.ok && (loose.ok || strict.ok)) throw new Error("takes what the engine refuses");
  if (engine.ok && !loose.ok && !hasReason(loose.problem.kind)) throw new Error(`refuses without a reason: ${loose.problem.kind}`);
  if (strict.ok && !loose.ok) throw new Error("the strict reading takes what the loose one refuses");
  if (engine.ok && loose.ok && !isDeepStrictEqual(toPlain(loose.value), engine.value)) throw new Error("reads another value");
  if (strict.ok) checkWritten(text, strict.value);
  if (engine.ok) checkWellFormed(text);
  if (!strict.ok && text.length > 12 && strict.problem.message.includes(text)) throw new Error("repeats the text");
}

function byEngine(text: string): { readonly ok: true; readonly value: unknown } | { readonly ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false };
  }
}

/** Kinds of refusals that the engine does not know. */
const hasReason = (kind: string): boolean => ["too_deep", "lone_surrogate"].includes(kind);

/** What was read is written out with every digit, and reads back the same. */
function checkWritten(text: string, value: unknown): void {
  const written = JSON.stringify(value);
  const again = parseJson(written, { depthMax: limits.jsonDepthMax });
  if (!again.ok) throw new Error("cannot read what it wrote");
  if (JSON.stringify(again.value) !== written) throw new Error("writes another text the second time");
  const digits = (source: string): readonly string[] =>
    [...source.replace(/"(?:[^"\\]|\\.)*"/g, "").matchAll(/(?<![\d.])-?\d{16,}(?![\d.eE])/g)]
      .map(([number]) => number);
  // More may be written out than came: 0.1e21 has no exponent any more.
  const after = digits(written);
  const lost = digits(text).filter((number) => !after.includes(number));
  if (lost.length > 0) throw new Error(`loses digits of ${lost.join(" ")}`);
}

function checkWellFormed(text: string): void {
  const scan = scanJson(text, { depthMax: jsonDepthCeiling });
  if (!scan.ok) return;
  const { text: mended, replaced } = wellFormedJson(text);
  if (!mended.isWellFormed()) throw new Error("leaves half a character");
  if (replaced !== (mended !== text)) throw new Error("does not say what it replaced");
  if (!byEngine(mended).ok) throw new Error("mends it into what is no JSON");
}
