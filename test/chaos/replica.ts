// One runtime process of a chaos run behind two proxies that keep their addresses: it can be killed, started again, and cut off.
import { setTimeout as wait } from "node:timers/promises";
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
/** Between the end of a process that was not asked to end and its next start, as whoever keeps it running would wait. */
const againMs = 300;
const lookEveryMs = 50;

export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const [http, grpc] = [await startTcpProxy(nowhere), await startTcpProxy(nowhere)];
  const proxies: readonly TcpProxy[] = [http, grpc];
  let child: Child | undefined;
  let isUp = false;
  let lastWords = "";
  const start = (): void => {
    const started = startNode([options.bin, ...options.args], {
      cwd: options.cwd,
      ...(options.env === undefined ? {} : { env: options.env }),
    });
    child = started;
    isUp = false;
    void started.nextLine().then(
      (line) => {
        const ready = readyOf(line);
        if (child !== started || ready === undefined) return;
        http.aimAt(new URL(ready.url).host);
        grpc.aimAt(ready.grpc);
        isUp = true;
      },
      () => undefined, // killed before it had anything to say
    );
    // One whose ledger is away ends by itself, and is started again until it is there.
    void started.ended.then(async () => {
      lastWords = `${started.stdout()}${started.stderr()}`.slice(-2_000);
      await wait(againMs);
      if (child === started) start();
    });
  };
  /** Nobody starts it again. */
  const take = (): Child | undefined => {
    const taken = child;
    child = undefined;
    isUp = false;
    return taken;
  };
  start();
  return {
    url: `http://${http.address}`,
    grpc: grpc.address,
    async restart() {
      const dying = take();
      // It is dead already, and who killed it starts the next.
      if (dying === undefined) return;
      await dying.kill();
      start();
    },
    cut: () => proxies.forEach((proxy) => proxy.cut()),
    mend: () => proxies.forEach((proxy) => proxy.mend()),
    async ready(msMax) {
      const giveUp = AbortSignal.timeout(msMax);
      while (!isUp) {
        if (giveUp.aborted) throw new Error(`a runtime did not come up within ${msMax} ms: ${lastWords}`);
        await wait(lookEveryMs);
      }
    },
    async stop() {
      const leaving = take();
      if (leaving === undefined) throw new Error("the runtime is gone already");
      const timer = setTimeout(() => void leaving.kill(), stopMsMax);
      leaving.signal("SIGTERM");
      const { code, signal } = await leaving.ended;
      clearTimeout(timer);
      await Promise.all(proxies.map((proxy) => proxy.close()));
      if (code !== 0) throw new Error(`a runtime ended with ${code ?? signal}: ${leaving.stderr().slice(-2_000)}`);
    },
    async kill() {
      await take()?.kill();
      await Promise.all(proxies.map((proxy) => proxy.close()));
    },
  };
}

function readyOf(line: string): Ready | undefined {
  try {
    const said = JSON.parse(line) as Ready & { readonly ready?: boolean };
    return said.ready === true ? said : undefined;
  } catch {
    return undefined;
  }
}
