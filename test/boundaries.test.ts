// The house keeps its boundaries: who imports whom, who may touch the world, and how a file is written.
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { checkCircles, checkDoors, checkManners, checkPackages, checkRooms } from "./boundaries/rules.ts";
import { readHouse, type Source } from "./boundaries/sources.ts";

const house = readHouse(fileURLToPath(new URL("..", import.meta.url)));
const runtime = "packages/runtime/src";

/** One made-up file. */
const file = (path: string, text: string): Source => ({ path, text });

describe("the house as it stands", () => {
  test("is seen", () => {
    const packages = new Set(house.map(({ path }) => path.split("/")[1]));
    expect([...packages].sort()).toEqual(["client", "protocol", "runtime", "worker"]);
    const rooms = [
      "adapters",
      "call",
      "cli",
      "corridor",
      "dispatch",
      "document",
      "ledger",
      "policy",
      "registry",
      "schedule",
      "tenancy",
    ];
    const seen = rooms.filter((room) => house.some(({ path }) => path.startsWith(`${runtime}/${room}/`)));
    expect(seen).toEqual(rooms);
    expect(house.length).toBeGreaterThan(60);
  });

  test.each([
    ["packages", checkPackages],
    ["rooms", checkRooms],
    ["doors", checkDoors],
    ["circles", checkCircles],
    ["manners", checkManners],
  ])("keeps its %s", (_, check) => {
    expect(check(house)).toEqual([]);
  });
});

