// The floor's worker process: sends every frame back as it came.
import { Client, credentials } from "@grpc/grpc-js";
import { readFrame, workPath, writeFrame, type Frame } from "./frames.ts";

const address = process.argv[2];
if (address === undefined) throw new Error("give the server's host:port as the argument");

const client = new Client(address, credentials.createInsecure());
const stream = client.makeBidiStreamRequest<Frame, Frame>(workPath, writeFrame, readFrame);
stream.on("data", (frame: Frame) => stream.write(frame));
stream.on("error", () => process.exit(1));
stream.on("end", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));
