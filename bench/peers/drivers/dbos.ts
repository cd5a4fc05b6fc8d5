// DBOS: a call is a workflow in the process that takes it, as the library is meant to be used.
import { env, peerPackage, serveCalls } from "./front.ts";

interface Dbos {
  setConfig(config: object): void;
  launch(): Promise<void>;
  registerWorkflow<T>(run: (input: T) => Promise<T>, config: object): (input: T) => Promise<T>;
}

const poolSize = 60;
const { DBOS } = peerPackage<{ readonly DBOS: Dbos }>("@dbos-inc/dbos-sdk");

DBOS.setConfig({ name: "echo", systemDatabaseUrl: env("SIGNALBOX_PEERS_POSTGRES"), systemDatabasePoolSize: poolSize, logLevel: "error" });
const echo = DBOS.registerWorkflow(async (input: unknown) => input, { name: "echo" });
await DBOS.launch();
await serveCalls(echo);
