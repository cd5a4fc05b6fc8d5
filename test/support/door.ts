// Through which door the cases of this run go: the same files run once for each, and say here where they differ.
import { unknownField } from "./grpc-wire.ts";

export const door: "rest" | "grpc" = process.env["SIGNALBOX_TEST_DOOR"] === "grpc" ? "grpc" : "rest";

/** How a refusal names a field, or a parameter, that is not known: a protobuf message has numbers for names. */
export function unknownName(name: string): string {
  return door === "grpc" ? String(unknownField) : name;
}
