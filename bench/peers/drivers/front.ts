// What every peer's driver needs: the peer's own packages, an HTTP door like the floor's, and a word when it is ready.
import fastify from "fastify";
import { createRequire } from "node:module";
import { join } from "node:path";

/** A package of the folder that `bench/peers/package.json` is installed into; its shape is the caller's word. */
export function peerPackage<T>(name: string): T {
  const require = createRequire(join(env("SIGNALBOX_PEERS_FOLDER"), "package.json"));
  return require(name) as T;
}

export function env(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`give ${name}`);
  return value;
}

export function say(words: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(words)}\n`);
}

/** `POST /call` with an input as JSON, answered when the peer has its output. */
export async function serveCalls(run: (input: unknown) => Promise<unknown>): Promise<void> {
  const app = fastify();
  app.post("/call", async (request, reply) => {
    const { input } = request.body as { readonly input: unknown };
    return reply.send({ status: "succeeded", output: await run(input) });
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === "string") throw new Error("the HTTP server has no port");
  say({ ready: true, url: `http://127.0.0.1:${address.port}` });
}

/** Callers that wait for an output which comes by another way. */
export class Waiters {
  readonly #waiting = new Map<string, (output: unknown) => void>();

  wait(id: string): Promise<unknown> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  tell(id: string, output: unknown): void {
    this.#waiting.get(id)?.(output);
    this.#waiting.delete(id);
  }
}

/** `server` or `worker`, as the driver was started. */
export function role(): "server" | "worker" {
  return process.argv[2] === "worker" ? "worker" : "server";
}
