// Reads one manifest file with the schema files that it names, and knows on which line each part of it stands.
import { readFileSync, realpathSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { isMap, isScalar, isSeq, LineCounter, parseDocument as parseYaml } from "yaml";
import { fileOf } from "../../registry/manifest/schemas.ts";
import { limits } from "@signalbox/protocol";
import type { TextFiles } from "../../registry/agents/spec.ts";
import type { Files } from "../../registry/manifest/schemas.ts";
import type { Problem } from "../../document/problems.ts";
import { parseDocument } from "../../registry/yaml.ts";
import type { ManifestFile } from "./manifest-files.ts";

export interface ManifestSource {
  readonly document: unknown;
  readonly files: Files;
  /** The same files as they are, for those that are no documents. */
  readonly texts: TextFiles;
  /** Where a problem's path stands, or the closest part of it that is there; counts from 1. */
  readonly lineOf: (path: string) => number | undefined;
}

export interface PlacedProblem extends Problem {
  readonly line: number | undefined;
}

export type SourceOutcome =
  | { readonly ok: true; readonly source: ManifestSource }
  | { readonly ok: false; readonly problems: readonly PlacedProblem[] };

export async function readSource(file: ManifestFile): Promise<SourceOutcome> {
  let text: string;
  try {
    text = await readFile(file.path, "utf8");
  } catch (error) {
    const message = `cannot be read: ${(error as Error).message}`;
    return { ok: false, problems: [{ path: "", message, line: undefined }] };
  }
  const parsed = parseDocument(text);
  if (!parsed.ok) return parsed;
  return { ok: true, source: { document: parsed.value, ...filesBeside(file.path), lineOf: linesOf(text) } };
}

/** The document as it is sent: a named schema file is replaced by its content, since the runtime sees no folder. */
export function inlined({ document, files }: ManifestSource): unknown {
  const spec = member(document, "spec");
  if (typeof document !== "object" || typeof spec !== "object" || spec === null) return document;
  const schemas = ["input", "output"].flatMap((key): [string, unknown][] => {
    const name = fileOf(member(spec, key));
    const content = typeof name === "string" ? files(name) : undefined;
    return content === undefined ? [] : [[key, content]];
  });
  return { ...document, spec: { ...spec, ...Object.fromEntries(schemas) } };
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}

/** Files of the manifest's own folder; a link that leads out of it is refused. Throws as the ports allow. */
function filesBeside(manifestPath: string): Pick<ManifestSource, "files" | "texts"> {
  const folder = realpathSync(dirname(manifestPath));
  const texts: TextFiles = (name) => {
    let path: string;
    try {
      path = realpathSync(join(folder, name));
    } catch {
      return undefined;
    }
    if (!path.startsWith(folder + sep)) throw new Error("it stands outside of the manifest's folder");
    // Looked at first: a file of any size may stand there.
    if (statSync(path).size > limits.manifestBytesMax) throw new Error(`it is larger than ${limits.manifestBytesMax} bytes`);
    return readFileSync(path, "utf8");
  };
  const files: Files = (name) => {
    const text = texts(name);
    if (text === undefined) return undefined;
    const parsed = parseDocument(text);
    if (parsed.ok) return parsed.value;
    const [first] = parsed.problems;
    throw new Error(first === undefined ? "it holds no document" : `line ${first.line}: ${first.message}`);
  };
  return { files, texts };
}

/** The text has been parsed and bounded by then; this second reading is for positions only. */
function linesOf(text: string): ManifestSource["lineOf"] {
  const lines = new LineCounter();
  const { contents } = parseYaml(text, { lineCounter: lines, uniqueKeys: false, logLevel: "silent" });
  return (path) => {
    let node: unknown = contents;
    let offset: number | undefined;
    for (const step of stepsOf(path)) {
      const found = stepInto(node, step);
      if (found === undefined) break;
      node = found.node;
      offset = found.offset;
    }
    return offset === undefined ? undefined : lines.linePos(offset).line;
  };
}

function stepInto(node: unknown, step: string): { readonly node: unknown; readonly offset: number } | undefined {
  if (isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
    const start = isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
    return pair === undefined || start === undefined ? undefined : { node: pair.value, offset: start };
  }
  if (!isSeq(node) || !/^\d+$/.test(step)) return undefined;
  const item = node.items[Number(step)];
  const start = isScalar(item) || isMap(item) || isSeq(item) ? item.range?.[0] : undefined;
  return start === undefined ? undefined : { node: item, offset: start };
}

/** `spec.limits[0]["odd key"]#/properties/a` → its steps, in order. */
function stepsOf(path: string): readonly string[] {
  const hash = path.indexOf("#");
  const [names, pointer] = hash < 0 ? [path, ""] : [path.slice(0, hash), path.slice(hash + 1)];
  const steps = [...names.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g)].map(([, index, quoted, name]) =>
    quoted === undefined ? (index ?? name ?? "") : String(JSON.parse(quoted)),
  );
  const inner = pointer.split("/").slice(1);
  return [...steps, ...inner.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))];
}
