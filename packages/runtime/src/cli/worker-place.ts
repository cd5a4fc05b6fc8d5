// Where `signalbox worker` finds its runtimes, whom it believes there, and the key with which it comes.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { BoxWorkerOptions } from "../boxes/worker.ts";
import { exitCodes } from "./exit-codes.ts";
import { CliError } from "./failure.ts";
import type { Io } from "./io.ts";

export interface PlaceFlags {
  /** As often as it was given; each may hold several, separated by commas. */
  readonly connect: readonly string[];
  readonly data: string;
  readonly tls?: boolean;
  readonly tlsCa?: string;
  readonly insecure?: boolean;
}

export type Place = Pick<BoxWorkerOptions, "address" | "key" | "tls" | "insecure">;

const addressesMax = 16;

/** @throws CliError that says what to give */
export function placeOf({ cwd, env }: Pick<Io, "cwd" | "env">, flags: PlaceFlags): Place {
  const known = readClient(join(resolve(cwd, flags.data), "client.json"));
  const given = flags.connect.flatMap((text) => text.split(",")).map((text) => text.trim());
  const address = given.length > 0 ? given.map(checkAddress) : known.grpc;
  // A key that was made for the platform, never an ordinary one: what runs in boxes is every tenant's.
  const { SIGNALBOX_WORKER_KEY: own, SIGNALBOX_PLATFORM_KEY: operators } = env;
  // A variable that is there and empty says nothing, as for every other command.
  const key = [own, operators, known.platform_key].find((one) => one !== undefined && one !== "");
  if (address === undefined) throw new CliError("where is the runtime?", { next: "signalbox worker --connect host:9090" });
  if (address.length > addressesMax) throw new CliError(`--connect takes ${addressesMax} addresses at most, not ${address.length}`);
  if (key === undefined) {
    throw new CliError("no key of the platform is known", {
      exitCode: exitCodes.refused,
      next: "set SIGNALBOX_WORKER_KEY to a key of the tenant platform with the scope workers:connect",
    });
  }
  return { address, key, ...tlsOf(cwd, flags) };
}

function checkAddress(text: string): string {
  const port = /^(?:\[[^\]]+\]|[^:\s]+):(\d{1,5})$/.exec(text)?.[1];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new CliError(`--connect takes host:port, not "${text}"`, { next: "signalbox worker --connect host-1:9090,host-2:9090" });
  return text;
}

function tlsOf(cwd: string, { tls = false, tlsCa, insecure = false }: PlaceFlags): Pick<Place, "tls" | "insecure"> {
  if (insecure && (tls || tlsCa !== undefined)) throw new CliError("--insecure is for clear text: leave it out, or leave --tls and --tls-ca out");
  if (tlsCa === undefined) return tls ? { tls: true } : insecure ? { insecure: true } : {};
  const file = resolve(cwd, tlsCa);
  let ca: string;
  try {
    ca = readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError(`--tls-ca: ${file} cannot be read: ${(error as Error).message}`);
  }
  if (!ca.includes("-----BEGIN CERTIFICATE-----")) throw new CliError(`--tls-ca: ${file} holds no certificate in PEM`);
  return { tls: { ca } };
}

function readClient(file: string): { readonly grpc?: string; readonly platform_key?: string } {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { grpc?: string; platform_key?: string };
  } catch {
    return {};
  }
}
