// The clock of a shared store, kept beside this machine's: replicas go by one clock, whatever their own say.
import type { Clock } from "../../corridor/ports.ts";

/** One answer of the store: what it said, and between which two instants of the clock that is kept here. */
export type StoreTime = (storeNow: number, asked: number, heard: number) => void;

/** Going back would put stored instants out of order: where it must, it goes a tenth slower for a while. */
const backMsMax = 50;

/**
 * Between two answers it goes at this machine's pace. An answer moves it only as far as it must: the store said it at some
 * instant between question and answer, so what lies inside that time is no error. After the first answer it never goes back.
 */
export function storeClock(own: Clock): { readonly clock: Clock; readonly storeTime: StoreTime } {
  let offset = 0;
  let last = 0;
  let heardOnce = false;
  const storeTime: StoreTime = (storeNow, asked, heard) => {
    const [least, most] = [storeNow - heard, storeNow - asked];
    const correction = Math.min(Math.max(0, least), most);
    offset += heardOnce ? Math.max(correction, -backMsMax) : correction;
    if (!heardOnce) last = 0;
    heardOnce = true;
  };
  const clock: Clock = {
    now: () => (last = Math.max(last, Math.floor(own.now() + offset))),
    monotonic: () => own.monotonic(),
    after: (ms, callback) => own.after(ms, callback),
  };
  return { clock, storeTime };
}
