// Reads what a tool says about its calls at once, and names what a call has to have for itself.
import { canonicalJson, jsonDepthCeiling, parseJson } from "@signalbox/protocol";
import type { PreparedCall } from "../turn/types.ts";

/** A piece of a key's template: words as they are, or a place in the arguments. */
export type Piece = { readonly text: string } | { readonly path: readonly string[] };

export type Scheduling =
  | { readonly mode: "parallel" }
  | { readonly mode: "exclusive" }
  /** No pieces: one key for the tool. */
  | { readonly mode: "serial"; readonly pieces: readonly Piece[] };

/** Two claims conflict when either wants everything, or both want the same key; `none` conflicts with everything alone. */
export type Wanted = { readonly all: true } | { readonly all: false; readonly key: string | null };

/** What stands in a key for an argument that is not there. Brackets are no part of a template's own words. */
export const missingArgument = "(missing)";

const argumentPath = /^args(?:\.[^.{}\s]+)+$/;

function pathOf(text: string): Piece | undefined {
  const trimmed = text.trim();
  return argumentPath.test(trimmed) ? { path: trimmed.split(".").slice(1) } : undefined;
}

/** `args.account` alone is a place too, as manifests may write it. */
function piecesOf(template: string): readonly Piece[] | undefined {
  const bare = pathOf(template);
  if (bare !== undefined) return [bare];
  const pieces: Piece[] = [];
  for (const [index, part] of template.split(/(\{[^{}]*\})/).entries()) {
    if (index % 2 === 1) {
      const place = pathOf(part.slice(1, -1));
      if (place === undefined) return undefined;
      pieces.push(place);
    } else if (/[{}]/.test(part)) return undefined;
    else if (part !== "") pieces.push({ text: part });
  }
  return pieces.length === 0 ? undefined : pieces;
}

/** `parallel`, `exclusive`, `serial` or `serial(template)`, e.g. `serial({args.bank}/{args.account})`; undefined for everything else. */
export function readScheduling(text: string): Scheduling | undefined {
  if (text === "parallel" || text === "exclusive") return { mode: text };
  if (text === "serial") return { mode: "serial", pieces: [] };
  const template = /^serial\(([^()]+)\)$/.exec(text)?.[1];
  const pieces = template === undefined ? undefined : piecesOf(template);
  return pieces === undefined ? undefined : { mode: "serial", pieces };
}

function argumentsOf(argsJson: string | null): unknown {
  if (argsJson === null) return undefined;
  const parsed = parseJson(argsJson, { depthMax: jsonDepthCeiling, protoKeys: "keep" });
  return parsed.ok ? parsed.value : undefined;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[step];
  }
  return found;
}

function filled(piece: Piece, args: unknown): string {
  if ("text" in piece) return piece.text;
  const value = valueAt(args, piece.path);
  if (value === undefined) return missingArgument;
  return typeof value === "string" ? value : canonicalJson(value);
}

/**
 * What the call must have for itself while it is unfinished. Keys of templates are the same for all tools, so that two tools which
 * work on one account name it alike. A scheduling that cannot be read is taken for the strictest one.
 */
export function wantedBy(call: Pick<PreparedCall, "tool" | "scheduling" | "argsJson">): Wanted {
  const scheduling = readScheduling(call.scheduling);
  if (scheduling === undefined || scheduling.mode === "exclusive") return { all: true };
  if (scheduling.mode === "parallel") return { all: false, key: null };
  if (scheduling.pieces.length === 0) return { all: false, key: `tool ${call.tool ?? ""}` };
  const args = argumentsOf(call.argsJson);
  return { all: false, key: `key ${scheduling.pieces.map((piece) => filled(piece, args)).join("")}` };
}

export function conflict(one: Wanted, other: Wanted): boolean {
  if (one.all || other.all) return true;
  return one.key !== null && one.key === other.key;
}
