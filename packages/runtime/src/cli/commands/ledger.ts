// `signalbox ledger`: carries a ledger to another place, and brings its tables up.
import type { Command } from "commander";
import { basename, resolve } from "node:path";
import type { LedgerExport, LedgerImport, LedgerPlace, MoveOptions } from "../../adapters/transfer/move.ts";
import type { Upgrade } from "../../adapters/transfer/upgrade.ts";
import { version } from "../../version.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { withProgress } from "../progress.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { plainLine } from "../text.ts";
import { tellVerdict } from "./audit.ts";
import { ledgerVariable } from "./serve.ts";

interface PlaceFlags {
  readonly data: string;
  readonly ledger?: string | true;
  readonly auditKeyFile?: string;
}

interface MoveFlags extends PlaceFlags {
  readonly store?: string;
}

interface MigrateFlags extends PlaceFlags {
  readonly dryRun?: boolean;
}

export function addLedger(program: Command, runs: Runs): void {
  const ledger = program.command("ledger").description("carry a ledger to another place, and bring its tables up");
  runs.offline<MoveFlags>(
    placed(ledger.command("export").description("write all that a stopped runtime's ledger holds into one file"))
      .argument("<file>", "the file; it must not be there yet")
      .option("--store <folder>", "copy files and packages of the content store to this folder, too"),
    runExport,
  );
  runs.offline<MoveFlags>(
    placed(ledger.command("import").description("fill an empty ledger from such a file, and verify its audit"))
      .argument("<file>", "what 'signalbox ledger export' has written")
      .option("--store <folder>", "copy files and packages from this folder into the data folder, too")
      .option("--audit-key-file <file>", "the key of the old ledger's audit; audit.key in the data folder by default"),
    runImport,
  );
  runs.offline<MigrateFlags>(
    placed(ledger.command("migrate").description("bring a ledger's tables up to what this version of Signalbox needs")).option(
      "--dry-run",
      "say what would be done, and change nothing",
    ),
    runMigrate,
  );
}

function placed(command: Command): Command {
  return command
    .option("--data <folder>", "the data folder", ".signalbox")
    .option("--ledger [url]", `a ledger on PostgreSQL, in place of the one in the data folder; without an address what ${ledgerVariable} says`);
}

function placeOf({ io }: Session, { data, ledger, auditKeyFile }: PlaceFlags): LedgerPlace {
  const ledgerUrl = ledger === true ? io.env[ledgerVariable] : ledger;
  if (ledger === true && (ledgerUrl === undefined || ledgerUrl === ""))
    throw new CliError(`${ledgerVariable} names no ledger`, { next: `set ${ledgerVariable} to postgres://user:password@host:port/database` });
  if (ledgerUrl !== undefined && !/^postgres(ql)?:\/\//.test(ledgerUrl))
    throw new CliError("--ledger takes an address that begins with postgres://", { next: "leave --ledger out for the ledger in the data folder" });
  return {
    dataDir: resolve(io.cwd, data),
    ...(ledgerUrl === undefined ? {} : { ledgerUrl }),
    ...(auditKeyFile === undefined ? {} : { auditKeyFile: resolve(io.cwd, auditKeyFile) }),
  };
}

/** With a line on a terminal that says how far it is. */
function moving<T>(session: Session, text: string, file: string, store: string | undefined, move: (options: MoveOptions) => Promise<T>): Promise<T> {
  const { io } = session;
  let so = "";
  const options: MoveOptions = {
    file: resolve(io.cwd, file),
    ...(store === undefined ? {} : { storeFolder: resolve(io.cwd, store) }),
    version,
    now: io.now(),
    onProgress(rows, ofRows) {
      so = `: ${rows} of ${ofRows} rows`;
      if (session.signal.aborted) throw session.signal.reason;
    },
  };
  return withProgress(io, () => `${text}${so}`, () => move(options));
}

async function runExport(session: Session, [file = ""]: readonly string[], flags: MoveFlags): Promise<Outcome> {
  const place = placeOf(session, flags);
  const { exportLedger } = await session.io.compose();
  const exported = await moving(session, "exporting", file, flags.store, (options) => exportLedger(place, options));
  const { ledger, schema, rows, tables, sha256, living } = exported;
  const told = { file: resolve(session.io.cwd, file), ledger, schema, rows, tables, sha256, store: storeOf(exported), living_replicas: living };
  session.print(told, () => `${session.paint.green("exported")} ${countOf(rows, "row")} to ${plainLine(file)}\n${contentLine(exported, flags.store)}`);
  if (living > 0)
    session.remark(`note:  ${countOf(living, "replica")} went on writing; what came after the export began is not in it. For a move, stop them first`);
  session.remark(`next:  keep audit.key of the old ledger, then: signalbox ledger import ${plainLine(file)} --ledger`);
}

async function runImport(session: Session, [file = ""]: readonly string[], flags: MoveFlags): Promise<Outcome> {
  const place = placeOf(session, flags);
  const { importLedger } = await session.io.compose();
  const imported = await moving(session, "importing", file, flags.store, (options) => importLedger(place, options));
  const { ledger, rows, tables, sha256, audit } = imported;
  const { ok, records, lanes, problems } = audit;
  const told = { file: resolve(session.io.cwd, file), ledger, rows, tables, sha256, store: storeOf(imported), audit: { ok, records, lanes, problems } };
  session.print(
    told,
    () =>
      `${session.paint.green("imported")} ${countOf(rows, "row")} from ${plainLine(basename(file))}\n${contentLine(imported, flags.store)}${tellVerdict(session.paint, audit)}`,
  );
  return ok ? exitCodes.ok : exitCodes.failed;
}

function storeOf({ content: { files, bytes, copied } }: LedgerExport | LedgerImport): object {
  return { files, bytes, copied };
}

function contentLine({ content: { files, bytes, copied } }: LedgerExport | LedgerImport, folder: string | undefined): string {
  if (files === 0) return "";
  const said = `${countOf(files, "file")} of the content store (${bytes} bytes)`;
  return copied ? `copied ${said}: ${plainLine(folder ?? "")}\n` : `not included: ${said}; --store <folder> copies them\n`;
}

function countOf(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

async function runMigrate(session: Session, _args: readonly string[], { dryRun = false, ...flags }: MigrateFlags): Promise<Outcome> {
  const { upgradeLedger } = await session.io.compose();
  const upgrade = await upgradeLedger(placeOf(session, flags), { dryRun, now: session.io.now() });
  const { ledger, schema, newest, steps, done } = upgrade;
  session.print({ ledger, schema, newest, steps, done }, () => upgradeText(upgrade));
}

function upgradeText({ schema, newest, steps, done }: Upgrade): string {
  if (steps.length === 0) return `the ledger has schema ${schema}: nothing to do\n`;
  const said = `schema ${schema} ${done ? "was brought" : "would be brought"} to ${newest}`;
  const lines = steps.flatMap(({ version: to, statements }) => [`  ${to}:`, ...statements.map((sql) => `    ${plainLine(sql.replace(/\s+/g, " ").trim())}`)]);
  return `${said}\n${lines.join("\n")}\n`;
}
