// Reads a page of documentation: its fenced blocks, and the comments that no reader sees and that say what proves a block.

/** A comment of the form `<!-- cut: … -->`; `word` is what stands before the colon. Lines are counted from 1. */
export interface Marker {
  readonly kind: "marker";
  readonly word: string;
  readonly text: string;
  readonly line: number;
  readonly lineEnd: number;
}

export interface Block {
  readonly kind: "block";
  /** What stands behind the opening fence, e.g. `js`. */
  readonly language: string;
  readonly lines: readonly string[];
  /** Of the opening fence. */
  readonly line: number;
  /** The marker that ends in the line before the fence. */
  readonly marker: Marker | undefined;
}

export type Part = Marker | Block;

/** Words of markers that mean something here; other comments are comments. */
const markerOpening = /^\s*<!-- (cut|out|in|run|until|needs): ?/;

/** @throws Error that names the line, where a fence or a comment is not closed */
export function readPage(text: string): readonly Part[] {
  const lines = text.split("\n");
  const parts: Part[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const fence = /^\s*(`{3,})([^`]*)$/.exec(line);
    const word = markerOpening.exec(line)?.[1];
    if (fence !== null) {
      const end = endOf(lines, at + 1, (one) => one.trim() === fence[1], `line ${at + 1}: the fence is not closed`);
      const before = parts.at(-1);
      const marker = before?.kind === "marker" && before.lineEnd === at ? before : undefined;
      const language = (fence[2] ?? "").trim();
      parts.push({ kind: "block", language, lines: lines.slice(at + 1, end), line: at + 1, marker });
      at = end;
    } else if (word !== undefined) {
      const end = endOf(lines, at, (one) => one.trimEnd().endsWith("-->"), `line ${at + 1}: the comment is not closed`);
      const said = lines
        .slice(at, end + 1)
        .join("\n")
        .replace(markerOpening, "")
        .trimEnd()
        .slice(0, -"-->".length);
      parts.push({ kind: "marker", word, text: said.trim(), line: at + 1, lineEnd: end + 1 });
      at = end;
    }
  }
  return parts;
}

function endOf(lines: readonly string[], from: number, closes: (line: string) => boolean, otherwise: string): number {
  const end = lines.findIndex((line, index) => index >= from && closes(line));
  if (end < 0) throw new Error(otherwise);
  return end;
}

/** The page with other lines inside of some of its blocks. */
export function withBlocks(text: string, changed: ReadonlyMap<Block, readonly string[]>): string {
  const lines = text.split("\n");
  for (const [block, inside] of [...changed].toSorted(([a], [b]) => b.line - a.line))
    lines.splice(block.line, block.lines.length, ...inside);
  return lines.join("\n");
}
