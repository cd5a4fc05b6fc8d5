// Which runtime a worker dials next, and how long it waits before: every address in turn, and never a runtime in a circle without a pause.
import { backoffMs } from "./backoff.ts";

/** Whom a runtime takes in and sends away again before this has passed waits before the next dial, wherever that goes. */
const settledMs = 1_000;

export interface Dial {
  readonly address: string;
  /** A runtime that sends its workers away named it; what is refused there is not the last word. */
  readonly named: boolean;
  readonly delayMs: number;
}

export interface AddressBook {
  /** @param chance 0 to below 1 */
  next(chance: number): Dial;
  /** The runtime sends its workers away: there next, or to the next of the own addresses when it is empty. */
  sentTo(address: string): void;
  registered(nowMs: number): void;
  ended(nowMs: number): void;
  /** Nobody is let in there with this key. True when no address is left that might. */
  refused(address: string): boolean;
}

/**
 * @param addresses at least one; each `host:port`
 * @param chance 0 to below 1: where it begins, so that the workers of several replicas spread over them
 */
export function createAddressBook(addresses: readonly string[], chance: number): AddressBook {
  const own = [...new Set(addresses)];
  let at = Math.floor(chance * own.length);
  /** Since a runtime last took the worker in; below 0 before the very first. */
  let dials = -1;
  let isHasty = false;
  let named: string | undefined;
  let registeredAtMs: number | undefined;
  const refusedBy = new Set<string>();

  const take = (): string => {
    const address = own[at] ?? "";
    at = (at + 1) % own.length;
    return address;
  };
  const pauseMs = (share: number, isSent: boolean): number => {
    if (isHasty) return backoffMs(0, share);
    if (isSent && dials < own.length) return 0;
    // Once around without a pause: the address that has just failed comes last, after one.
    return dials % own.length === own.length - 1 ? backoffMs(Math.floor(dials / own.length), share) : 0;
  };
  return {
    next(share) {
      const to = named;
      const delayMs = dials < 0 ? 0 : pauseMs(share, to !== undefined);
      named = undefined;
      isHasty = false;
      dials++;
      if (to === undefined) return { address: take(), named: false, delayMs };
      const index = own.indexOf(to);
      if (index >= 0) at = (index + 1) % own.length;
      return { address: to, named: index < 0, delayMs };
    },
    sentTo(address) {
      named = address === "" ? undefined : address;
    },
    registered(nowMs) {
      registeredAtMs = nowMs;
      refusedBy.clear();
    },
    ended(nowMs) {
      if (registeredAtMs === undefined) return;
      dials = 0;
      isHasty = nowMs - registeredAtMs < settledMs;
      registeredAtMs = undefined;
    },
    refused(address) {
      refusedBy.add(address);
      return own.every((one) => refusedBy.has(one));
    },
  };
}
