// The conformance kit for effect controllers: cases as data, to be run by any test runner.
import { crossingCases } from "./crossing.ts";
import { ownerCases } from "./owners.ts";
import { recordedCases } from "./recorded.ts";
import { tableCases } from "./table.ts";
import type { EffectCase } from "./world.ts";

/**
 * Each case makes worlds of its own and rejects with the reason where the controller falls short. A controller that remembers nothing
 * has to pass those that need nothing.
 */
export const effectControllerKit: readonly EffectCase[] = [...crossingCases, ...recordedCases, ...ownerCases, ...tableCases];
