// What a manifest's digest is taken over: one text per meaning of the document, however it was written.
import { canonicalJson } from "@signalbox/protocol";
import { fileOf, type Files } from "./manifest/schemas.ts";
import { isRecord } from "../document/problems.ts";

/**
 * The canonical text of a document that `readManifest` accepted (with the same `files`): RFC 8785, so the order of
 * keys, white space and YAML or JSON make no difference; the content of a named schema file stands in its place.
 * It is the document as written, without our defaults: they may change, and a version's digest may not.
 */
export function manifestText(document: unknown, files?: Files): string {
  if (!isRecord(document) || !isRecord(document["spec"])) throw new TypeError("not a manifest that was read");
  const { spec } = document;
  const schemas = ["input", "output"].flatMap((key): [string, unknown][] => {
    const file = fileOf(spec[key]);
    return typeof file === "string" && files !== undefined ? [[key, files(file)]] : [];
  });
  return canonicalJson({ ...document, spec: { ...spec, ...Object.fromEntries(schemas) } });
}

/** @param hash text → hex digest (SHA-256) */
export function manifestDigest(document: unknown, hash: (text: string) => string, files?: Files): string {
  return hash(manifestText(document, files));
}
