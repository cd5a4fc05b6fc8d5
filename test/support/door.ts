// Through which door the cases of this run go: the same files run once for each.
import { doors, type Door } from "./doors.ts";

const wanted = process.env["SIGNALBOX_TEST_DOOR"] ?? "REST";

/** @throws Error when the run names a door that is none */
function found(): Door {
  const one = doors.find(({ name }) => name === wanted);
  if (one === undefined) throw new Error(`SIGNALBOX_TEST_DOOR is ${wanted}, and no door`);
  return one;
}

export const door = found();
