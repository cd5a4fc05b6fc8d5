// Colours, which are off wherever nobody sees them.
import colors from "picocolors";
import type { Io } from "./io.ts";

export type Paint = Pick<ReturnType<typeof colors.createColors>, "bold" | "dim" | "red" | "green" | "yellow" | "cyan">;

/** NO_COLOR counts when it is set to anything but the empty text (no-color.org). */
export function paintFor(io: Pick<Io, "env">, isTTY: boolean): Paint {
  const refused = (io.env["NO_COLOR"] ?? "") !== "" || io.env["TERM"] === "dumb";
  return colors.createColors(isTTY && !refused);
}

/** A call's state in the colour of what it means for its caller. */
export function paintStatus(paint: Paint, status: string): (text: string) => string {
  if (status === "succeeded") return paint.green;
  if (["failed", "timed_out", "denied"].includes(status)) return paint.red;
  if (["indeterminate", "awaiting_approval", "cancelled"].includes(status)) return paint.yellow;
  return paint.cyan;
}
