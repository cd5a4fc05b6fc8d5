// Reads what a session tells across lost connections: each event once, with longer and longer pauses while nobody answers.
import { SignalboxApiError } from "@signalbox/client";
import type { Told } from "./told.ts";

/** Where a reader stands. */
export interface Place {
  /** Of the last event that it has. */
  seq: number;
}

export interface FollowingPorts {
  /** One connection; ends when the session has ended. */
  readonly open: (afterSeq: number) => AsyncIterable<Told>;
  /** @throws when the reader leaves */
  readonly pause: (ms: number) => Promise<void>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Told once for each time that the connection is lost. */
  readonly lost: (error: SignalboxApiError) => void;
  /** The first thing came after that. */
  readonly back: () => void;
}

export const followingBounds = { pauseMsFirst: 250, pauseMsMax: 5_000 } as const;

/**
 * @param triesMax connections in a row that bring nothing, then it gives up
 * @throws SignalboxApiError what no other try can mend
 */
export async function* following(ports: FollowingPorts, place: Place, triesMax: number): AsyncGenerator<Told, undefined> {
  let fruitless = 0;
  for (;;) {
    try {
      for await (const told of ports.open(place.seq)) {
        if (fruitless > 0) ports.back();
        fruitless = 0;
        if (told.kind === "event") {
          // A runtime that says something twice is not listened to twice.
          if (told.seq <= place.seq) continue;
          place.seq = told.seq;
        }
        yield told;
      }
      return;
    } catch (error) {
      if (!(error instanceof SignalboxApiError) || !error.retryable) throw error;
      fruitless += 1;
      if (fruitless >= triesMax) throw error;
      if (fruitless === 1) ports.lost(error);
      const most = Math.min(followingBounds.pauseMsMax, followingBounds.pauseMsFirst * 2 ** (fruitless - 1));
      await ports.pause(most * (0.5 + ports.random() / 2));
    }
  }
}
