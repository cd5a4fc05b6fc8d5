// Reads a YAML manifest as the JSON document that it stands for, through the same gate as JSON bodies.
import { isAlias, isMap, isScalar, parseDocument, visit } from "yaml";
import { limits, parseJson, SignalboxError, stringifyWithBigInts, wellFormed } from "@signalbox/protocol";
import { httpLimits } from "./http-limits.ts";

/**
 * YAML 1.2 core schema only: no tags of other kinds, no dates, no binary, no duplicate keys. Whole numbers keep their digits.
 * @throws SignalboxError `invalid_input`, or `payload_too_large` over `yamlBytesMax` or when its aliases unfold to more than a manifest may have
 */
export function parseYaml(text: string): unknown {
  if (Buffer.byteLength(text) > httpLimits.yamlBytesMax) throw yamlTooLarge("is larger than", httpLimits.yamlBytesMax);
  if (nestedTooDeep(text)) throw refused(`is nested deeper than ${limits.jsonDepthMax} levels`);
  const parsed = parseJson(jsonOf(text), { depthMax: limits.jsonDepthMax });
  if (parsed.ok) return parsed.value;
  const { kind, message, pointer } = parsed.problem;
  throw new SignalboxError("invalid_input", message, {
    details: { reason: kind, ...(pointer === undefined ? {} : { pointer }) },
  });
}

function jsonOf(text: string): string {
  let json: string;
  try {
    const document = parseDocument(text, {
      // Quieter levels would take the first of several documents and say nothing.
      logLevel: "error",
      schema: "core",
      resolveKnownTags: false,
      intAsBigInt: true,
      // The library compares every key with every other one, which takes seconds; checkKeys does it with a set.
      uniqueKeys: false,
    });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw refused(`cannot be read: ${firstLine(problem.message)}`);
    checkKeys(document);
    json = stringifyWithBigInts(document.toJS({ maxAliasCount: httpLimits.yamlAliasesMax }));
  } catch (error) {
    if (error instanceof SignalboxError) throw error;
    if (error instanceof TypeError) throw refused(`cannot be written as JSON: ${error.message}`);
    // Aliases that unfold without end, and nesting beyond the parser's stack.
    throw refused("uses too many aliases, or nesting too deep, to be read");
  }
  if (Buffer.byteLength(json) > limits.manifestBytesMax)
    throw yamlTooLarge("unfolds to more than", limits.manifestBytesMax);
  return json;
}

function checkKeys(document: ReturnType<typeof parseDocument>): void {
  visit(document, {
    Map(_key, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        if (isAlias(key) || isMap(key) || !isScalar(key)) throw refused("has a key that is not plain text");
        const name = String(key.value);
        if (seen.has(name))
          throw refused(
            `has the key ${JSON.stringify(wellFormed(name.slice(0, limits.nameCharsMax)).text)} twice in one mapping`,
          );
        seen.add(name);
      }
    },
  });
}

/** Counts brackets without regard to quotes: generous, but it ends before the parser's recursion does, which takes seconds to fail. */
function nestedTooDeep(text: string): boolean {
  const bracketsOpenMax = 4 * limits.jsonDepthMax;
  let open = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === "[" || char === "{") {
      open += 1;
      if (open > bracketsOpenMax) return true;
    } else if ((char === "]" || char === "}") && open > 0) {
      open -= 1;
    }
  }
  return false;
}

const firstLine = (text: string): string =>
  text.slice(0, limits.errorMessageCharsMax).split("\n", 1)[0]?.replace(/:$/, "") ?? "";

function refused(what: string): SignalboxError {
  return new SignalboxError("invalid_input", `the YAML document ${what}`);
}

function yamlTooLarge(what: string, bytesMax: number): SignalboxError {
  return new SignalboxError(
    "payload_too_large",
    `the YAML document ${what} ${bytesMax} bytes; send the manifest as JSON, or make it smaller`,
    {
      details: { limit: "manifest_bytes_max", limit_bytes: bytesMax },
    },
  );
}
