// Server reflection: tells who asks which services and messages there are, from the descriptors that this program was built with.
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { toBinary } from "@bufbuild/protobuf";
import type { DescFile } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { services } from "./rpcs.ts";

/** v1 and v1alpha. Open to everybody: it says nothing that is not in the published proto files. */
export function addReflection(server: Server): void {
  const files = new Map<string, Buffer>();
  for (const { file } of services) gather(file, files);
  // The package takes what proto-loader makes; of that it looks at the descriptors alone.
  const found = { fileDescriptorProtos: [...files.values()] };
  new ReflectionService({ found } as unknown as ConstructorParameters<typeof ReflectionService>[0]).addToServer(server);
}

function gather(file: DescFile, files: Map<string, Buffer>): void {
  if (files.has(file.proto.name)) return;
  files.set(file.proto.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
  for (const dependency of file.dependencies) gather(dependency, files);
}
