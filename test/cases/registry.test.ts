// Every case that is asked for has its test, and the test is there.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { cases } from "./registry.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const asked: Readonly<Record<string, readonly number[]>> = {
  "RTY-": [1, 2, 4, 6, 7, 8],
  "API-": [1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 19, 20],
  "IDM-": [1, 2, 5, 7, 8, 9, 11],
  "CCH-": [1, 3, 4, 6, 7],
  "RL-": [1, 2, 5, 7, 8],
  "QT-": [1, 2],
  "SCH-": [1, 2, 6, 7, 8, 10, 12, 13, 14, 15],
  "WRK-": [1, 2, 3, 5, 6, 7, 8],
  "AUD-": [2, 5, 6, 7, 9],
  "report ": [117, 120, 121, 123, 124, 125, 127, 181, 183, 184, 185, 191, 193, 208, 210, 215, 218, 219, 223, 224, 225, 227],
};

const named = ["F6a", "F6b", "F7a", "F7b", "report 045", "report 047", "report 053", "report 054", "report 213"];
const outages = [12, 14, 20, 50, 55, 56, 58, 64, 65, 176, 177, 195, 197, 199].map((one) => `report ${String(one).padStart(3, "0")}`);
const turns = [
  ...[1, 3, 5, 6, 8, 11, 12, 13, 16].map((one) => `A${one}`),
  "E13",
  ...["wrong id", "wrong type", "after Done", "fuzz", "replay", "every point"].map((one) => `turn ${one}`),
  ...[1, 2, 7, 16, 128, 131, 132, 133, 135].map((one) => `report ${String(one).padStart(3, "0")}`),
];
const batches = [
  ...[1, 2, 3, 4, 5].map((one) => `B${one}`),
  ...[1, 2, 10].map((one) => `C${one}`),
  ...["value", "outcome", "shared", "serial", "text"].map((one) => `grace ${one}`),
  "pairs after a cancel",
  ...[1, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 22].map((one) => `D${one}`),
];
const agents = ["A1", "A2", "A3", "A4", "A5", "A6", "H1", "H2", "B2", "B3", ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((one) => `C${one}`), "I1"].map((one) => `dispatch ${one}`);
const children = ["J3", "J4", "J5", "depth-2 recursion", "child id stable per call", "recovery resumes child at its stored version"].map((one) => `dispatch ${one}`);
const agentSessions = ["D1", "D2", "D3", "D4", "D6", "E1", "E2", "E3", "E4", "F1", "F2", "F3", "F4", "F5", "F6a", "F6b", "F7a", "F7b", "G1", "G2", "G3"].map((one) => `dispatch ${one}`);
const reports = [
  ...[3, 6, 15, 19, 25, 26, 27, 28, 29, 30, 35, 36, 37, 38, 41, 189].map((one) => `report ${String(one).padStart(3, "0")}`),
  ...[1, 4, 5, 11, 12, 13, 14].map((one) => `worst thing ${one}`),
  "B8",
  "B12",
  "B16",
  "B17",
  "E15",
  "E18",
  "dispatch B1",
];
const worst = [2, 3, 6, 7, 8, 9, 10].map((one) => `worst thing ${one}`);

test("every case has a place, and nothing else has", () => {
  const ids = Object.entries(asked).flatMap(([kind, numbers]) =>
    numbers.map((one) => `${kind}${String(one).padStart(2, "0")}`),
  );
  expect(Object.keys(cases)).toEqual([...ids, ...named, ...outages, ...worst, ...turns, ...batches, ...agents, ...children, ...agentSessions, ...reports]);
});

test.each(Object.entries(cases))("%s is where it is said to be", (_id, places) => {
  expect(places.length).toBeGreaterThan(0);
  for (const [file, title] of places) {
    expect(existsSync(`${root}${file}`), file).toBe(true);
    expect(readFileSync(`${root}${file}`, "utf8").includes(title), `${file}: ${title}`).toBe(true);
  }
});
