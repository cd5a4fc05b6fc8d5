// Says on a terminal that something is still going on, for work that takes longer than a moment.
import type { Io } from "./io.ts";
import { durationText } from "./times.ts";

const eraseLine = "\r\u001b[2K";
const tickMs = 1_000;

/** Shows `text`, as it is then, and the time so far on one line of stderr, on a terminal only, and wipes it off at the end. */
export async function withProgress<T>(io: Io, text: string | (() => string), work: () => Promise<T>): Promise<T> {
  if (!io.errIsTTY) return work();
  const startedAt = io.now();
  let shown = false;
  const show = (): void => {
    shown = true;
    io.stderr.write(`${eraseLine}${typeof text === "string" ? text : text()} … ${durationText(io.now() - startedAt)}`);
  };
  let ticking: NodeJS.Timeout | undefined;
  const first = setTimeout(() => {
    show();
    ticking = setInterval(show, tickMs);
  }, io.delays.progressAfterMs);
  try {
    return await work();
  } finally {
    clearTimeout(first);
    clearInterval(ticking);
    if (shown) io.stderr.write(eraseLine);
  }
}
