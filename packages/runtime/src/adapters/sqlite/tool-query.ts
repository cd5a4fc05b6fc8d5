// Which tools a search is about: words anywhere in what a tool says of itself, and labels by name or by name and value.
import type { ToolQuery, ToolRecord } from "../../registry/types.ts";

function hasLabel(labels: ToolRecord["labels"], wanted: string): boolean {
  const at = wanted.indexOf("=");
  if (at < 0) return Object.hasOwn(labels, wanted);
  const name = wanted.slice(0, at);
  return Object.hasOwn(labels, name) && labels[name] === wanted.slice(at + 1);
}

/** Category and owner are compared in SQL. */
export function toolMatcher({ text, label }: ToolQuery): (record: ToolRecord) => boolean {
  const words = (text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return (record) => {
    if (label !== undefined && !hasLabel(record.labels, label)) return false;
    if (words.length === 0) return true;
    const { tool, description, category, owner, labels } = record;
    const said = [tool, description, category, owner, ...Object.entries(labels).map((pair) => pair.join("="))];
    // No word holds a line feed, so none reaches from one part into the next.
    const whole = said.join("\n").toLowerCase();
    return words.every((word) => whole.includes(word));
  };
}
