// One process per folder, and a schema that only goes forward.
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { auditColumnNames } from "./audit-rows.ts";
import {
  attemptColumns,
  callColumns,
  grantColumns,
  keyColumns,
  lateResultColumns,
  outboxColumns,
  toolColumns,
} from "./columns.ts";
import {
  activationColumns,
  approvalColumns,
  deliveryColumns,
  documentColumns,
  freezeColumns,
  noticeColumns,
  policyColumns,
  policyDefaultColumns,
  projectToolColumns,
  toolPinColumns,
  voteColumns,
  webhookColumns,
} from "./governance-columns.ts";
import { migrate, openDatabase } from "./open.ts";
import { migrations } from "./schema.ts";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-open-"));
  path = join(folder, "data", "ledger.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

function pragma(db: DatabaseSync, name: string): unknown {
  return Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

test("the folder is made for its owner alone, and commits wait for the disk", () => {
  const { db, close } = openDatabase(path, 1);
  expect(statSync(join(folder, "data")).mode & 0o777).toBe(0o700);
  expect(pragma(db, "journal_mode")).toBe("wal");
  expect(pragma(db, "synchronous")).toBe(2);
  expect(pragma(db, "foreign_keys")).toBe(0);
  close();
});

test("a second opener of the folder is refused with the next step, until the first one closes", () => {
  const first = openDatabase(path, 1);
  expect(() => openDatabase(path, 2)).toThrow(
    `Another process has the data folder ${join(folder, "data")}.`,
  );
  first.close();
  openDatabase(path, 3).close();
});

test("other programs can read while the folder is taken", () => {
  const { close } = openDatabase(path, 1);
  const reader = new DatabaseSync(path, { readOnly: true });
  expect(reader.prepare("SELECT count(*) AS n FROM calls").get()).toMatchObject({ n: 0 });
  reader.close();
  close();
});

test("a newer schema is refused by name, and the folder is free again after that", () => {
  openDatabase(path, 1).close();
  const raw = new DatabaseSync(path);
  raw.exec("UPDATE meta SET value = '99' WHERE name = 'schema_version'");
  raw.close();
  for (let attempt = 0; attempt < 2; attempt += 1) {
    expect(() => openDatabase(path, 2)).toThrow("The ledger has schema 99; this Signalbox knows schemas up to");
  }
});

test("a file that is no database, and a folder that cannot be made, are refused as unavailable", () => {
  mkdirSync(join(folder, "data"));
  writeFileSync(
    path,
    "this is a letter to my aunt, and it is longer than the header of a database file would be: ".repeat(10),
  );
  expect(() => openDatabase(path, 1)).toThrow("the file is not a ledger; choose another data folder");
  expect(() => openDatabase(path, 1)).toThrow(LedgerUnavailable);
  expect(() => openDatabase(join(path, "ledger.db"), 1)).toThrow("The data folder cannot be made");
});

test("migrations run in order, once, and all of them or none", () => {
  const db = new DatabaseSync(":memory:");
  const first = { version: 1, statements: ["CREATE TABLE a (x INTEGER)"] };
  const second = { version: 2, statements: ["ALTER TABLE a ADD COLUMN y INTEGER", "INSERT INTO a VALUES (1, 2)"] };
  const broken = { version: 3, statements: ["INSERT INTO a VALUES (3, 4)", "this is no SQL"] };
  migrate(db, 10, [first]);
  migrate(db, 20, [first, second]);
  migrate(db, 30, [first, second]);
  expect(() => migrate(db, 40, [first, second, broken])).toThrow("syntax error");
  expect(
    db
      .prepare("SELECT * FROM a")
      .all()
      .map((row) => ({ ...row })),
  ).toEqual([{ x: 1, y: 2 }]);
  expect(
    db
      .prepare("SELECT name, value FROM meta ORDER BY name")
      .all()
      .map((row) => ({ ...row })),
  ).toEqual([
    { name: "schema_changed_at", value: "20" },
    { name: "schema_version", value: "2" },
  ]);
  db.close();
});

test("the list of migrations counts from 1 without holes", () => {
  expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, at) => at + 1));
});

test("the tables have exactly the columns that the code writes", () => {
  const { db, close } = openDatabase(path, 1);
  const columns = (table: string): unknown[] =>
    db
      .prepare(`PRAGMA table_info(${table})`)
      .all()
      .map((row) => row["name"]);
  const tables = { attempts: attemptColumns, late_results: lateResultColumns };
  const records = { keys: keyColumns, grants: grantColumns, tools: toolColumns };
  const governance = {
    approvals: approvalColumns,
    votes: [...voteColumns, { name: "position" }],
    policies: [...policyColumns, ...documentColumns],
    policy_defaults: policyDefaultColumns,
    webhooks: webhookColumns,
    notices: [{ name: "id" }, ...noticeColumns],
    deliveries: deliveryColumns,
    activations: [{ name: "id" }, ...activationColumns],
    tool_pins: toolPinColumns,
    project_tools: projectToolColumns,
    freezes: freezeColumns,
  };
  for (const [table, known] of Object.entries({ ...tables, ...records, ...governance })) {
    expect([table, ...columns(table)]).toEqual([table, ...known.map(({ name }) => name)]);
  }
  const calls = [...callColumns.map(({ name }) => name), "event_rows", "lease_accepted_at", "lease_end_reason"];
  expect(new Set(columns("calls"))).toEqual(new Set(calls));
  expect(columns("events")).toEqual([...outboxColumns.map(({ name }) => name), "events_json"]);
  expect(columns("audit")).toEqual([...auditColumnNames]);
  close();
});
