// The doors at which a caller reaches the runtime, for tests that must hold at each of them.
import type { Rest } from "./rest.ts";
import type { Stack } from "./stack.ts";

export interface Door {
  readonly name: string;
  /** Whoever holds this key, at this door. */
  as(stack: Stack, key: string): Rest;
}

export const doors: readonly Door[] = [{ name: "REST", as: (stack, key) => stack.as(key) }];
