// The error table as a whole: every row is met by a test or has a reason why it cannot be, and the page about it says the same.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { errorTable, type ErrorCode } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { readHouse, withoutComments } from "./boundaries/sources.ts";
import { allCases, unreached } from "./e2e/error-table/rows.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const codes = Object.keys(errorTable) as ErrorCode[];

test("every row of the error table is met by a test, or has a reason why it cannot be", () => {
  const met = new Set<string>(allCases.map(({ code }) => code));
  const overGrpc = new Set<string>(allCases.filter(({ at = "gRPC" }) => at === "gRPC").map(({ code }) => code));
  expect(codes.filter((code) => !met.has(code) && unreached[code] === undefined)).toEqual([]);
  expect(Object.keys(unreached).filter((code) => met.has(code))).toEqual([]);
  // Whoever calls a method that there is not hears gRPC's own words for it.
  expect([...met].filter((code) => !overGrpc.has(code))).toEqual(["route_not_found"]);
});

test("no source says a code that no test meets", () => {
  const sources = readHouse(root).filter(
    ({ path }) => !path.endsWith(".test.ts") && path !== "packages/protocol/src/errors.ts",
  );
  const saying = Object.keys(unreached).flatMap((code) =>
    sources.filter(({ text }) => withoutComments(text).includes(`"${code}"`)).map(({ path }) => `${path}: ${code}`),
  );
  expect(saying).toEqual([]);
});

/** By the numbers of the gRPC specification. */
const grpcNames: Readonly<Record<number, string>> = {
  1: "CANCELLED",
  2: "UNKNOWN",
  3: "INVALID_ARGUMENT",
  4: "DEADLINE_EXCEEDED",
  5: "NOT_FOUND",
  6: "ALREADY_EXISTS",
  7: "PERMISSION_DENIED",
  8: "RESOURCE_EXHAUSTED",
  10: "ABORTED",
  13: "INTERNAL",
  14: "UNAVAILABLE",
  16: "UNAUTHENTICATED",
};

test("docs/errors.md has every row once, with the statuses of the table, and says when it happens", () => {
  const page = readFileSync(`${root}/docs/errors.md`, "utf8");
  const told = [...page.matchAll(/^\| `(\w+)` \|(.*)\|$/gm)].map(([, code = "", rest = ""]) => {
    const [http, grpc, retryable, when = ""] = rest.split(" | ").map((cell) => cell.trim());
    expect(when, code).toMatch(/\w{3}/);
    return [code, http, grpc, retryable].join(" ");
  });
  const rows = codes.map((code) => {
    const { http, grpc, retryable } = errorTable[code];
    return [code, http, grpcNames[grpc], retryable ? "yes" : "no"].join(" ");
  });
  expect(told.toSorted()).toEqual(rows.toSorted());
});
