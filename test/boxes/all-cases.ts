// Every case of the kit, the escape suite included.
import { contractCases } from "./cases-contract.ts";
import { escapeCases } from "./cases-escape.ts";
import { isolationCases } from "./cases-isolation.ts";
import { limitCases } from "./cases-limits.ts";
import type { KitCase } from "./kit.ts";

export const allCases: readonly KitCase[] = [...contractCases, ...limitCases, ...isolationCases, ...escapeCases];
