// Restate: the service that its server calls, which gives the input back. Callers go to the server's own door.
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { peerPackage, say } from "./front.ts";

interface Restate {
  readonly service: (definition: {
    readonly name: string;
    readonly handlers: Readonly<Record<string, (ctx: unknown, call: { readonly input: unknown }) => Promise<unknown>>>;
  }) => object;
  readonly endpoint: () => { bind(service: object): { http2Handler(): (request: never, response: never) => void } };
}

const { endpoint, service } = peerPackage<Restate>("@restatedev/restate-sdk");
const echo = service({
  name: "bench",
  handlers: { echo: async (_ctx, { input }) => ({ status: "succeeded", output: input }) },
});
const server = createServer(endpoint().bind(echo).http2Handler() as never);
server.listen(0, "127.0.0.1", () => say({ ready: true, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
