// How a run inside a guest can end, and the one line by which the guest program tells it to the box outside.

/** What a guest can use up by itself; everything else is counted by the box around it. */
export type GuestResource = "memory" | "output";

export type GuestEnd =
  /** The result's JSON text; null when the tool wrote it to descriptor 3 by itself, or wrote none. */
  | { readonly reason: "done"; readonly resultText: string | null }
  /** The tool's own failure: what went wrong, for the model or the person that wrote it. */
  | { readonly reason: "failed"; readonly message: string }
  /** A module that left with a code of its own. */
  | { readonly reason: "exited"; readonly code: number }
  | { readonly reason: "timeout" }
  | { readonly reason: "exceeded"; readonly resource: GuestResource; readonly limit: number; readonly observed: number }
  /** The guest program itself broke: nothing is known of the tool. */
  | { readonly reason: "broken"; readonly message: string };

/** What the line can tell: the ends that an exit code cannot express. */
export type ToldEnd = Extract<GuestEnd, { readonly reason: "timeout" | "exceeded" | "broken" }>;

const key = "signalbox_end";

/** The exit code of a guest that ended by a failure, a limit or its deadline. */
export const failedExitCode = 1;
/** A failure's text, on stderr: the box keeps 4 KiB of it. */
export const messageCharsMax = 4_000;

export function exitCodeOf(end: GuestEnd): number {
  if (end.reason === "done") return 0;
  return end.reason === "exited" ? end.code & 0xff : failedExitCode;
}

export function endLine(nonce: string, end: ToldEnd): string {
  return JSON.stringify({ [key]: nonce, ...end });
}

/** What the line tells, or null when it is an ordinary event line: without the nonce nobody can forge an end. */
export function readEndLine(nonce: string, line: string): ToldEnd | null {
  if (!line.startsWith(`{"${key}":${JSON.stringify(nonce)},`)) return null;
  const { [key]: _, ...told } = JSON.parse(line) as ToldEnd & { readonly [key]: string };
  return told;
}
