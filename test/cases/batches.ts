// The cases about batches of calls, their cancels, and the door of effects.
import type { Place } from "./registry.ts";

const batch = "packages/runtime/src/session/batch";
const order = `${batch}/batch.test.ts`;
const cancels = `${batch}/batch-cancel.test.ts`;
const kit = "packages/runtime/src/session/effects/kit";
const crossing = `${kit}/crossing.ts`;
const recorded = `${kit}/recorded.ts`;
const owners = `${kit}/owners.ts`;

/** The cases of effects are the kit's own, which kit.test.ts runs on both controllers. */
export const batchCases: Readonly<Record<string, readonly Place[]>> = {
  B1: [[order, "B1: two parallel calls overlap"]],
  B2: [[order, "B2: two serial calls of one key never overlap"]],
  B3: [[order, "B3: a barrier between"]],
  B4: [[order, "B4: a call that is tried again"]],
  B5: [[order, "B5: three parallel calls enter before any ends"]],
  C1: [[cancels, "C1: a call that would run 10 s"]],
  C2: [[cancels, "C2: cancelled before anything started"]],
  C10: [
    [cancels, "C10: of the last result and a cancel one wins"],
    [cancels, "C10: the same cancel twice is one cancel"],
    [cancels, "C10: a new owner who finds the cancel"],
  ],
  "grace value": [[cancels, "is 50 ms"]],
  "grace outcome": [[cancels, "a result %d ms after the cancel"]],
  "grace shared": [[cancels, "is one shared instant, not a grace per call"]],
  "grace serial": [[cancels, "is not added up over serial calls"]],
  "grace text": [[cancels, "after it: cancelled by the runtime, one text, no time"]],
  "pairs after a cancel": [[cancels, "pairs after a cancel: every start is closed once"]],
  D1: [[crossing, "a completion and a checkpoint cross the controller once each"]],
  D3: [[crossing, "a failure of the machinery comes through with its own code"]],
  D4: [[crossing, "an outcome of another kind than the effect's is refused"]],
  D6: [[recorded, "a store that forgets is refused"]],
  D8: [
    [recorded, "the same envelope is answered from the record"],
    [recorded, "another envelope is an error that names the paths"],
  ],
  D9: [[recorded, "the same key with another payload is a conflict"]],
  D10: [[recorded, "a strict replay answers what is recorded and never does anything"]],
  D11: [[recorded, "two effects that overlapped are answered by their keys"]],
  D12: [[owners, "another takes over what its owner left"]],
  D13: [[owners, "a claim that is renewed keeps others out for three times its length"]],
  D14: [[owners, "an owner whose session was taken is told to stop"]],
  D15: [[owners, "an owner that comes back after its claim ran out records nothing"]],
  D16: [[recorded, "a pause ends at the instant that was recorded"]],
  D17: [[recorded, "a whole turn is replayed without doing anything"]],
  D20: [
    [crossing, "a tool's failure is an outcome like a success"],
    [recorded, "a replay answers with a tool's success and with its failure"],
  ],
  D22: [[`${kit}/table.ts`, "const rows: readonly Row[]"]],
};
