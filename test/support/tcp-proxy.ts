// A TCP proxy in front of the runtime: cuts connections, also idle ones, freezes them without a word, and follows a runtime that moves.
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { Transform } from "node:stream";
import { frameReader } from "./h2-frames.ts";

export interface TcpProxy {
  /** `host:port` to dial; stays the same whatever happens behind it. */
  readonly address: string;
  /** New connections go there from now on: `host:port`. */
  aimAt(target: string): void;
  /** Breaks every connection and refuses new ones. */
  cut(): void;
  /** Of the next connection: breaks it when so many bytes of answers have passed, wherever in an answer that is. */
  cutNextAfter(answerBytes: number): void;
  /**
   * Connections from now on are broken when their answers stand still for so long, as a load balancer does. Of HTTP/2 only what
   * is said on a stream counts: such a balancer answers pings itself. Without an argument none is broken any more, old ones included.
   */
  cutIdle(after?: { readonly idleMs: number; readonly http2: boolean }): void;
  /** Resolves once so many connections in all were broken for standing still. */
  idleCuts(count: number): Promise<void>;
  readonly idleCutsSoFar: number;
  /** Nothing passes any more and nobody is told: a host that vanished. New connections are accepted and stay silent. */
  freeze(): void;
  /** Lets new connections through again after `cut` or `freeze`; frozen ones are broken. */
  mend(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket | undefined;
}

export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  let mode: "open" | "cut" | "frozen" = "open";
  let [host, port] = hostPort(target);
  let nextEndsAfter: number | undefined;
  let idle: { readonly idleMs: number; readonly http2: boolean } | undefined;
  const idleCuts = countUp();
  const watches = new Set<() => void>();
  const server = createServer((near) => {
    near.on("error", () => near.destroy());
    if (mode === "cut") return void near.destroy();
    if (mode === "frozen") return void pairs.add({ near: near.pause(), far: undefined });
    const far = connect(port, host);
    const pair = { near, far };
    pairs.add(pair);
    const end = (): void => {
      near.destroy();
      far.destroy();
      pairs.delete(pair);
    };
    far.on("error", end).on("close", end);
    near.on("close", end);
    if (idle !== undefined) {
      const cut = (): void => {
        end();
        idleCuts.add();
      };
      const stop = watchAnswers(far, idle, cut);
      watches.add(stop);
      near.on("close", () => {
        stop();
        watches.delete(stop);
      });
    }
    near.pipe(far);
    if (nextEndsAfter === undefined) far.pipe(near);
    else far.pipe(onlyFirst(nextEndsAfter, end)).pipe(near);
    nextEndsAfter = undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const breakAll = (): void => {
    for (const { near, far } of pairs) {
      near.destroy();
      far?.destroy();
    }
    pairs.clear();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    aimAt(next) {
      [host, port] = hostPort(next);
    },
    cut() {
      mode = "cut";
      breakAll();
    },
    cutNextAfter(answerBytes) {
      nextEndsAfter = answerBytes;
    },
    cutIdle(after) {
      idle = after;
      if (after === undefined) for (const stop of watches) stop();
    },
    idleCuts: (count) => idleCuts.reached(count),
    get idleCutsSoFar() {
      return idleCuts.soFar();
    },
    freeze() {
      mode = "frozen";
      for (const { near, far } of pairs) {
        near.unpipe();
        near.pause();
        far?.unpipe();
        far?.pause();
      }
    },
    mend() {
      if (mode === "frozen") breakAll();
      mode = "open";
    },
    async close() {
      mode = "cut";
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns what stops the watch. */
function watchAnswers(far: Socket, { idleMs, http2 }: { readonly idleMs: number; readonly http2: boolean }, cut: () => void): () => void {
  let stopped = false;
  const timer = setTimeout(cut, idleMs);
  const alive = (): void => void (stopped || timer.refresh());
  if (http2) far.on("data", frameReader((kind) => void (kind === "on_a_stream" && alive())));
  else far.on("data", alive);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

function countUp() {
  let count = 0;
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  return {
    soFar: () => count,
    add() {
      count += 1;
      for (const one of waiting) if (one.count <= count) one.resolve();
    },
    reached: (wanted: number): Promise<void> =>
      new Promise((resolve) => (count >= wanted ? resolve() : waiting.push({ count: wanted, resolve }))),
  };
}

/** Lets so many bytes through, then calls back and lets nothing more through. */
function onlyFirst(bytes: number, onEnd: () => void): Transform {
  let left = bytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const passing = chunk.subarray(0, left);
      left -= passing.length;
      if (left > 0) return done(null, passing);
      this.push(passing);
      // What was pushed reaches the socket before it is broken.
      setImmediate(onEnd);
    },
  });
}

function hostPort(address: string): [host: string, port: number] {
  const at = address.lastIndexOf(":");
  return [address.slice(0, at), Number(address.slice(at + 1))];
}
