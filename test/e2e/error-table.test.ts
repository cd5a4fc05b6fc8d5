// Every row of the error table that can be met in one runtime: what the caller gets when it comes to that, at each door.
import { afterAll, beforeAll, describe, test } from "vitest";
import { doors } from "../support/doors.ts";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { startStack, type Stack } from "../support/stack.ts";
import { worldAt, type World } from "./error-table/case.ts";
import { meet } from "./error-table/check.ts";
import { commonCases } from "./error-table/rows.ts";

const gates = createGates();
let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ args: ["--queue-wait", "500ms"] });
});
afterAll(() => finish(stack, gates));

describe.each(doors)("at the door $name", (door) => {
  let world: World;
  beforeAll(() => {
    world = worldAt(door, stack, gates);
  });

  test.each(commonCases.filter(({ at = door.name }) => at === door.name))("$code: $when", (row) => meet(world, row));
});
