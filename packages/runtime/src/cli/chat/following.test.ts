// Reading a session across lost connections: where each connection begins, what is told of it, and when it gives up.
import { SignalboxApiError } from "@signalbox/client";
import { expect, test } from "vitest";
import { following } from "./following.ts";
import type { Told } from "./told.ts";

const event = (seq: number): Told => ({ kind: "event", seq, ts: "2026-01-31T12:00:00.000Z", type: "message", turn: 1, step: 0, data: {} });
const failure = (retryable: boolean): SignalboxApiError =>
  new SignalboxApiError({ code: retryable ? "unreachable" : "session_not_found", message: "gone", httpStatus: retryable ? 0 : 404, retryable, details: {} });

/** @param connections what each brings, and how it ends */
async function read(connections: readonly (readonly (Told | "lost" | "refused")[])[], triesMax = 3) {
  const said: string[] = [];
  let at = 0;
  const ports = {
    async *open(afterSeq: number): AsyncGenerator<Told> {
      said.push(`open after ${afterSeq}`);
      for (const one of connections[at++] ?? ["lost"]) {
        if (one === "lost" || one === "refused") throw failure(one === "lost");
        yield one;
      }
    },
    pause: async (ms: number) => void said.push(`pause ${ms}`),
    random: () => 1,
    lost: () => void said.push("lost"),
    back: () => void said.push("back"),
  };
  const place = { seq: 0 };
  try {
    for await (const told of following(ports, place, triesMax)) said.push(told.kind === "event" ? `event ${told.seq}` : told.kind);
    said.push("end");
  } catch (error) {
    said.push(`threw ${(error as SignalboxApiError).code}`);
  }
  return said;
}

test("a broken connection is gone on with behind the last event, and nothing is told twice", async () => {
  expect(await read([[event(1), event(2), "lost"], ["lost"], [event(2), event(3)]])).toEqual([
    "open after 0",
    "event 1",
    "event 2",
    "lost",
    "pause 250",
    "open after 2",
    "pause 500",
    "open after 2",
    "back",
    "event 3",
    "end",
  ]);
});

test("pauses grow to their bound, and tries in a row to theirs", async () => {
  const said = await read([[event(1), "lost"]], 8);
  expect(said.filter((line) => line.startsWith("pause"))).toEqual(["pause 250", "pause 500", "pause 1000", "pause 2000", "pause 4000", "pause 5000", "pause 5000"]);
  expect(said.at(-1)).toBe("threw unreachable");
});

test("what no other try can mend ends it at once", async () => {
  expect(await read([[event(1), "refused"]])).toEqual(["open after 0", "event 1", "threw session_not_found"]);
});
