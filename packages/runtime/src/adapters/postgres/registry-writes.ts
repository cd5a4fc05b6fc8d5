// Writes tools, their versions, and what is chosen among them.
import { unwritten } from "./unwritten.ts";
import type { WritersOf } from "./writers-of.ts";

export type RegistryWriters = WritersOf<
  "insert_tool_version" | "activate_tool" | "set_tool_status" | "put_tool_pin" | "put_project_tool" | "put_freeze" | "lift_freeze"
>;

export const registryWriters: RegistryWriters = unwritten<RegistryWriters>("registry");
