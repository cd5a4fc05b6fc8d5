// A real PostgreSQL server for tests: made in a folder of its own, with a fresh database for each case, and gone when the test is.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { openStore } from "../../packages/runtime/src/adapters/postgres/open.ts";
import { hmacWith } from "../../packages/runtime/src/adapters/sqlite/audit-key.ts";
import { freePort } from "./free-port.ts";

const debianPackage = "postgresql";
const versionMin = 15;
const debianFolder = "/usr/lib/postgresql";
const startMsMax = 20_000;

/** Keys the audit of every ledger that is made of {@link PostgresServer.createDatabase}. */
export const auditKey = Buffer.alloc(32, 1);

function programs(): string | undefined {
  const named = process.env["SIGNALBOX_PG_BIN"];
  if (named !== undefined) return named;
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder).map(Number) : [];
  const newest = Math.max(...versions.filter((version) => version >= versionMin));
  if (Number.isFinite(newest)) return join(debianFolder, String(newest), "bin");
  return process.env["PATH"]?.split(delimiter).find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

const bin = programs();

/** Why there is no server here; undefined where there is one. */
export const noPostgres =
  bin === undefined ? `no PostgreSQL server here: install the Debian package ${debianPackage}, or set SIGNALBOX_PG_BIN` : undefined;

if (noPostgres !== undefined && process.env["CI"] === "true") throw new Error(noPostgres);

/** PostgreSQL refuses to run as root. */
function account(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    const ids = ["-u", "-g"].map((flag) => Number(spawnSync("id", [flag, name], { encoding: "utf8" }).stdout));
    const [uid, gid] = ids;
    if (uid !== undefined && gid !== undefined && uid > 0) return { uid, gid };
  }
  throw new Error("there is no user postgres or nobody that PostgreSQL could run as");
}

/** It may have ended by itself since it was named. */
function killed(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}


// Its own stdin is open for as long as the test's process lives, however that ends: then the server goes, and its folder.
const guardScript = `
exec 3<&0
"$@" &
server=$!
( cat <&3 > /dev/null
  if kill -0 $server 2> /dev/null; then
    kill -QUIT $server
    while kill -0 $server 2> /dev/null; do sleep 0.1; done
    rm -rf "$FOLDER"
  fi ) &
wait $server
`;

export interface PostgresOptions {
  /** Commits survive a power cut; off, they survive the end of the server's process alone, and are faster. */
  readonly fsync?: boolean;
  /** More settings, as `name=value`. */
  readonly settings?: readonly string[];
  /** Where its folder is made; the system's temporary folder by default. */
  readonly parent?: string;
}

export class PostgresServer {
  readonly #folder: string;
  readonly #port: number;
  readonly #options: PostgresOptions;
  readonly #account = account();
  #guard: ChildProcess | undefined;
  #databases = 0;
  #templated = false;

  private constructor(folder: string, port: number, options: PostgresOptions) {
    this.#folder = folder;
    this.#port = port;
    this.#options = options;
  }

  static async start(options: PostgresOptions = {}): Promise<PostgresServer> {
    if (bin === undefined) throw new Error(noPostgres);
    const folder = mkdtempSync(join(options.parent ?? tmpdir(), "signalbox-pg-"));
    const server = new PostgresServer(folder, await freePort(), options);
    try {
      server.#initdb(bin);
      await server.start();
    } catch (error) {
      await server.remove();
      throw error;
    }
    return server;
  }

  /** `host:port` on the loopback. */
  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** @param address of a proxy, in place of the server's own */
  url(database: string, address = this.address): string {
    return `postgres://signalbox@${address}/${database}`;
  }

