// The cases about one turn of a session, as far as the turn machine alone is concerned.
import type { Place } from "./registry.ts";

const turn = "packages/runtime/src/session/turn";
const steps = `${turn}/machine-cases.test.ts`;
const walks = `${turn}/machine-random.test.ts`;
const ends = `${turn}/machine-ends.test.ts`;
const preparation = `${turn}/prepare.test.ts`;
const repeats = `${turn}/repeats.test.ts`;

export const turnCases: Readonly<Record<string, readonly Place[]>> = {
  A1: [[steps, "A1: Progress carries only what was added"]],
  A3: [[steps, "A3: Done carries what was never reported"]],
  A5: [[steps, "A5: a snapshot that waits for the model"]],
  A6: [[steps, "A6: a snapshot behind the answer asks for the checkpoint again"]],
  A8: [[steps, "A8: a success, a failure and a cancel are in the restored history once"]],
  A11: [[steps, "A11: for the model"]],
  A12: [[steps, "A12: for tools"]],
  A13: [
    [steps, "A13: for a checkpoint"],
    [steps, "A13: for people who are asked about a limit"],
  ],
  A16: [[steps, "A16: a message at the last checkpoint goes on in the same turn"]],
  E13: [["packages/runtime/src/corridor/sessions/host-events.test.ts", "E13: are told when the batch is over"]],
  "turn wrong id": [[steps, "a wrong id is ignored"]],
  "turn wrong type": [[steps, "a wrong type is ignored"]],
  "turn after Done": [[steps, "after Done every response is"]],
  "turn fuzz": [[walks, "there are never two outstanding requests"]],
  "turn replay": [[walks, "a recorded list of responses, read back from JSON, gives a byte-equal list of effects"]],
  "turn every point": [[walks, "put down and taken up again at every point, it goes on the same way"]],
  "report 001": [[ends, "report 001: after a cancel the one call has its one result"]],
  "report 002": [[ends, "report 002: four calls, one done and three cancelled"]],
  "report 007": [[ends, "report 007: the turn stays in its batch until every result is there"]],
  "report 016": [
    [ends, "report 016: the same id in a later step is a call of its own"],
    [ends, "report 016: the same id twice in one answer runs once"],
  ],
  "report 128": [[ends, "report 128: '' for a tool without parameters is {}"]],
  "report 131": [[preparation, "report 131: an unknown tool is answered with near names"]],
  "report 132": [[preparation, "report 132: a tool that exists nowhere has a result too"]],
  "report 133": [[repeats, "report 133: twelve identical calls of an unknown tool"]],
  "report 135": [
    [ends, "report 135: arguments that were cut off are told as truncated"],
    [ends, "report 135: a call that was cut off before its first argument"],
  ],
};
