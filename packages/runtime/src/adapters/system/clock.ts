// The machine's clocks and timers behind the corridor's port.
import type { Clock } from "../../corridor/ports.ts";

/** Node's timers wrap above this; a longer wait is cut and asked for again by whoever waits. */
const timerMsMax = 2 ** 31 - 1;

/**
 * Wall clock that never goes back inside one process, so that stored instants stay in order when the host's clock is set.
 * It goes on at the monotonic clock's pace then: standing still would hold back every deadline for as long as the clock was set back.
 */
export function systemClock(): Clock {
  let last = 0;
  let lastMonotonic = performance.now();
  return {
    now() {
      const monotonic = performance.now();
      last = Math.max(Date.now(), last + monotonic - lastMonotonic);
      lastMonotonic = monotonic;
      return Math.floor(last);
    },
    monotonic: () => performance.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, Math.min(ms, timerMsMax));
      return () => clearTimeout(timer);
    },
  };
}
