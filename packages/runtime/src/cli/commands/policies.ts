// `signalbox policies`: lists policies, puts versions in and out of force, and sets what happens where no rule matches.
import type { Policy, PolicyDefault, PolicyLevel, PolicyStatus } from "@signalbox/client";
import { Argument, Option } from "commander";
import type { Command } from "commander";
import { CliError } from "../failure.ts";
import type { Paint } from "../paint.ts";
import { givenOnly, pageFlags, pageOptions, policyAndVersion, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";
import { relativeText } from "../times.ts";
import { addPolicyQuestions } from "./policy-questions.ts";
import { addPublish } from "./policy-publish.ts";
import { showPolicy } from "./policy-show.ts";

interface ListOptions {
  readonly level?: PolicyLevel;
  readonly project?: string;
  readonly name?: string;
  readonly status?: PolicyStatus;
  readonly platform?: boolean;
  readonly limit?: string;
  readonly cursor?: string;
}

interface DefaultOptions {
  readonly project?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

const nameOrBoth = "its name, or name@version";

export function addPolicies(program: Command, runs: Runs): void {
  const policies = program.command("policies").description("publish, explain and test the rules on calls");
  addPublish(policies, runs);
  runs.operator<ListOptions>(
    pageOptions(
      policies
        .command("list")
        .description("the policies of this tenant; with --platform those that bind every tenant")
        .addOption(
          new Option("--level <level>", "of this level only").choices(["platform", "tenant", "project", "attached"]),
        )
        .option("--project <project>", "for this project only")
        .option("--name <name>", "the versions of this policy only")
        .addOption(
          new Option("--status <status>", "in this status only").choices(["active", "superseded", "withdrawn"]),
        ),
    ),
    listPolicies,
    { anybodyReads: true },
  );
  runs.operator<{ readonly version?: string; readonly platform?: boolean }>(
    policies
      .command("show")
      .description("one policy: what it says, and its document")
      .argument("<policy>", nameOrBoth)
      .option("--version <version>", "an older version"),
    showPolicy,
    { anybodyReads: true },
  );
  runs.operator(
    policies
      .command("activate")
      .description("put a version in force again, in place of the one that is")
      .argument("<policy>", nameOrBoth)
      .argument("[version]"),
    (session, args) => setStatus(session, args, "activate"),
  );
  runs.operator(
    policies
      .command("withdraw")
      .description("take a version out of force; what refers to it by version is denied")
      .argument("<policy>", nameOrBoth)
      .argument("[version]"),
    (session, args) => setStatus(session, args, "withdraw"),
  );
  addPolicyQuestions(policies, runs);
  runs.operator<DefaultOptions>(
    pageOptions(
      policies
        .command("default")
        .description("what happens to a call that no rule matches; without a decision: show it")
        .addArgument(new Argument("[decision]", "none takes it back to allow").choices(["allow", "deny", "none"]))
        .option("--project <project>", "of this project only; without it of the whole tenant"),
    ),
    (session, [decision], options) =>
      decision === undefined ? listDefaults(session, options) : setDefault(session, decision, options),
  );
}

async function listPolicies(session: OnlineSession, _args: readonly string[], options: ListOptions): Promise<Outcome> {
  const { level, project, name, status, platform } = options;
  const page = await session.client.policies.list(
    { ...givenOnly({ level, project, name, status, platform }), ...pageFlags(options) },
    session,
  );
  session.print(page, () =>
    session.table(page.items, [
      { title: "POLICY", cell: (one) => `${one.name}@${one.version}` },
      { title: "LEVEL", cell: levelText },
      { title: "STATUS", cell: (one) => (one.mode === "observe" ? `${one.status}, observes` : one.status) },
      { title: "SAYS", cell: (one) => one.decision, paint: (text, one) => paintDecision(session.paint, one)(text) },
      {
        title: "TOOLS",
        cell: (one) => (one.match.tools.length === 0 ? "(any)" : one.match.tools.join(" ")),
        shrinks: true,
      },
      { title: "BECAUSE", cell: (one) => one.reason, shrinks: true },
    ]),
  );
  if (page.items.length === 0) session.remark("no policies\nnext:  signalbox policies publish <file>");
  remarkMore(session, page);
}

function levelText({ level, project }: Policy): string {
  return level === "project" ? `project ${project}` : level;
}

function paintDecision(paint: Paint, { decision, status }: Policy): (text: string) => string {
  if (status !== "active") return paint.dim;
  if (decision === "deny") return paint.red;
  return decision === "allow" ? paint.green : paint.yellow;
}

async function setStatus(
  session: OnlineSession,
  args: readonly string[],
  how: "activate" | "withdraw",
): Promise<Outcome> {
  const { name, version } = policyAndVersion(args[0] ?? "", args[1]);
  if (version === undefined) throw new CliError("which version?", { next: `signalbox policies show ${name}` });
  const policy = await session.client.policies[how](name, version, session);
  session.print(policy, () => plainLine(`${policy.name}@${policy.version} is ${policy.status}`) + "\n");
}

async function listDefaults(session: OnlineSession, options: DefaultOptions): Promise<Outcome> {
  if (options.project !== undefined)
    throw new CliError("--project goes with a decision", {
      next: "signalbox policies default deny --project <project>",
    });
  const page = await session.client.policies.defaults(pageFlags(options), session);
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "WHERE", cell: whereText },
      { title: "DEFAULT", cell: (one) => one.decision ?? "(none: allow)" },
      { title: "SINCE", cell: (one) => relativeText(Date.parse(one.changed_at), now) },
      { title: "BY", cell: (one) => one.changed_by, shrinks: true },
    ]),
  );
  if (page.items.length === 0)
    session.remark("none is set: a call that no rule matches is allowed, if its permissions are granted");
  remarkMore(session, page);
}

function whereText({ tenant, project }: PolicyDefault): string {
  if (project !== "") return `project ${project}`;
  return tenant === "platform" ? "platform" : `tenant ${tenant}`;
}

async function setDefault(session: OnlineSession, decision: string, { project }: DefaultOptions): Promise<Outcome> {
  const value = decision === "allow" || decision === "deny" ? decision : null;
  const set = await session.client.policies.setDefault({ ...givenOnly({ project }), decision: value }, session);
  const said = set.decision === null ? "has no default: allow" : `has the default ${set.decision}`;
  session.print(set, () => plainLine(`${whereText(set)} ${said}`) + "\n");
}
