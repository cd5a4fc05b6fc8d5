// Who knows nothing of the runtime but its address can ask which services there are, call one, and ask whether they serve.
import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "vitest";
import { openGrpcDoor } from "../../../../../../test/support/grpc-door.ts";
import type { GrpcCaller } from "../../../../../../test/support/grpc-caller.ts";

/** One question of `grpc.reflection`: 3 is a file by name, 4 the file with a symbol, 7 the list of services. */
async function ask(caller: GrpcCaller, version: string, field: number, text: string): Promise<[number, Uint8Array][]> {
  const request = new BinaryWriter().tag(field, WireType.LengthDelimited).string(text).finish();
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const [answer] = (await caller.ask(path, [request])).messages;
  return fieldsOf(answer ?? new Uint8Array());
}

function fieldsOf(bytes: Uint8Array): [number, Uint8Array][] {
  const reader = new BinaryReader(bytes);
  const fields: [number, Uint8Array][] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    fields.push([number, type === WireType.LengthDelimited ? reader.bytes() : reader.skip(type, number)]);
  }
  return fields;
}

const inField = (fields: readonly [number, Uint8Array][], wanted: number): Uint8Array[] =>
  fields.flatMap(([number, bytes]) => (number === wanted ? [bytes] : []));
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

describe.each(["v1", "v1alpha"])("reflection %s", (version) => {
  test("lists the services for callers, without a credential", async () => {
    const { caller } = await openGrpcDoor();
    const [list] = inField(await ask(caller, version, 7, "*"), 6);
    const names = inField(fieldsOf(list ?? new Uint8Array()), 1).map((service) =>
      text(inField(fieldsOf(service), 1)[0]),
    );
    expect(names).toEqual(
      expect.arrayContaining(
        ["ToolRuntime", "Approvals", "Policies", "Registry", "Admin"].map((name) => `signalbox.v1.${name}`),
      ),
    );
  });

  test("gives files from which a stranger can make a request and read the answer", async () => {
    const { caller } = await openGrpcDoor();
    const found: File[] = [];
    const take = async (field: number, name: string): Promise<void> => {
      const [answer] = inField(await ask(caller, version, field, name), 4);
      for (const bytes of inField(fieldsOf(answer ?? new Uint8Array()), 1)) {
        const file = fromBinary(FileDescriptorProtoSchema, bytes);
        if (found.some((one) => one.name === file.name)) continue;
        found.push(file);
        // An answer need not have all that its files import.
        for (const needed of file.dependency) if (!found.some((one) => one.name === needed)) await take(3, needed);
      }
    };
    await take(4, "signalbox.v1.Admin");
    const files = createFileRegistry(create(FileDescriptorSetSchema, { file: inOrder(found) }));
    const method = files.getService("signalbox.v1.Admin")?.methods.find(({ name }) => name === "GetStatus");
    if (method === undefined) throw new Error("the service has its rpcs");
    const { messages } = await caller.ask(
      "/signalbox.v1.Admin/GetStatus",
      [toBinary(method.input, create(method.input))],
      { metadata: { authorization: "Bearer alice-token" } },
    );
    expect(fromBinary(method.output, messages[0] ?? new Uint8Array())).toMatchObject({ replica: "r1", ready: true });
  });

  test("says of what it does not know that it does not", async () => {
    const { caller } = await openGrpcDoor();
    const [error] = inField(await ask(caller, version, 4, "signalbox.v1.Nothing"), 7);
    expect(text(inField(fieldsOf(error ?? new Uint8Array()), 2)[0])).toContain("signalbox.v1.Nothing");
  });
});

type File = ReturnType<typeof create<typeof FileDescriptorProtoSchema>>;

/** Each file behind those that it needs. */
function inOrder(files: readonly File[]): File[] {
  const done: File[] = [];
  const add = (file: File): void => {
    if (done.includes(file)) return;
    for (const name of file.dependency) for (const one of files) if (one.name === name) add(one);
    done.push(file);
  };
  for (const file of files) add(file);
  return done;
}

test("health answers for every service, and they serve when the runtime says so", async () => {
  const { caller, door, server } = await openGrpcDoor();
  const health = async (service: string): Promise<unknown> => {
    const request = new BinaryWriter().tag(1, WireType.LengthDelimited).string(service).finish();
    const { messages, status } = await caller.ask("/grpc.health.v1.Health/Check", [request]);
    return messages[0] === undefined ? status.code : [...messages[0]];
  };
  const serving = [0x08, 1];
  const notServing = [0x08, 2];
  expect(door.serviceNames).toContain("signalbox.v1.ToolRuntime");
  for (const name of ["", ...door.serviceNames]) expect([name, await health(name)]).toEqual([name, notServing]);
  server.setServing(true);
  for (const name of ["", ...door.serviceNames]) expect([name, await health(name)]).toEqual([name, serving]);
  expect(await health("signalbox.v1.Nothing")).toBe(5);
});
