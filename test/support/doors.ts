// The doors at which a caller reaches the runtime, for tests that must hold at each of them.
import { createGrpcRest } from "./grpc-rest.ts";
import { unknownField } from "./grpc-wire.ts";
import type { Rest } from "./rest.ts";
import type { Stack } from "./stack.ts";

export interface Door {
  readonly name: "REST" | "gRPC";
  /** Whoever holds this key, at this door. */
  as(stack: Stack, key: string): Rest;
  /** How a refusal names a field that is not known: a protobuf message has numbers for names. */
  unknownName(name: string): string;
  /** What a request takes that calls `echo` with `{"text":""}`, in bytes of its body or message. */
  readonly echoBytes: number;
}

export const doors: readonly Door[] = [
  {
    name: "REST",
    as: (stack, key) => stack.as(key),
    unknownName: (name) => name,
    echoBytes: '{"tool":"echo","input":{"text":""}}'.length,
  },
  {
    name: "gRPC",
    as: (stack, key) => createGrpcRest(stack.grpc, key, stack.as(key)),
    unknownName: () => String(unknownField),
    // Tag and length of the tool and its name; tag and length of the input, which is nearly a mebibyte; the input.
    echoBytes: 2 + 4 + 1 + 3 + '{"text":""}'.length,
  },
];
