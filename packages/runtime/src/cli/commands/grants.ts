// `signalbox grants`: gives permissions to principals, lists them and takes them back.
import type { Command } from "commander";
import { expiryFlag, lifeText } from "../lifetimes.ts";
import { rolesColumn } from "../roles.ts";
import { givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, PageFlags, Runs } from "../session.ts";

interface CreateOptions {
  readonly subject: string;
  readonly permission: readonly string[];
  readonly role?: readonly string[];
  readonly project?: string;
  readonly expires?: string;
}

export function addGrants(program: Command, runs: Runs): void {
  const grants = program.command("grants").description("give permissions, list them, take them back");
  runs.online<PageFlags>(pageOptions(grants.command("list").description("every grant")), listGrants);
  runs.online<CreateOptions>(
    grants
      .command("create")
      .description("give permissions to a principal")
      .requiredOption("--subject <principal>", "who gets them: user:…, service:… or agent:…")
      .requiredOption("--permission <permissions...>", "domain:action:resource, or '*'")
      .option("--role <roles...>", "roles that policies ask for, like finance")
      .option("--project <project>", "in this project only; without it in all")
      .option("--expires <when>", "a duration like 30d, or an instant like 2027-01-31T12:00:00Z"),
    createGrant,
  );
  runs.online(
    grants.command("revoke").description("take a grant back; revoking twice is fine").argument("<grant-id>"),
    revokeGrant,
  );
}

async function listGrants(session: OnlineSession, _args: readonly string[], options: PageFlags): Promise<Outcome> {
  const page = await session.client.grants.list(pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "GRANT", cell: (grant) => grant.grant_id },
      { title: "SUBJECT", cell: (grant) => grant.subject, shrinks: true },
      { title: "PROJECT", cell: (grant) => (grant.project === "" ? "(all)" : grant.project) },
      { title: "PERMISSIONS", cell: (grant) => grant.permissions.join(" "), shrinks: true },
      ...rolesColumn(page.items),
      { title: "LIFE", cell: (grant) => lifeText(grant, now) },
    ]),
  );
  remarkMore(session, page);
}

async function createGrant(session: OnlineSession, _args: readonly string[], options: CreateOptions): Promise<Outcome> {
  const { subject, permission, role, project } = options;
  const grant = await session.client.grants.create(
    {
      subject,
      permissions: permission,
      ...givenOnly({ roles: role, project, expires_at: expiryFlag(session.io, options.expires) }),
    },
    session,
  );
  session.print(grant, () => {
    const roles = grant.roles.length === 0 ? "" : `, and the role ${grant.roles.join(", ")}`;
    return `${grant.grant_id}: ${grant.subject} has ${grant.permissions.join(" ")}${roles}\n`;
  });
}

async function revokeGrant(session: OnlineSession, [id = ""]: readonly string[]): Promise<Outcome> {
  const grant = await session.client.grants.revoke(id, session);
  session.print(grant, () => `${grant.grant_id} is revoked\n`);
}
