// Which completion of a script a request is answered with: told by its history alone, so that a restart plays on where it was.
import type { HistoryItem } from "../../../session/types.ts";
import type { Told } from "./templates.ts";
import type { Script, ScriptedCompletion } from "./types.ts";

export interface Chosen {
  /** Undefined: the script is over, or no branch is for this message. */
  readonly completion: ScriptedCompletion | undefined;
  /** Counts from 0, in the branch where there are branches; goes on past the end. */
  readonly position: number;
  /** Counts from 0; null where the script has no branches, or none of them matches. */
  readonly branch: number | null;
}

const isAnswer = ({ type }: HistoryItem): boolean => type === "assistant";

export function choose(script: Script, history: readonly HistoryItem[]): Chosen {
  if (script.branches === undefined) return at(script, script.completions, history.filter(isAnswer).length, null);
  const lastUser = history.findLastIndex(({ type }) => type === "user");
  const asked = history[lastUser];
  const text = asked?.type === "user" ? asked.text : "";
  const index = script.branches.findIndex(({ matches }) => matches(text));
  const position = history.slice(lastUser + 1).filter(isAnswer).length;
  return at(script, script.branches[index]?.completions ?? [], position, index < 0 ? null : index);
}

function at({ loop }: Script, completions: readonly ScriptedCompletion[], position: number, branch: number | null): Chosen {
  const index = loop && completions.length > 0 ? position % completions.length : position;
  return { completion: completions[index], position, branch };
}

export function toldBy(history: readonly HistoryItem[]): Told {
  const user = history.findLast((item) => item.type === "user");
  const results = history.findLast((item) => item.type === "results");
  return { lastUser: user?.text ?? "", results: (results?.results ?? []).map(({ text }) => text) };
}
