// `signalbox keys`: makes, lists and revokes API keys, and brings back a lost local one.
import type { CreatedKey, Key, KeyQuery, Page } from "@signalbox/client";
import { Option, type Command } from "commander";
import { resolve } from "node:path";
import { CliError } from "../failure.ts";
import { expiryFlag, lifeText } from "../lifetimes.ts";
import { rolesColumn } from "../roles.ts";
import { givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, Runs, Session } from "../session.ts";
import { facts } from "../table.ts";
import { relativeText } from "../times.ts";

export interface CreateOptions {
  readonly label: string;
  readonly principal: string;
  readonly scope: readonly string[];
  readonly role?: readonly string[];
  readonly project?: string;
  readonly expires?: string;
}

interface ResetOptions {
  readonly local?: boolean;
  readonly data: string;
}

export function addKeys(program: Command, runs: Runs): void {
  const keys = program.command("keys").description("make, list and revoke API keys");
  runs.online<ListKeysOptions>(keyFilters(keys.command("list").description("every key; secrets are never shown again")), listKeys);
  runs.online<CreateOptions>(
    keys
      .command("create")
      .description("make a key and print its secret, this once")
      .requiredOption("--label <text>", "what it is for")
      .requiredOption("--principal <principal>", "who it stands for: user:…, service:… or agent:…")
      .requiredOption("--scope <scopes...>", "what it may ask for: tools:invoke, calls:read, workers:connect …")
      .option("--role <roles...>", "roles that policies ask for, like finance")
      .option("--project <project>", "the project that it belongs to")
      .option("--expires <when>", "a duration like 30d, or an instant like 2027-01-31T12:00:00Z"),
    createKey,
  );
  runs.online(
    keys.command("revoke").description("end a key for good; revoking twice is fine").argument("<key-id>"),
    revokeKey,
  );
  runs.offline<ResetOptions>(
    keys
      .command("reset")
      .description("make a new admin key for a local data folder whose key is lost; the runtime must be stopped")
      .option("--local", "on this machine's data folder (the only kind there is)")
      .option("--data <folder>", "the data folder", ".signalbox"),
    resetKey,
  );
}

/** What narrows a list of keys. */
export interface ListKeysOptions {
  readonly principal?: string;
  readonly project?: string;
  readonly status?: "active" | "expired" | "revoked";
  readonly limit?: string;
  readonly cursor?: string;
}

export function keyFilters(command: Command): Command {
  return pageOptions(
    command
      .option("--principal <principal>", "of this principal only")
      .option("--project <project>", "of this project only")
      .addOption(
        new Option("--status <status>", "those that are active, expired or revoked").choices([
          "active",
          "expired",
          "revoked",
        ]),
      ),
  );
}

export function keyQuery({ principal, project, status, ...page }: ListKeysOptions): KeyQuery {
  return { ...givenOnly({ principal, project, status }), ...pageFlags(page) };
}

async function listKeys(session: OnlineSession, _args: readonly string[], options: ListKeysOptions): Promise<Outcome> {
  printKeys(session, await session.client.keys.list(keyQuery(options), session));
}

export function printKeys(session: Session, page: Page<Key>): void {
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "KEY", cell: (key) => key.key_id },
      { title: "LABEL", cell: (key) => key.label, shrinks: true },
      { title: "PRINCIPAL", cell: (key) => key.principal, shrinks: true },
      { title: "PROJECT", cell: (key) => key.project },
      { title: "SCOPES", cell: (key) => key.scopes.join(" "), shrinks: true },
      ...rolesColumn(page.items),
      { title: "LIFE", cell: (key) => lifeText(key, now) },
      { title: "USED", cell: (key) => usedText(key, now) },
    ]),
  );
  remarkMore(session, page);
}

/** A runtime that is older than this command line says nothing of it. */
function usedText({ last_used_at: at }: { readonly last_used_at?: string | null }, now: number): string {
  return typeof at === "string" ? relativeText(Date.parse(at), now) : "never";
}

async function createKey(session: OnlineSession, _args: readonly string[], options: CreateOptions): Promise<Outcome> {
  const { label, principal, scope, role, project } = options;
  const wanted = { label, principal, scopes: scope };
  const more = givenOnly({ roles: role, project, expires_at: expiryFlag(session.io, options.expires) });
  printSecret(session, await session.client.keys.create({ ...wanted, ...more }, session));
}

export function printSecret(session: Session, key: CreatedKey): void {
  session.print(key, () =>
    facts(
      [
        ["key", key.key_id],
        ["principal", key.principal],
        ["scopes", key.scopes.join(" ")],
        ["roles", key.roles.length === 0 ? undefined : key.roles.join(" ")],
        ["secret", key.secret],
      ],
      session.paint.dim,
    ),
  );
  session.remark("the secret is shown this once; programs read it from SIGNALBOX_KEY");
}

async function revokeKey(session: OnlineSession, [id = ""]: readonly string[]): Promise<Outcome> {
  const key: Key = await session.client.keys.revoke(id, session);
  session.print(key, () => `${key.key_id} (${key.label}) is revoked\n`);
}

async function resetKey(session: Session, _args: readonly string[], options: ResetOptions): Promise<Outcome> {
  if (options.local !== true) {
    throw new CliError("keys reset works on this machine's data folder only, and asks you to say so", {
      next: "signalbox keys reset --local",
    });
  }
  const { resetLocalKey } = await session.io.compose();
  const { keyFile } = await resetLocalKey(resolve(session.io.cwd, options.data));
  session.print({ key_file: keyFile }, () => `a new admin key is in ${keyFile}\n`);
  session.remark("next:  signalbox dev");
}