  #initdb(folder: string): void {
    const { uid, gid } = this.#account ?? {};
    if (uid !== undefined && gid !== undefined) chownSync(this.#folder, uid, gid);
    const ids = uid === undefined || gid === undefined ? {} : { uid, gid };
    const made = spawnSync(
      join(folder, "initdb"),
      ["-D", join(this.#folder, "data"), "-U", "signalbox", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"],
      { ...ids, encoding: "utf8", cwd: this.#folder },
    );
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  }

  /** Starts it, or starts it again after {@link stop} or {@link kill}. Resolves when it takes connections. */
  async start(): Promise<void> {
    const until = Date.now() + startMsMax;
    for (;;) {
      this.#spawn();
      if (await this.#answers(until)) return;
      if (Date.now() > until) throw new Error(`PostgreSQL did not start: ${readFileSync(join(this.#folder, "log"), "utf8")}`);
      // What a killed server left behind holds its memory for a moment.
      await sleep(50);
    }
  }

  #spawn(): void {
    const settings = [
      `port=${this.#port}`,
      "listen_addresses=127.0.0.1",
      `unix_socket_directories=${this.#folder}`,
      "shared_buffers=32MB",
      "max_connections=100",
      // Its transactions would come and go between those that a test looks at.
      "autovacuum=off",
      ...(this.#options.fsync === true ? [] : ["fsync=off", "full_page_writes=off"]),
      ...(this.#options.settings ?? []),
    ];
    const command = [join(bin ?? "", "postgres"), "-D", join(this.#folder, "data"), ...settings.flatMap((setting) => ["-c", setting])];
    const { uid, gid } = this.#account ?? {};
    const ids = uid === undefined || gid === undefined ? {} : { uid, gid };
    this.#guard = spawn("sh", ["-c", `exec >> "$FOLDER/log" 2>&1; ${guardScript}`, "sh", ...command], {
      ...ids,
      cwd: this.#folder,
      detached: true,
      env: { FOLDER: this.#folder, PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" },
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#guard.unref();
    this.#guard.stdin?.on("error", () => undefined);
  }

  /** False when its process ended before it took a connection. */
  async #answers(until: number): Promise<boolean> {
    const guard = this.#guard;
    while (Date.now() < until && guard?.exitCode === null) {
      const client = new pg.Client({ connectionString: this.url("postgres") });
      client.on("error", () => undefined);
      try {
        await client.connect();
        return true;
      } catch {
        await sleep(20);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
    return false;
  }

  /** Of the server's first process, which all others are children of. */
  get pid(): number {
    return Number(readFileSync(join(this.#folder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
  }

  async #ended(): Promise<void> {
    const guard = this.#guard;
    if (guard === undefined || guard.exitCode !== null || guard.signalCode !== null) return;
    await new Promise((resolve) => guard.once("exit", resolve));
    guard.stdin?.end();
  }

  /** Ends every connection, and the server in order. */
  async stop(): Promise<void> {
    process.kill(this.pid, "SIGINT");
    await this.#ended();
  }

  /** All of its processes at once, as a power cut would; what the disk holds stays. */
  async kill(): Promise<void> {
    const { pid } = this;
    // Those that serve connections would go on for a moment by themselves; stopped, the first one makes no new ones meanwhile.
    process.kill(pid, "SIGSTOP");
    const children = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" }).stdout.split("\n").map(Number);
    for (const each of [pid, ...children.filter((child) => child > 0)]) killed(each);
    await this.#ended();
  }

  async remove(): Promise<void> {
    const guard = this.#guard;
    if (guard !== undefined && guard.exitCode === null && existsSync(join(this.#folder, "data", "postmaster.pid"))) {
      process.kill(this.pid, "SIGQUIT");
      await this.#ended();
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** One statement as the server's owner. */
  async run(sql: string, database = "postgres"): Promise<pg.QueryResult> {
    const client = new pg.Client({ connectionString: this.url(database) });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await client.query(sql);
    } finally {
      await client.end();
    }
  }

  /** Runs one of PostgreSQL's own programs, such as `pg_dump`. @throws Error with what it said */
  async program(name: string, args: readonly string[]): Promise<void> {
    const child = spawn(join(bin ?? "", name), args, { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const code = await new Promise((resolve) => child.once("close", resolve));
    if (code !== 0) throw new Error(`${name} failed: ${said}`);
  }

  /** A database with an empty ledger's tables. @returns its name */
  async createDatabase(): Promise<string> {
    if (!this.#templated) {
      await this.run("CREATE DATABASE ledger_template");
      await openStore(this.url("ledger_template"), hmacWith(auditKey), 0);
      this.#templated = true;
    }
    const name = `ledger_${(this.#databases += 1)}`;
    await this.run(`CREATE DATABASE ${name} TEMPLATE ledger_template`);
    return name;
  }

  /** A database without any table. @returns its name */
  async createEmptyDatabase(settings = ""): Promise<string> {
    const name = `empty_${(this.#databases += 1)}`;
    await this.run(`CREATE DATABASE ${name} ${settings}`);
    return name;
  }

  async dropDatabase(name: string): Promise<void> {
    await this.run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
}
