// A proxy in front of PostgreSQL that knows its messages: loses the answer to a commit, or the commit itself, or notifications.
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** What becomes of the next COMMIT: its answer is lost, or it never arrives. The connection is cut then. */
export type Loss = "answer" | "commit";

export interface PgProxy {
  /** `host:port` to dial. */
  readonly address: string;
  /** Of the next COMMIT that passes. Resolves when its connection is cut. */
  loseNext(loss: Loss): Promise<void>;
  /** Notifications do not come through any more, as behind a pooler that hands connections on. */
  deafen(): void;
  /** Breaks every connection; new ones are refused until {@link mend}. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

const commit = Buffer.from("COMMIT\0");
const notification = "A".charCodeAt(0);

interface Armed {
  readonly loss: Loss;
  readonly done: () => void;
}

export async function startPgProxy(target: string): Promise<PgProxy> {
  const sockets = new Set<Socket>();
  let armed: Armed | undefined;
  let closed = false;
  let deaf = false;
  const [host = "", port = ""] = target.split(":");
  const server = createServer((near) => {
    near.on("error", () => near.destroy());
    if (closed) return void near.destroy();
    const far = connect(Number(port), host);
    const end = (): void => {
      near.destroy();
      far.destroy();
      sockets.delete(near);
      sockets.delete(far);
    };
    sockets.add(near).add(far);
    far.on("error", end).on("close", end);
    near.on("close", end);
    let losing: Armed | undefined;
    near.on("data", (chunk: Buffer) => {
      if (armed !== undefined && chunk.includes(commit)) {
        [losing, armed] = [armed, undefined];
        if (losing.loss === "commit") {
          end();
          losing.done();
          return;
        }
      }
      far.write(chunk);
    });
    const hears = withoutNotifications((bytes) => near.write(bytes));
    far.on("data", (chunk: Buffer) => {
      if (losing === undefined) return deaf ? hears(chunk) : void near.write(chunk);
      // The server has done it, and said so to nobody.
      end();
      losing.done();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseNext: (loss) => new Promise((done) => (armed = { loss, done })),
    deafen() {
      deaf = true;
      breakAll();
    },
    cut() {
      closed = true;
      breakAll();
    },
    mend() {
      closed = false;
    },
    async close() {
      closed = true;
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Passes on whole messages of the server, but for notifications. Of a connection without TLS. */
function withoutNotifications(pass: (bytes: Buffer) => void): (chunk: Buffer) => void {
  let held = Buffer.alloc(0);
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 5) {
      const length = 1 + held.readInt32BE(1);
      if (held.length < length) return;
      if (held[0] !== notification) pass(held.subarray(0, length));
      held = held.subarray(length);
    }
  };
}
