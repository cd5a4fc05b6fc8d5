// Colours, which are off wherever nobody sees them.
import colors from "picocolors";
import type { Io } from "./io.ts";

export type Paint = Pick<ReturnType<typeof colors.createColors>, "bold" | "dim" | "red" | "green" | "yellow" | "cyan">;

/**
 * FORCE_COLOR decides where it is set, as in Node: `0` or `false` is no colour, anything else is colour, for pipes too.
 * Else NO_COLOR counts when it is set to anything but the empty text (no-color.org).
 */
export function paintFor(io: Pick<Io, "env">, isTTY: boolean): Paint {
  const { FORCE_COLOR: forced, NO_COLOR: refused = "", TERM: terminal } = io.env;
  if (forced !== undefined) return colors.createColors(forced !== "0" && forced !== "false");
  return colors.createColors(isTTY && refused === "" && terminal !== "dumb");
}

/** The same surroundings, without colours whatever the environment says. */
export function withoutColour(io: Io): Io {
  return { ...io, env: { ...io.env, FORCE_COLOR: "0" } };
}

/** A call's state in the colour of what it means for its caller. */
export function paintStatus(paint: Paint, status: string): (text: string) => string {
  if (status === "succeeded") return paint.green;
  if (["failed", "timed_out", "denied"].includes(status)) return paint.red;
  if (["indeterminate", "awaiting_approval", "cancelled"].includes(status)) return paint.yellow;
  return paint.cyan;
}
