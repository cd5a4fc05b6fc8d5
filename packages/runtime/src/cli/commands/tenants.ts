// `signalbox tenants`: makes, lists, weighs, suspends and resumes tenants, for whoever runs the runtime.
import type { Tenant, TenantChange } from "@signalbox/client";
import type { Command } from "commander";
import { CliError } from "../failure.ts";
import { expiryFlag } from "../lifetimes.ts";
import { givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { facts, type Fact } from "../table.ts";
import { plainLine } from "../text.ts";
import { instantText, relativeText } from "../times.ts";
import { keyFilters, keyQuery, printKeys, printSecret, type CreateOptions, type ListKeysOptions } from "./keys.ts";

interface CreateTenantOptions {
  readonly weight?: string;
  readonly admin?: string;
  readonly label?: string;
}

export function addTenants(program: Command, runs: Runs): void {
  const tenants = program.command("tenants").description("make, list and suspend tenants; for the platform's operator");
  const operator = { anybodyReads: true };
  runs.operator<{ readonly limit?: string; readonly cursor?: string }>(
    pageOptions(tenants.command("list").description("with --platform every tenant; without it one's own")),
    listTenants,
    operator,
  );
  runs.operator(tenants.command("show").description("one tenant").argument("<tenant>"), showTenant, operator);
  runs.operator<CreateTenantOptions>(
    tenants
      .command("create")
      .description("make a tenant with the project default and an admin key, whose secret is printed this once")
      .argument("<tenant>", "letters, digits and _ . - between them")
      .option("--weight <count>", "its share of what all tenants wait for (1)")
      .option("--admin <principal>", "whose the first key is (user:admin)")
      .option("--label <text>", "what the first key is called"),
    createTenant,
  );
  runs.operator<{ readonly weight: string }>(
    tenants
      .command("set")
      .description("change a tenant's weight")
      .argument("<tenant>")
      .requiredOption("--weight <count>", "its share of what all tenants wait for"),
    (session, [tenant = ""], { weight }) => change(session, tenant, { weight: weightFlag(weight) }),
  );
  runs.operator<{ readonly reason?: string }>(
    tenants
      .command("suspend")
      .description("refuse a tenant's keys and start nothing of it; what runs goes on to its end")
      .argument("<tenant>")
      .option("--reason <text>", "why; kept in the audit"),
    (session, [tenant = ""], { reason }) => change(session, tenant, { suspended: true, ...givenOnly({ reason }) }),
  );
  runs.operator(
    tenants.command("resume").description("let a suspended tenant go on where it stopped").argument("<tenant>"),
    (session, [tenant = ""]) => change(session, tenant, { suspended: false }),
  );
  addTenantKeys(tenants, runs);
}

function addTenantKeys(tenants: Command, runs: Runs): void {
  const keys = tenants.command("keys").description("the keys of a tenant, for when it has lost its own");
  runs.operator<ListKeysOptions>(
    keyFilters(keys.command("list").description("every key of the tenant").argument("<tenant>")),
    async (session, [tenant = ""], options) =>
      printKeys(session, await session.client.tenants.keys.list(tenant, keyQuery(options), session)),
  );
  runs.operator<CreateOptions>(
    keys
      .command("create")
      .description("make a key of the tenant and print its secret, this once")
      .argument("<tenant>")
      .requiredOption("--label <text>", "what it is for")
      .requiredOption("--principal <principal>", "who it stands for: user:…, service:… or agent:…")
      .requiredOption("--scope <scopes...>", "what it may ask for; * is everything in the tenant")
      .option("--role <roles...>", "roles that policies ask for, like finance")
      .option("--project <project>", "the project that it belongs to (default)")
      .option("--expires <when>", "a duration like 30d, or an instant like 2027-01-31T12:00:00Z"),
    createTenantKey,
  );
  runs.operator(
    keys.command("revoke").description("end a key of the tenant for good").argument("<tenant>").argument("<key-id>"),
    async (session, [tenant = "", id = ""]) => {
      const key = await session.client.tenants.keys.revoke(tenant, id, session);
      session.print(key, () => `${plainLine(`${key.key_id} (${key.label}) of ${tenant} is revoked`)}\n`);
    },
  );
}

function weightFlag(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new CliError(`--weight takes a whole number of at least 1, not "${text}"`);
  return Number(text);
}

async function listTenants(
  session: OnlineSession,
  _args: readonly string[],
  options: { readonly limit?: string; readonly cursor?: string },
): Promise<Outcome> {
  const page = await session.client.tenants.list(pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "TENANT", cell: (one) => one.tenant },
      { title: "WEIGHT", cell: (one) => String(one.weight) },
      { title: "STATE", cell: stateOf },
      { title: "CREATED", cell: (one) => relativeText(Date.parse(one.created_at), now) },
      { title: "BECAUSE", cell: (one) => one.suspended_reason ?? "", shrinks: true },
    ]),
  );
  remarkMore(session, page);
}

const stateOf = ({ suspended }: Tenant): string => (suspended ? "suspended" : "running");

async function showTenant(session: OnlineSession, [tenant = ""]: readonly string[]): Promise<Outcome> {
  print(session, await session.client.tenants.get(tenant, session));
}

function print(session: OnlineSession, one: Tenant): void {
  session.print(one, () => facts(factsOf(session, one), session.paint.dim));
}

function factsOf({ io }: OnlineSession, one: Tenant): readonly Fact[] {
  const now = io.now();
  return [
    ["tenant", one.tenant],
    ["weight", String(one.weight)],
    ["state", stateOf(one)],
    ["since", one.suspended_at === null ? undefined : instantText(one.suspended_at, now)],
    ["by", one.suspended_by ?? undefined],
    ["because", one.suspended_reason === null || one.suspended_reason === "" ? undefined : one.suspended_reason],
    ["created", instantText(one.created_at, now)],
  ];
}

async function createTenant(
  session: OnlineSession,
  [tenant = ""]: readonly string[],
  { weight, admin: principal, label }: CreateTenantOptions,
): Promise<Outcome> {
  const admin = givenOnly({ principal, label });
  const wanted = {
    tenant,
    ...(weight === undefined ? {} : { weight: weightFlag(weight) }),
    ...(Object.keys(admin).length === 0 ? {} : { admin }),
  };
  const made = await session.client.tenants.create(wanted, session);
  const { admin_key: key } = made;
  const ofKey: readonly Fact[] = [
    ["key", key.key_id],
    ["principal", key.principal],
    ["secret", key.secret],
  ];
  session.print(made, () => facts([...factsOf(session, made), ...ofKey], session.paint.dim));
  session.remark("the secret is shown this once; programs read it from SIGNALBOX_KEY");
}

async function change(session: OnlineSession, tenant: string, wanted: TenantChange): Promise<Outcome> {
  const one = await session.client.tenants.change(tenant, wanted, session);
  print(session, one);
  if (wanted.suspended === true)
    session.remark(
      `what runs goes on to its end\nnext:  ${plainLine(`signalbox tenants resume ${tenant} --platform`)}`,
    );
}

async function createTenantKey(
  session: OnlineSession,
  [tenant = ""]: readonly string[],
  { label, principal, scope, role, project, expires }: CreateOptions,
): Promise<Outcome> {
  const wanted = { label, principal, scopes: scope };
  const more = givenOnly({ roles: role, project, expires_at: expiryFlag(session.io, expires) });
  printSecret(session, await session.client.tenants.keys.create(tenant, { ...wanted, ...more }, session));
}
