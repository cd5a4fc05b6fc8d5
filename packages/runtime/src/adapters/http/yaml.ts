// A YAML body as the JSON document that it stands for, read by the registry's own strict reader.
import { SignalboxError } from "@signalbox/protocol";
import { parseDocument } from "../../registry/yaml.ts";

/** @throws SignalboxError `invalid_input`; `details.problems` name line and column */
export function parseYaml(text: string): unknown {
  const parsed = parseDocument(text);
  if (parsed.ok) return parsed.value;
  const { problems } = parsed;
  const [first] = problems;
  const where = first === undefined ? "" : `: line ${first.line}: ${first.message}`;
  throw new SignalboxError("invalid_input", `the YAML document cannot be read${where}`, { details: { problems } });
}
