// One runtime process of a chaos run behind two proxies that keep their addresses: it can be killed, started again, and cut off.
import { startNode, type Child } from "../support/processes.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

export interface Replica {
  /** `http://host:port` and `host:port` that stay the same whatever becomes of the process. */
  readonly url: string;
  readonly grpc: string;
  /** SIGKILL, and another process at once; resolves when that one has been started. */
  restart(): Promise<void>;
  /** Every connection breaks, and no new one comes through until `mend`. */
  cut(): void;
  mend(): void;
  /** Resolves when the process that runs now listens. @throws Error with its words when it does not within `msMax` */
  ready(msMax: number): Promise<void>;
  /** SIGTERM. @throws Error when it does not end well */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface ReplicaOptions {
  /** After the name of the script: how this replica is started. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly bin: string;
}

interface Ready {
  readonly url: string;
  readonly grpc: string;
}

/** Nobody listens there. */
const nowhere = "127.0.0.1:1";
const stopMsMax = 45_000;

export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const [http, grpc] = [await startTcpProxy(nowhere), await startTcpProxy(nowhere)];
  const proxies: readonly TcpProxy[] = [http, grpc];
  let child: Child;
  let listening: Promise<void>;
  const start = (): void => {
    const started = startNode([options.bin, ...options.args], {
      cwd: options.cwd,
      ...(options.env === undefined ? {} : { env: options.env }),
    });
    child = started;
    listening = started.nextLine().then((line) => {
      const ready = JSON.parse(line) as Ready;
      if (child !== started) return;
      http.aimAt(new URL(ready.url).host);
      grpc.aimAt(ready.grpc);
    });
    // One that is killed before it listens says nothing; who waits for it asks `ready`.
    listening.catch(() => undefined);
  };
  start();
  return {
    url: `http://${http.address}`,
    grpc: grpc.address,
    async restart() {
      await child.kill();
      start();
    },
    cut: () => proxies.forEach((proxy) => proxy.cut()),
    mend: () => proxies.forEach((proxy) => proxy.mend()),
    async ready(msMax) {
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new Error(`a runtime did not come up within ${msMax} ms: ${child.stderr().slice(-2_000)}`)), msMax);
      try {
        await Promise.race([listening, late]);
      } finally {
        clearTimeout(timer);
      }
    },
    async stop() {
      const timer = setTimeout(() => void child.kill(), stopMsMax);
      child.signal("SIGTERM");
      const { code, signal } = await child.ended;
      clearTimeout(timer);
      await Promise.all(proxies.map((proxy) => proxy.close()));
      if (code !== 0) throw new Error(`a runtime ended with ${code ?? signal}: ${child.stderr().slice(-2_000)}`);
    },
    async kill() {
      await child.kill();
      await Promise.all(proxies.map((proxy) => proxy.close()));
    },
  };
}
