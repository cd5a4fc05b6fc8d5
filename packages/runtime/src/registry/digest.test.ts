// One text per manifest, whatever way it was written; another text for every change that matters.
import { createHash } from "node:crypto";
import { parseJson } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { manifestDigest, manifestText } from "./digest.ts";
import { parseDocument } from "./yaml.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

function read(text: string): unknown {
  const parsed = parseDocument(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

const yaml = `
kind: Tool   # a comment
apiVersion: signalbox.dev/v1
spec:
  input: { required: [b, a], type: object }
  executor: { type: worker }
metadata: { version: 1.0.0, name: a }
`;
const canonical =
  '{"apiVersion":"signalbox.dev/v1","kind":"Tool","metadata":{"name":"a","version":"1.0.0"},"spec":{"executor":{"type":"worker"},"input":{"required":["b","a"],"type":"object"}}}';

test("the text is canonical JSON", () => {
  expect(manifestText(read(yaml))).toBe(canonical);
});

test("order of keys, white space and YAML or JSON make no difference", () => {
  const other = `{"metadata": {"name": "a", "version": "1.0.0"},\n\t"spec": {"executor": {"type": "worker"}, "input": {"type": "object", "required": ["b", "a"]}}, "apiVersion": "signalbox.dev/v1", "kind": "Tool"}`;
  expect(manifestDigest(read(other), sha256)).toBe(manifestDigest(read(yaml), sha256));
});

test("the order of a list does", () => {
  expect(manifestText(read(yaml.replace("[b, a]", "[a, b]")))).not.toBe(canonical);
});

test("the digest is what it was when this was written", () => {
  expect(manifestDigest(read(yaml), sha256)).toBe("619a79d995f1fcb44ae82c61a0d8c0a32829366b84416bfc4fd8514fda105b04");
});

test("a schema in a file counts with its content", () => {
  const named = read(yaml.replace("{ required: [b, a], type: object }", "{ file: in.json }"));
  expect(
    manifestText(named, (path) => (path === "in.json" ? { type: "object", required: ["b", "a"] } : undefined)),
  ).toBe(canonical);
  expect(manifestText(named, () => ({ type: "object" }))).not.toBe(canonical);
});

test("numbers past a double's precision are told apart", () => {
  const withMax = (max: string): string => {
    const parsed = parseJson(`{"spec": {"input": {"maximum": ${max}}}}`, { depthMax: 10 });
    if (!parsed.ok) throw new Error("should parse");
    return manifestText(parsed.value);
  };
  expect(withMax("9007199254740993")).toBe('{"spec":{"input":{"maximum":9007199254740993}}}');
  expect(withMax("9007199254740992")).toBe('{"spec":{"input":{"maximum":9007199254740992}}}');
});

test("what was never read has no text", () => {
  expect(() => manifestText(null)).toThrow(TypeError);
  expect(() => manifestText({ spec: [] })).toThrow(TypeError);
});
