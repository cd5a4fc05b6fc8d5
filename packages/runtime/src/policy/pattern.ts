// The patterns by which a rule names tools, agents and principals: an exact name, or all names that begin so.

/** `*` is the open pattern with an empty beginning: every name, but not the absence of one. */
export interface Pattern {
  readonly text: string;
  readonly open: boolean;
}

const exact = /^[A-Za-z0-9_](?:[A-Za-z0-9_.:@/+-]*[A-Za-z0-9_])?$/;
const beginning = /^(?:[A-Za-z0-9_][A-Za-z0-9_.:@/+-]*)?[.:/-]$/;

/** After these a pattern may end in `*`, and a name may be cut when its patterns are looked up. */
export const separators: ReadonlySet<string> = new Set([".", ":", "/", "-"]);

export const patternHint = "a name, or one that ends in * after . : / or -, like payments.* or user:*, or * alone";

export function readPattern(text: string): Pattern | undefined {
  if (text === "*") return { text: "", open: true };
  if (text.endsWith("*")) {
    const start = text.slice(0, -1);
    return beginning.test(start) ? { text: start, open: true } : undefined;
  }
  return exact.test(text) ? { text, open: false } : undefined;
}

export function patternMatches(pattern: Pattern, name: string): boolean {
  if (!pattern.open) return pattern.text === name;
  return name.length > pattern.text.length && name.startsWith(pattern.text);
}

/** Whether every name of `inner` is one of `outer`. */
export function patternCovers(outer: Pattern, inner: Pattern): boolean {
  if (!outer.open) return !inner.open && outer.text === inner.text;
  return inner.open ? inner.text.startsWith(outer.text) : patternMatches(outer, inner.text);
}

/** Patterns as a rule writes them, ready for use; what is no pattern matches nothing. */
export function readPatterns(texts: readonly string[]): readonly Pattern[] {
  return texts.flatMap((text) => readPattern(text) ?? []);
}
