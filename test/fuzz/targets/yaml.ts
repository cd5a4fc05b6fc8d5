// The YAML reader of manifests and policies: whatever the text, plain JSON within its bounds or a problem with its place, and soon.
import { limits, parseJson, toPlain } from "@signalbox/protocol";
import { shapeProblem } from "../../../packages/runtime/src/document/json-shape.ts";
import { readManifest } from "../../../packages/runtime/src/registry/manifest.ts";
import { bounds } from "../../../packages/runtime/src/registry/bounds.ts";
import { parseDocument } from "../../../packages/runtime/src/registry/yaml.ts";
import { spoiltText } from "../mutate.ts";
import { target, within } from "../target.ts";

const good = [
  `apiVersion: signalbox.dev/v1
kind: Tool
metadata: { name: payments.charge, version: 1.2.0, owner: team-pay, description: Charges, labels: { team: pay } }
spec:
  executor: { type: worker }
  input: &schema
    type: object
    properties: { amount: { type: number, minimum: 0 }, note: { type: string } }
  output: *schema
  side_effect_class: non_idempotent_write
  timeout: 20s
  permissions:
    - net:egress:api.example.com:443 # by name
`,
  'a: |\n  text\n  more\nb: >-\n  folded\nc: "\\u00e9\\x41"\nd: \'it\'\'s\'\n? [k]\n: v\n',
  "- 1\n- 0x1F\n- 1_000\n- 1e3\n- .inf\n- ~\n- yes\n- 2026-01-31\n- 12345678901234567890\n",
  '{"a": [1, {"b": null}], "__proto__": 1}',
  "a: &a [1]\nb: [*a, *a]\n<<: *a\n",
  "--- !!map\na: !!binary aGk=\n...\n---\nb: 1\n",
];

const cpuMsMax = 2_000;

export const yamlTarget = target<string>({
  name: "yaml",
  about: "the reader of manifests and policies in YAML",
  async open() {
    return {
      // What is no text does not get past the door.
      inputs: spoiltText(good).map((text) => text.toWellFormed()),
      check: (text) => within(cpuMsMax, () => checkReading(text)),
      write: (text) => Buffer.from(text),
      read: (bytes) => Buffer.from(bytes).toString(),
      close: async () => undefined,
    };
  },
});

function checkReading(text: string): void {
  const read = parseDocument(text);
  if (!read.ok) {
    const [first] = read.problems;
    if (first === undefined) throw new Error("is refused without a problem");
    for (const { line, column, message } of read.problems)
      if (line < 1 || column < 1 || message === "") throw new Error(`a problem without a place: ${line}:${column} ${message}`);
    return;
  }
  const shape = shapeProblem(read.value, { depthMax: bounds.manifestDepthMax, valuesMax: bounds.manifestValuesMax });
  // Half a character, or a number beyond every double, is left to whoever reads the document; its size is not.
  if (shape !== undefined && /nested|more than/.test(shape.message)) throw new Error(`is no plain JSON within its bounds: ${shape.message}`);
  // Whoever sends JSON gets what JSON means.
  const json = parseJson(text, { depthMax: limits.jsonDepthMax, protoKeys: "keep", duplicateKeys: "refuse" });
  // As doubles, written out: YAML has no digits beyond them, and no minus at a zero.
  if (json.ok && asDoubles(json.value) !== asDoubles(read.value)) throw new Error("is another value than the JSON that it is");
  const outcome = readManifest(read.value);
  if (outcome.ok && shape !== undefined) throw new Error(`a manifest is taken that ${shape.message}`);
  if (!outcome.ok && outcome.problems.length === 0) throw new Error("a manifest is refused without a problem");
}

const asDoubles = (value: unknown): string => JSON.stringify(toPlain(value));