describe("each rule goes red", () => {
  test.each([
    ["packages/protocol/src/a.ts", "@signalbox/worker", "protocol may not import @signalbox/worker"],
    ["packages/client/src/a.ts", "@signalbox/worker", "client may not import @signalbox/worker"],
    ["packages/client/src/a.ts", "@signalbox/protocol", "client may import @signalbox/protocol by import type only"],
    ["packages/worker/src/a.ts", "@signalbox/client", "worker may not import @signalbox/client"],
    [`${runtime}/adapters/a.ts`, "@signalbox/client", "runtime may not import @signalbox/client"],
    [`${runtime}/cli/a.ts`, "@signalbox/protocol/dist/ids.js", `imports "@signalbox/protocol/dist/ids.js"`],
    ["packages/client/src/a.ts", "@signalbox/protocol/v1/admin", `imports "@signalbox/protocol/v1/admin"`],
    [`${runtime}/adapters/http/a.ts`, "@signalbox/protocol/v1/admin", `imports "@signalbox/protocol/v1/admin"`],
    [
      `${runtime}/call/a.ts`,
      "../../../protocol/src/ids.ts",
      `reaches out of its package by "../../../protocol/src/ids.ts"`,
    ],
  ])("packages: %s imports %s", (path, name, breach) => {
    const sources = [file(path, `import { x } from "${name}";`)];
    expect(checkPackages(sources)).toEqual([expect.stringContaining(`${path}: ${breach}`)]);
  });

  test.each([
    ["policy/a.ts", `import { x } from "../call/step.ts";`, "stage policy may not import stage call"],
    ["policy/a.ts", `import type { X } from "../ledger/audit-chain.ts";`, "stage policy may not import stage ledger"],
    [
      "policy/a.ts",
      `import { x } from "../ledger/port.ts";`,
      "stage policy may not import stage ledger but by import type",
    ],
    ["call/a.ts", `import { x } from "../dispatch/hub.ts";`, "stage call may not import stage dispatch"],
    [
      "policy/a.ts",
      `export { x } from "../registry/types.ts";`,
      "stage policy may not import stage registry but by import type",
    ],
    [
      "policy/a.ts",
      `import { type X } from "../tenancy/types.ts";`,
      "stage policy may not import stage tenancy but by import type",
    ],
    [
      "policy/a.ts",
      `const x = await import("../adapters/clock/clock.ts");`,
      "an arrow upward, from policy to adapters",
    ],
    ["document/a.ts", `import { x } from "../policy/set.ts";`, "an arrow upward, from document to policy"],
    ["runtime.ts", `import "./compose.ts";`, "an arrow upward, from runtime.ts to compose.ts"],
    ["adapters/a.ts", `import * as x from "../cli/main.ts";`, "an arrow upward, from adapters to cli"],
    ["helpers/a.ts", `import { x } from "../call/types.ts";`, "the table of floors lacks helpers"],
  ])("rooms: %s says %s", (path, text, breach) => {
    expect(checkRooms([file(`${runtime}/${path}`, text)])).toEqual([`${runtime}/${path}: ${breach}`]);
  });

  test("rooms: what is allowed stays green", () => {
    const text = `import { isTerminal } from "../call/types.ts";\nimport type { Key } from "../tenancy/types.ts";\nimport { x } from "./b.ts";`;
    expect(checkRooms([file(`${runtime}/ledger/port.ts`, text)])).toEqual([]);
    expect(checkRooms([file(`${runtime}/policy/a.ts`, `import { refuse } from "../document/problems.ts";`)])).toEqual(
      [],
    );
    expect(checkRooms([file(`${runtime}/adapters/a.ts`, `import { step } from "../call/step.ts";`)])).toEqual([]);
  });

  test.each([
    ["process.exit(1)", "process"],
    ["console.log(1)", "console"],
    ["Date.now()", "Date.now"],
    ["new Date()", "new Date()"],
    ["Math.random()", "Math.random"],
    ["setTimeout(f, 1)", "setTimeout"],
    ["const later = setInterval", "setInterval"],
    ["performance.now()", "performance"],
    ["AbortSignal.timeout(5)", "AbortSignal.timeout"],
    ["`${crypto.randomUUID()}`", "crypto.randomUUID"],
    [`import { readFile } from "node:fs/promises"`, "node:fs/promises"],
    [`import { createHash } from "node:crypto"`, "node:crypto"],
    [`import { Ajv } from "ajv"`, "ajv"],
  ])("doors: %s", (text, word) => {
    const inside = file(`${runtime}/policy/a.ts`, text);
    expect(checkDoors([inside])).toEqual([`${inside.path}: says "${word}" and is no door; take it as an argument`]);
    expect(checkDoors([file(`${runtime}/adapters/clock/a.ts`, text)])).toEqual([]);
    expect(checkDoors([file(`${runtime}/policy/a.test.ts`, text)])).toEqual([]);
  });

  test("doors: comments, strings and foreign members say nothing; a door that is ajar opens no further", () => {
    const quiet = `// console.log\n/* setTimeout */ const a = "process.exit"; clock.setTimeout(f); new Date(0); call.process.x;`;
    expect(checkDoors([file("packages/worker/src/a.ts", quiet)])).toEqual([]);
    expect(checkDoors([file(`${runtime}/config.ts`, "process.env.HOME; process.env;")])).toEqual([]);
    expect(checkDoors([file(`${runtime}/config.ts`, "process.argv")])).toHaveLength(1);
    expect(checkDoors([file("packages/worker/src/worker.ts", `process.once("SIGTERM", f)`)])).toEqual([]);
    expect(checkDoors([file("packages/worker/src/worker.ts", "process.exit()")])).toHaveLength(1);
  });

  test("circles", () => {
    const sources = [
      file("packages/worker/src/a.ts", `import { b } from "./b.ts";`),
      file("packages/worker/src/b.ts", `import type { C } from "./in/c.ts";`),
      file("packages/worker/src/in/c.ts", `export { a } from "../a.ts";`),
    ];
    const circle =
      "packages/worker/src/a.ts → packages/worker/src/b.ts → packages/worker/src/in/c.ts → packages/worker/src/a.ts";
    expect(checkCircles(sources)).toEqual([`packages/worker/src/a.ts: a circle, ${circle}`]);
    expect(checkCircles(sources.slice(0, 2))).toEqual([]);
  });

  test.each([
    ["a.ts", `${"// A sentence.\n"}${"x;\n".repeat(500)}`, "has 501 lines, more than 500"],
    ["a.ts", "export const a = 1;\n", "does not open with a // sentence"],
    ["a.ts", "// no full stop\nexport const a = 1;\n", "does not open with a // sentence"],
    ["a.ts", `// A sentence.\nexport * from "./b.ts";\n`, "says export *; name what is exported"],
    ["a.ts", "// A sentence.\nexport default 1;\n", "has a default export"],
    ["a.ts", "// A sentence.\nexport { a as default };\n", "has a default export"],
    ["utils/a.ts", "// A sentence.\n", "is called utils; name it after what it does"],
  ])("manners: %s, %j", (path, text, breach) => {
    expect(checkManners([file(path, text)])).toEqual([`${path}: ${breach}`]);
  });

  test("manners: a sentence over two lines, and 500 lines, are good", () => {
    const text = `// Says what the file\n// is for.\n${"x;\n".repeat(498)}`;
    expect(checkManners([file("a.ts", text)])).toEqual([]);
  });
});
