// The conformance suite of a ledger that replicas share: who lives, who has which call, who is next, and wake-ups.
import { afterEach, describe, test } from "vitest";
import { claimCases } from "./shared-ledger-claims.ts";
import type { SharedCase, SharedStore } from "./shared-ledger-case.ts";
import { fairCases } from "./shared-ledger-fair.ts";
import { fleetCases } from "./shared-ledger-fleet.ts";
import { sharedSessionCases } from "./shared-ledger-sessions.ts";

/** @param make makes an empty store; `dispose` closes every ledger that was opened on it, and removes it */
export function sharedConformance(adapter: string, make: () => Promise<SharedStore & { dispose(): Promise<void> }>): void {
  describe(`${adapter} is a ledger that replicas share`, () => {
    let made: Awaited<ReturnType<typeof make>> | undefined;
    afterEach(async () => {
      await made?.dispose();
      made = undefined;
    });
    const sharedCase: SharedCase = (name, run) => {
      test(name, async () => {
        made = await make();
        await run(made);
      });
    };
    describe("who lives", () => fleetCases(sharedCase));
    describe("who has which call", () => claimCases(sharedCase));
    describe("who is next", () => fairCases(sharedCase));
    describe("who has which session", () => sharedSessionCases(sharedCase));
  });
}
