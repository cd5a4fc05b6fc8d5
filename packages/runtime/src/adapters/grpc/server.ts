// The gRPC server of a replica: its port, its limits and pings, its health service, and how it stops.
import { Server, ServerCredentials, logVerbosity, setLogVerbosity } from "@grpc/grpc-js";
import { limits } from "@signalbox/protocol";
import { HealthImplementation } from "grpc-health-check";

export interface GrpcServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** PEM texts. `clientCa`: only clients with a certificate of this authority get in. Without tls the port speaks plain HTTP/2. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer; readonly clientCa?: Buffer };
  /** Opens a port in clear text on loopback beside, for workers of this machine, where `tls` is given. */
  readonly loopbackToo?: boolean;
  /** Each adds its service, before the port opens. */
  readonly services: readonly ((server: Server) => void)[];
  /** Full names of services that the health service answers for, beside the whole server. */
  readonly serviceNames?: readonly string[];
}

export interface GrpcServer {
  readonly port: number;
  /** `host:port` in clear text for workers of this machine. */
  readonly loopbackAddress: string;
  /** What the health service answers; a server starts as not serving. */
  setServing(serving: boolean): void;
  /** Takes no new stream, waits for the open ones up to `waitMs`, then cuts them. */
  stop(waitMs: number): Promise<void>;
}

/** A host that vanished without a FIN is found within the sum of the two (a lease, 15 s, runs out before that). */
const keepaliveMs = 10_000;
const keepaliveTimeoutMs = 10_000;
/** Guards against one connection that opens streams without end. */
const streamsPerConnectionMax = 1_000;
/** The health service's name for the whole server. */
const wholeServer = "";
const notServing = "NOT_SERVING";

/** Rejects when the port cannot be taken; the error names it. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  // grpc-js tells stderr in its own words what this function and the streams report; its own variable still turns that on.
  if (process.env["GRPC_VERBOSITY"] === undefined) setLogVerbosity(logVerbosity.NONE);
  const server = new Server({
    "grpc.max_receive_message_length": limits.workMessageBytesMax,
    "grpc.max_send_message_length": limits.workMessageBytesMax,
    "grpc.keepalive_time_ms": keepaliveMs,
    "grpc.keepalive_timeout_ms": keepaliveTimeoutMs,
    "grpc.max_concurrent_streams": streamsPerConnectionMax,
  });
  const named = [wholeServer, ...(options.serviceNames ?? [])];
  const health = new HealthImplementation(Object.fromEntries(named.map((name) => [name, notServing])));
  const setServing = (serving: boolean): void => {
    for (const name of named) health.setStatus(name, serving ? "SERVING" : notServing);
  };
  health.addToServer(server);
  for (const add of options.services) add(server);
  const port = await bind(server, options);
  const { host, tls, loopbackToo = false } = options;
  const beside =
    tls !== undefined && loopbackToo ? await bind(server, { host: "127.0.0.1", port: 0, services: [] }) : undefined;

  let stopping: Promise<void> | undefined;
  const stop = async (waitMs: number): Promise<void> => {
    setServing(false);
    const finished = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    const timer = setTimeout(() => server.forceShutdown(), waitMs);
    await finished;
    clearTimeout(timer);
  };
  return {
    port,
    loopbackAddress: beside === undefined ? hostPort(host, port) : hostPort("127.0.0.1", beside),
    setServing,
    stop: (waitMs) => (stopping ??= stop(waitMs)),
  };
}

/** An address that means "all of them" is not one to connect to. */
function hostPort(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return reachable.includes(":") ? `[${reachable}]:${port}` : `${reachable}:${port}`;
}

function bind(server: Server, options: GrpcServerOptions): Promise<number> {
  const { host, tls } = options;
  const address = `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${options.port}`;
  const credentials =
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(
          tls.clientCa ?? null,
          [{ cert_chain: tls.cert, private_key: tls.key }],
          tls.clientCa !== undefined,
        );
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(new Error(`the gRPC port ${address} cannot be opened: ${error.message}`, { cause: error }));
    });
  });
}
