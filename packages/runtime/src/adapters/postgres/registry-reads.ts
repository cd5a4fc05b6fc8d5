// Reads tools, their versions, and what was chosen among them.
import type { Ledger } from "../../ledger/port.ts";
import type { Db } from "./db.ts";
import { unwritten } from "./unwritten.ts";

export type RegistryReads = Pick<
  Ledger,
  "tool" | "toolVersion" | "toolVersions" | "listTools" | "activations" | "toolPins" | "projectTools" | "freezes"
>;

export function registryReads(_db: Db): RegistryReads {
  return unwritten<RegistryReads>("registry");
}
