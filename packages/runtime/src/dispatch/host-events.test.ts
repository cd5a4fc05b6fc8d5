// What a call emits: declared events are stored with it once, whatever is tried again; others are dropped, and nothing happens to the call.
import type { Emit } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { accepted, believed, HandHub, result, started } from "../../../../test/support/hand-hub.ts";
import type { Write } from "../ledger/port.ts";
import type { ToolFacts } from "./types.ts";

const facts: ToolFacts = { ...believed, events: ["paid", "seen"] };

/** c1 (safe, so it may be tried again) runs at w1. */
function running(): { hub: HandHub; w1: number } {
  const hub = new HandHub();
  const w1 = hub.connect("w1");
  hub.admit("c1", { sideEffectClass: "read_only" }, facts);
  hub.store();
  for (const message of [accepted("c1"), started("c1")]) hub.say(w1, message);
  hub.pass(100);
  hub.store();
  return { hub, w1 };
}

const emit = (ordinal: number, more: Partial<Emit> = {}, fence = 1): Emit => ({ type: "emit", callId: "c1", fence, ordinal, eventType: "paid", payloadJson: `{"n":${ordinal}}`, ...more });

/** Every unit that is handed over from here on. */
function units(hub: HandHub): (readonly Write[])[] {
  const all: (readonly Write[])[] = [];
  for (hub.gather(); hub.commits.length > 0; hub.gather()) all.push(hub.storeNext().unit.writes);
  return all;
}

const eventsIn = (writes: readonly Write[]): string[] => writes.flatMap((write) => (write.op === "put_host_event" ? [`${write.row.ordinal} ${write.row.type} ${write.row.payloadJson}`] : []));
const dropped = (hub: HandHub): string[] => hub.orders("said").flatMap(({ message }) => (message.type === "dropped_event" ? [`${message.eventType}: ${message.reason}`] : []));

describe("a declared event", () => {
  test("is in the unit that settles the call", () => {
    const { hub, w1 } = running();
    hub.say(w1, emit(1));
    hub.say(w1, emit(2, { eventType: "seen", payloadJson: '"two"' }));
    hub.say(w1, result("c1"));
    const [settling, ...more] = units(hub);
    expect(more).toEqual([]);
    expect(settling?.[0]).toMatchObject({ op: "update_call", row: { state: "succeeded" } });
    expect(eventsIn(settling ?? [])).toEqual(['1 paid {"n":1}', '2 seen "two"']);
  });

  test("of a call that goes on is stored within the time of lazy writes, and is heard of at once", () => {
    const { hub, w1 } = running();
    hub.say(w1, emit(1));
    expect(hub.orders("said").map(({ message }) => message)).toEqual([emit(1)]);
    expect(units(hub)).toEqual([]);
    hub.pass(100);
    expect(units(hub).map(eventsIn)).toEqual([['1 paid {"n":1}']]);
  });

  test("is stored once, however often it is said: the attempt that is made again counts from 1 again", () => {
    const { hub, w1 } = running();
    hub.say(w1, emit(1));
    hub.say(w1, emit(1, { payloadJson: '{"n":"again"}' }));
    hub.hub.disconnect(w1);
    hub.pass(16_000);
    const w2 = hub.connect("w2");
    expect(units(hub).flatMap(eventsIn)).toEqual(['1 paid {"n":1}']);
    for (const message of [accepted("c1", 2), started("c1", 2), emit(1, {}, 2), emit(2, {}, 2), result("c1", 2)]) hub.say(w2, message);
    expect(units(hub).flatMap(eventsIn)).toEqual(['2 paid {"n":2}']);
  });
});

describe("an event that is dropped costs the call nothing, and its stream says why", () => {
  test.each<[string, Emit, string]>([
    ["undeclared", emit(1, { eventType: "refunded" }), "refunded: the tool's manifest does not declare it under spec.events"],
    ["refused at the door", emit(1, { payloadJson: "null", refused: "payload_json has 262145 bytes, more than 262144" }), "paid: payload_json has 262145 bytes, more than 262144"],
    ["no JSON", emit(1, { payloadJson: "{n" }), "paid: its payload is no JSON that can be kept"],
    ["eventsPerCallMax: the 101st", emit(101), "paid: a call emits at most 100 events"],
  ])("%s", (_, message, said) => {
    const { hub, w1 } = running();
    hub.say(w1, message);
    expect(dropped(hub)).toEqual([said]);
    hub.say(w1, result("c1"));
    const writes = units(hub).flat();
    expect(writes[0]).toMatchObject({ op: "update_call", row: { state: "succeeded" } });
    expect(eventsIn(writes)).toEqual([]);
  });

  test("eventsPerCallMax and eventBytesPerCallMax: the last that fits is kept, and a smaller one after a too large one too", () => {
    const { hub, w1 } = running();
    const json = (bytes: number): string => `"${"x".repeat(bytes - 2)}"`;
    for (const ordinal of [1, 2, 3]) hub.say(w1, emit(ordinal, { payloadJson: json(262_144) }));
    hub.say(w1, emit(4, { payloadJson: json(262_143) }));
    hub.say(w1, emit(5, { payloadJson: json(4) }));
    hub.say(w1, emit(100, { payloadJson: "1" }));
    expect(dropped(hub)).toEqual(["paid: the events of a call have at most 1048576 bytes together"]);
    hub.say(w1, result("c1"));
    expect(units(hub).flat().flatMap((write) => (write.op === "put_host_event" ? [write.row.ordinal] : []))).toEqual([1, 2, 3, 4, 100]);
  });

  test("of a call that has ended for us while its worker went on", () => {
    const { hub, w1 } = running();
    hub.say(w1, { type: "malformed", reason: "bad", lease: { callId: "c1", fence: 1 } });
    expect(hub.call("c1").state).toBe("failed");
    hub.say(w1, emit(1));
    expect(dropped(hub)).toEqual(["paid: the call is not running any more"]);
    hub.pass(1_000);
    const ended = units(hub);
    expect(ended).toHaveLength(1);
    expect(ended.flatMap(eventsIn)).toEqual([]);
  });

  test("under an old lease it is not heard at all", () => {
    const { hub, w1 } = running();
    hub.say(w1, emit(1, {}, 7));
    expect(hub.orders("said")).toEqual([]);
    hub.say(w1, result("c1"));
    expect(units(hub).flatMap(eventsIn)).toEqual([]);
  });
});
