// `signalbox policies show`: what one policy says, in words and as it was published.
import type { PolicyApproval, PolicyDetail, PolicyObligations } from "@signalbox/client";
import { prettyJson } from "../json.ts";
import { givenOnly, policyAndVersion } from "../session.ts";
import type { OnlineSession, Outcome } from "../session.ts";
import { facts } from "../table.ts";
import { plainLine } from "../text.ts";
import { durationText, instantText } from "../times.ts";

interface ShowOptions {
  readonly version?: string;
  readonly platform?: boolean;
}

export async function showPolicy(
  session: OnlineSession,
  args: readonly string[],
  { version: flag, platform }: ShowOptions,
): Promise<Outcome> {
  const { name, version } = policyAndVersion(args[0] ?? "", flag);
  const policy = await session.client.policies.get(name, givenOnly({ version, platform }), session);
  session.print(policy, () => policyText(session, policy));
}

function policyText(session: OnlineSession, policy: PolicyDetail): string {
  const { paint } = session;
  const { match } = policy;
  const any = (names: readonly string[]): string | undefined => (names.length === 0 ? undefined : names.join(", "));
  const head = `${paint.bold(plainLine(`${policy.name}@${policy.version}`))}  ${plainLine(policy.reason)}\n\n`;
  const said = facts(
    [
      ["says", policy.decision],
      ["asks", policy.approval === null ? undefined : demandText(policy.approval)],
      ["obliges", obligationsText(policy.obligations)],
      ["when", policy.when ?? "always"],
      ["if absent", policy.missing ?? undefined],
      ["tools", any(match.tools) ?? "any"],
      ["agents", any(match.agents)],
      ["principals", any(match.principals)],
      ["environments", any(match.environments)],
      ["triggers", any(match.triggers)],
      ["level", policy.level],
      ["project", policy.project === "" ? undefined : policy.project],
      ["mode", policy.mode === "observe" ? "observe: recorded, changes nothing" : policy.mode],
      ["status", policy.status],
      ["versions", policy.versions.join(", ")],
      ["published", `${instantText(policy.published_at, session.io.now())} by ${policy.published_by}`],
      ["document", `sha256 ${policy.digest}`],
    ],
    paint.dim,
  );
  return `${head}${said}\n${paint.bold("document")}\n${prettyJson(policy.document)}`;
}

/** `2 people with role finance within 24 h, not the requester; then finance-lead is asked`. */
function demandText(demand: PolicyApproval): string {
  const people = demand.approvals === 1 ? "1 person" : `${demand.approvals} people`;
  const role = demand.route === "" ? "" : ` with role ${demand.route}`;
  const others = demand.distinct_from_requester ? ", not the requester" : "";
  const then = { deny: "it is denied", allow: "it is allowed", escalate: `${demand.escalate_to ?? "others"} is asked` };
  return `${people}${role} within ${durationText(demand.timeout_ms)}${others}; then ${then[demand.on_timeout]}`;
}

function obligationsText({ limits, sandbox, egress, paths }: PolicyObligations): string | undefined {
  const list = (names: readonly string[]): string => (names.length === 0 ? "none" : names.join(", "));
  const parts = [
    ...Object.entries(limits).map(([name, value]) => `${name} ${value}`),
    sandbox === undefined ? [] : [`sandbox at least ${sandbox}`],
    egress === undefined ? [] : [`egress ${list(egress)}`],
    ...Object.entries(paths ?? {}).map(([name, places]) => `${name} ${list(places)}`),
  ].flat();
  return parts.length === 0 ? undefined : parts.join("; ");
}
