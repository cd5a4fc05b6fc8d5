// What policies said of a call, in words for a terminal.
import type { MatchedRule } from "@signalbox/client";
import type { Column } from "./table.ts";
import { plainLine } from "./text.ts";

/** The columns of a table of rules that matched. */
export const ruleColumns: readonly Column<MatchedRule>[] = [
  { title: "POLICY", cell: (rule) => `${rule.policy}@${rule.version}` },
  { title: "LEVEL", cell: (rule) => rule.level },
  { title: "SAYS", cell: (rule) => (rule.observed ? `${rule.outcome} (observed only)` : rule.outcome) },
  { title: "BECAUSE", cell: (rule) => rule.reason, shrinks: true },
];

/** `no-refunds-at-night@1.0.0 (tenant): Nobody is there to look`. */
export function ruleText({ policy, version, level, reason }: MatchedRule): string {
  return plainLine(`${policy}@${version} (${level})${reason === "" ? "" : `: ${reason}`}`);
}

/** The rules that denied; those that are only observed did not. */
export function denials(rules: readonly MatchedRule[]): readonly MatchedRule[] {
  return rules.filter(({ outcome, observed }) => outcome === "deny" && !observed);
}

/** The command that shows the first of them; undefined where no rule denied. */
export function showDenial(rules: readonly MatchedRule[]): string | undefined {
  const [first] = denials(rules);
  if (first === undefined) return undefined;
  const whose = first.level === "platform" ? " --platform" : "";
  return plainLine(`signalbox policies show ${first.policy}@${first.version}${whose}`);
}
