// Takes notices of approvals: checks their signatures, drops what it has seen, and prints each one.
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { isGenuine } from "./genuine.js";

const { WEBHOOK_SECRET: secret = "", RECEIVER_PORT = "8090" } = process.env;
/** In production somewhere that survives a restart; the deliveries of the last hours are enough. */
const seen = new Set();
/** A notice is small; whoever sends more is not the runtime. */
const bodyBytesMax = 64 * 1024;

/** @returns the status to answer with */
async function take(request) {
  if (request.method !== "POST" || !(Number(request.headers["content-length"]) <= bodyBytesMax)) return 400;
  const body = await buffer(request);
  if (!isGenuine(request.headers, body, secret)) return 401;
  const id = request.headers["webhook-id"];
  if (!seen.has(id)) console.log(JSON.stringify(JSON.parse(body.toString()), null, 2));
  seen.add(id);
  return 204;
}

const server = createServer((request, response) => {
  take(request).then(
    (status) => response.writeHead(status).end(),
    () => response.destroy(),
  );
});
server.listen(Number(RECEIVER_PORT), "127.0.0.1", () => console.error("waiting for notices"));
