// Starts of a replica that go wrong: what is waited for and what is not, and what a person is told.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { noPostgres, PostgresServer } from "../support/postgres.ts";
import { startNode, type Child } from "../support/processes.ts";
import { signalboxBin, slowly, within } from "../support/stack.ts";

const readyMsMax = 20_000;
const key = "5a".repeat(32);

interface Line {
  readonly level?: string;
  readonly msg?: string;
  readonly [field: string]: unknown;
}

describe.skipIf(noPostgres !== undefined)(`starts of a replica${noPostgres === undefined ? "" : ` (${noPostgres})`}`, () => {
  let postgres: PostgresServer;
  let folder = "";
  let database = "";
  let children: Child[] = [];

  beforeAll(async () => {
    postgres = await PostgresServer.start();
  });
  afterAll(() => postgres.remove());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-start-"));
    database = await postgres.createEmptyDatabase();
    writeFileSync(join(folder, "audit.key"), key);
  });
  afterEach(async () => {
    for (const child of children) await child.kill();
    children = [];
    rmSync(folder, { recursive: true });
  });

  function serve(name: string, { args = [], url = postgres.url(database) }: { args?: readonly string[]; url?: string } = {}): Child {
    const own = ["--port", "0", "--grpc-port", "0", "--boxes", "0", "--data", join(folder, name), "--replica", name, "--audit-key-file", join(folder, "audit.key")];
    const child = startNode([signalboxBin, "serve", "--json", "--log", "json", ...own, ...args], { cwd: folder, env: { SIGNALBOX_LEDGER: url } });
    children.push(child);
    return child;
  }

  const ready = async (child: Child): Promise<string> => (JSON.parse(await within(readyMsMax, child.nextLine(), "the replica is ready")) as { url: string }).url;

  const logged = (child: Child): readonly Line[] =>
    child
      .stderr()
      .split("\n")
      .flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Line] : []));

  const waiting = (child: Child): readonly Line[] => logged(child).filter(({ msg }) => msg?.includes("the start waits for it"));

  /** The end of a start that failed: exit code, and the error as `--json` tells it. */
  async function refusal(child: Child): Promise<{ readonly code: number | null; readonly message: string; readonly next: unknown }> {
    const { code } = await within(readyMsMax, child.ended, "the start ends");
    const last = logged(child).at(-1) as unknown as { readonly error: { readonly message: string }; readonly next: unknown };
    return { code, message: last.error.message, next: last.next };
  }

  test("a database that is away is waited for, and said once; then the replica serves", async () => {
    await postgres.stop();
    const child = serve("one", { url: postgres.url(database).replace("signalbox@", "signalbox:secret@") });
    await expect.poll(() => waiting(child).length, slowly).toBe(1);
    expect(waiting(child)[0]).toMatchObject({ level: "warn", server: `${postgres.address}/${database}`, reason: expect.stringContaining("ECONNREFUSED") });
    // No door is open while it waits: nobody takes it for one that serves.
    expect(child.stdout()).toBe("");
    await postgres.start();
    const url = await ready(child);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(waiting(child)).toHaveLength(1);
    expect(child.stderr()).not.toContain("secret");
  }, 60_000);

  test("after --ledger-wait it ends with code 5 and a next step; with 0s at once", async () => {
    await postgres.stop();
    const [soon, atOnce] = [serve("one", { args: ["--ledger-wait", "1s"] }), serve("two", { args: ["--ledger-wait", "0s"] })];
    const place = `PostgreSQL at ${postgres.address}/${database}`;
    const next = "start it, or correct the address in --ledger or SIGNALBOX_LEDGER; --ledger-wait says how long a start waits for it";
    expect(await refusal(soon)).toEqual({ code: 5, message: `${place} did not answer for 1 s (connect ECONNREFUSED ${postgres.address}).`, next });
    expect(await refusal(atOnce)).toEqual({ code: 5, message: `${place} does not answer (connect ECONNREFUSED ${postgres.address}).`, next });
    expect([waiting(soon).length, waiting(atOnce).length]).toEqual([1, 0]);
    await postgres.start();
  }, 60_000);

  test("SIGTERM ends the wait", async () => {
    await postgres.stop();
    const child = serve("one");
    await expect.poll(() => waiting(child).length, slowly).toBe(1);
    child.signal("SIGTERM");
    expect((await within(5_000, child.ended, "the wait ends")).code).toBe(130);
    await postgres.start();
  }, 60_000);

  test("a database or a user that does not exist is not waited for", async () => {
    const [noDatabase, noUser] = [serve("one", { url: postgres.url("nowhere") }), serve("two", { url: postgres.url(database).replace("signalbox@", "nobody@") })];
    expect(await refusal(noDatabase)).toMatchObject({ code: 5, message: "The ledger cannot be used: the database does not exist; create it, or correct the ledger's URL." });
    expect(await refusal(noUser)).toMatchObject({ code: 5, message: "The ledger cannot be used: PostgreSQL refused the login; check user and password of the ledger's URL." });
    expect([waiting(noDatabase).length, waiting(noUser).length]).toEqual([0, 0]);
  }, 60_000);

  test("a second process on a data folder is refused, under any name; a killed one gives it free", async () => {
    const first = serve("one");
    await ready(first);
    const second = await refusal(serve("one", { args: ["--replica", "other"] }));
    expect(second).toEqual({
      code: 5,
      message: `Another process has the data folder ${join(folder, "one")}.`,
      next: "stop it, or choose another folder with --data; each process has one of its own",
    });
    await first.kill();
    await ready(serve("one", { args: ["--replica", "other"] }));
  }, 60_000);

  test("a name that a living replica has is the reason that is told, and nothing of an anchor", async () => {
    const first = serve("one");
    await ready(first);
    mkdirSync(join(folder, "fresh"));
    const second = serve("fresh", { args: ["--replica", "one"] });
    expect(await refusal(second)).toEqual({
      code: 5,
      message: "Another process that lives uses the replica name one on this ledger.",
      next: "stop it, or choose another name with --replica; of a host that vanished the name is free after half a minute",
    });
    expect(second.stderr()).not.toContain("anchor");
  }, 60_000);

  test("an audit key that is missing, damaged or another one ends with code 5, and says what to do", async () => {
    const first = serve("one");
    await ready(first);
    first.signal("SIGTERM");
    await first.ended;
    const file = (name: string): string => join(folder, name);
    writeFileSync(file("damaged.key"), "5a5a");
    writeFileSync(file("other.key"), "17".repeat(32));
    const at = async (name: string) => refusal(serve("one", { args: ["--audit-key-file", file(name)] }));
    expect(await at("missing.key")).toEqual({
      code: 5,
      message: `The audit key ${file("missing.key")} is missing.`,
      next: `name its file with --audit-key-file, or copy it there: all replicas have the same one. For a new ledger make one: openssl rand -hex 32 > ${file("missing.key")}`,
    });
    expect(await at("damaged.key")).toEqual({ code: 5, message: `The audit key ${file("damaged.key")} is damaged: it must hold 64 hex digits.`, next: "restore it from your backup" });
    expect(await at("other.key")).toEqual({
      code: 5,
      message: "The audit key is not the one that this ledger's audit was made with.",
      next: "restore the right audit.key from your backup; every replica of a ledger has the same one",
    });
  }, 60_000);
});
