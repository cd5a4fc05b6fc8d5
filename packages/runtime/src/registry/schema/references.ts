// Resolves the `$ref`s of one schema to places inside it, and bounds how they chain; nothing outside is ever looked at.
import { bounds } from "../bounds.ts";
import { isRecord, shown } from "../../document/problems.ts";
import { dialectOfAddress } from "./dialects.ts";
import type { Dialect } from "./keywords.ts";

/** One subschema; `inPlace` are the pointers of its children that look at the same value. */
export interface SchemaPlace {
  readonly keys: readonly string[];
  readonly schema: unknown;
  readonly inPlace: readonly string[];
}

/** Pointer of the schema that holds a `$ref` → pointer of its target, or the built-in meta-schema. */
export type References = ReadonlyMap<string, { readonly pointer: string } | { readonly meta: true }>;

type Refuse = (keys: readonly string[], message: string, hint?: string) => void;

export function pointerText(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

const remoteHint = "copy it into $defs and refer to it as #/$defs/name; nothing is fetched";

/** Plain names (`$anchor`; in draft-07 an `$id` that is a fragment) → pointer. */
function anchorsOf(
  places: ReadonlyMap<string, SchemaPlace>,
  dialect: Dialect,
  refuse: Refuse,
): ReadonlyMap<string, string> {
  const anchors = new Map<string, string>();
  for (const [pointer, { keys, schema }] of places) {
    if (!isRecord(schema)) continue;
    const id = schema["$id"];
    const fragment = dialect === "draft-07" && typeof id === "string" && id.startsWith("#") ? id.slice(1) : undefined;
    if (id !== undefined && keys.length > 0 && fragment === undefined) {
      refuse([...keys, "$id"], "an $id inside a schema is not accepted", "refer to places by #/$defs/name");
    }
    const anchor = dialect === "2020-12" ? schema["$anchor"] : fragment;
    if (anchor === undefined) continue;
    if (typeof anchor !== "string" || !/^[A-Za-z_][A-Za-z0-9._-]*$/.test(anchor))
      refuse(keys, `${shown(anchor)} is no anchor name`);
    else if (anchors.has(anchor)) refuse(keys, `the anchor ${shown(anchor)} exists twice`);
    else anchors.set(anchor, pointer);
  }
  return anchors;
}

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

/** The fragment of a reference into this document, or undefined for another document. */
function fragmentOf(reference: string, rootId: unknown): string | undefined {
  const at = reference.indexOf("#");
  const [address, fragment] = at === -1 ? [reference, ""] : [reference.slice(0, at), reference.slice(at + 1)];
  const own = address === "" || (typeof rootId === "string" && address === rootId.replace(/#.*$/, ""));
  return own ? decodeFragment(fragment) : undefined;
}

/** All `$ref`s resolved; what cannot be is refused. */
export function resolveReferences(
  places: ReadonlyMap<string, SchemaPlace>,
  dialect: Dialect,
  refuse: Refuse,
): References {
  const root = places.get("")?.schema;
  const rootId = isRecord(root) ? root["$id"] : undefined;
  const anchors = anchorsOf(places, dialect, refuse);
  const references = new Map<string, { pointer: string } | { meta: true }>();
  for (const [pointer, { keys, schema }] of places) {
    const reference = isRecord(schema) ? schema["$ref"] : undefined;
    if (reference === undefined) continue;
    const here = [...keys, "$ref"];
    if (typeof reference !== "string") {
      refuse(here, `must be text, not ${shown(reference)}`);
      continue;
    }
    const fragment = fragmentOf(reference, rootId);
    if (fragment === undefined) {
      const meta = dialectOfAddress(reference);
      if (meta === dialect) references.set(pointer, { meta: true });
      else refuse(here, `${shown(reference)} is not in this schema`, remoteHint);
      continue;
    }
    const target = fragment === "" || fragment.startsWith("/") ? fragment : anchors.get(fragment);
    if (target !== undefined && places.has(target)) references.set(pointer, { pointer: target });
    else refuse(here, `${shown(reference)} points at no schema of this document`, "define it under $defs");
  }
  boundChains(places, references, refuse);
  return references;
}

/**
 * Refuses references that come back to where they started without going deeper into the value, which would never
 * end, and long chains of them, which would use up the stack.
 */
function boundChains(places: ReadonlyMap<string, SchemaPlace>, references: References, refuse: Refuse): void {
  const lengths = new Map<string, number>();
  const open = new Set<string>();
  const chain = (pointer: string): number => {
    const known = lengths.get(pointer);
    if (known !== undefined) return known;
    const place = places.get(pointer);
    if (place === undefined) return 0;
    if (open.has(pointer)) {
      refuse(place.keys, "refers to itself without going deeper into the value, so checking it would never end");
      return 0;
    }
    open.add(pointer);
    const reference = references.get(pointer);
    const followed = reference !== undefined && "pointer" in reference ? 1 + chain(reference.pointer) : 0;
    const length = Math.max(followed, ...place.inPlace.map(chain));
    open.delete(pointer);
    lengths.set(pointer, length);
    return length;
  };
  for (const [pointer, { keys }] of places) {
    if (chain(pointer) > bounds.schemaRefChainMax) {
      return refuse(
        keys,
        `follows more than ${bounds.schemaRefChainMax} $refs in a row`,
        "refer to the last one directly",
      );
    }
  }
}
