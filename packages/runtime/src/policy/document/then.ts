// Reads `spec.then`: what a rule decides, whom it asks, and what it obliges a call to.
import { limits } from "@signalbox/protocol";
import {
  field,
  readBoolean,
  readChoice,
  readDuration,
  readFields,
  readInteger,
  readList,
  readRequiredText,
  readSize,
  readText,
  type Range,
  type TextRule,
} from "../../document/fields.ts";
import { readPart } from "../../document/header.ts";
import { refuse, shown, under, type Notes } from "../../document/problems.ts";
import { policyBounds } from "../bounds.ts";
import { readHost } from "../permission-host.ts";
import { readPath } from "../permission-path.ts";
import {
  outcomes,
  sandboxNames,
  type ApprovalDemand,
  type ObligedLimit,
  type Obligations,
  type OnReject,
  type OnTimeout,
  type Policy,
} from "../types.ts";

const reasonRule: TextRule = {
  charsMax: policyBounds.reasonCharsMax,
  hint: "one sentence for whoever is refused or asked",
};
const roleRule: TextRule = {
  charsMax: policyBounds.roleCharsMax,
  pattern: /^[A-Za-z0-9_](?:[A-Za-z0-9_.:/-]*[A-Za-z0-9_])?$/,
  hint: "the name of a role, like finance",
};

export type Consequence = Pick<Policy, "decision" | "reason" | "approval" | "obligations">;

export function readThen(value: unknown, path: string, notes: Notes): Consequence | undefined {
  const fields = readFields(value, path, ["decision", "reason", "approval", "obligations"], notes);
  if (fields === undefined) return undefined;
  const decision = readPart(fields, "decision", path, notes, (given, here) => readChoice(given, here, outcomes, notes));
  const reasonless = decision === "allow" && field(fields, "reason") === undefined;
  const reason = reasonless ? "" : readRequiredText(fields, "reason", path, reasonRule, notes);
  const [asked, obliged] = [field(fields, "approval"), field(fields, "obligations")];
  const approval = asked === undefined ? null : readApproval(asked, under(path, "approval"), notes);
  const obligations =
    obliged === undefined ? { limits: {} } : readObligations(obliged, under(path, "obligations"), notes);
  if (decision === "require_approval" && asked === undefined)
    refuse(notes, under(path, "approval"), "is required: somebody must be asked", "approval: { route: the-role }");
  if (decision !== undefined && decision !== "require_approval" && asked !== undefined)
    refuse(notes, under(path, "approval"), `has no effect with decision ${decision}`);
  if (decision === "deny" && obliged !== undefined)
    refuse(notes, under(path, "obligations"), "has no effect with decision deny: nothing runs");
  if (decision === undefined || reason === undefined || approval === undefined || obligations === undefined)
    return undefined;
  return { decision, reason, approval, obligations };
}

const approvalKeys = [
  "route",
  "approvals",
  "distinct_from_requester",
  "timeout",
  "on_timeout",
  "on_reject",
  "escalate_to",
  "comprehension",
];

function readApproval(value: unknown, path: string, notes: Notes): ApprovalDemand | undefined {
  const fields = readFields(value, path, approvalKeys, notes);
  const optional = <T>(key: string, fallback: T, read: (given: unknown, here: string) => T | undefined): T => {
    const given = field(fields, key);
    return given === undefined ? fallback : (read(given, under(path, key)) ?? fallback);
  };
  const flag = (key: string, fallback: boolean): boolean =>
    optional(key, fallback, (given, here) => readBoolean(given, here, notes));
  const times: Range = { min: policyBounds.approvalTimeoutMsMin, max: policyBounds.approvalTimeoutMsMax };
  const route = readRequiredText(fields, "route", path, roleRule, notes);
  const onTimeout = optional<OnTimeout>("on_timeout", "deny", (given, here) =>
    readChoice<OnTimeout>(given, here, ["deny", "allow", "escalate"], notes),
  );
  const escalateTo = optional<string | null>("escalate_to", null, (given, here) =>
    readText(given, here, roleRule, notes),
  );
  if (onTimeout === "escalate" && field(fields, "escalate_to") === undefined)
    refuse(notes, under(path, "escalate_to"), "is required with on_timeout: escalate", "name the role that takes over");
  if (onTimeout !== "escalate" && escalateTo !== null)
    refuse(notes, under(path, "escalate_to"), `has no effect with on_timeout: ${onTimeout}`, "on_timeout: escalate");
  const demand = {
    approvals: optional("approvals", 1, (given, here) =>
      readInteger(given, here, { min: 1, max: policyBounds.approvalsMax }, notes),
    ),
    distinctFromRequester: flag("distinct_from_requester", true),
    timeoutMs: optional<number>("timeout", policyBounds.approvalTimeoutMs, (given, here) =>
      readDuration(given, here, times, notes),
    ),
    onTimeout,
    onReject: optional<OnReject>("on_reject", "return_to_agent", (given, here) =>
      readChoice<OnReject>(given, here, ["return_to_agent", "fail"], notes),
    ),
    escalateTo,
    comprehension: flag("comprehension", false),
  };
  return route === undefined ? undefined : { route, ...demand };
}

const TiB = 1_024 ** 4;

/** A key of the document, where it goes, how it is read, and its range. */
const limitKeys: Readonly<
  Record<string, { readonly as: ObligedLimit; readonly read: typeof readInteger; readonly max: number }>
> = {
  timeout: { as: "timeoutMs", read: readDuration, max: limits.runTimeoutMsMax },
  cpu: { as: "cpu", read: readInteger, max: 256 },
  cpu_seconds: { as: "cpuSeconds", read: readInteger, max: 86_400 },
  memory_bytes: { as: "memoryBytes", read: readSize, max: TiB },
  disk_bytes: { as: "diskBytes", read: readSize, max: TiB },
  pids: { as: "pids", read: readInteger, max: 32_768 },
  fds: { as: "fds", read: readInteger, max: 1_048_576 },
  output_bytes: { as: "outputBytes", read: readSize, max: limits.workMessageBytesMax },
  egress_bytes: { as: "egressBytes", read: readSize, max: TiB },
};

function readObligations(value: unknown, path: string, notes: Notes): Obligations | undefined {
  const fields = readFields(value, path, ["limits", "sandbox", "egress", "paths"], notes);
  if (fields === undefined) return undefined;
  const [backend, hosts, places] = [field(fields, "sandbox"), field(fields, "egress"), field(fields, "paths")];
  const sandbox = backend === undefined ? undefined : readChoice(backend, under(path, "sandbox"), sandboxNames, notes);
  const egress =
    hosts === undefined
      ? undefined
      : readList(hosts, under(path, "egress"), notes, (item, here) =>
          readPlace(item, here, notes, (text) => readHost(text)),
        );
  const paths = places === undefined ? undefined : readPaths(places, under(path, "paths"), notes);
  return {
    limits: readLimits(field(fields, "limits"), under(path, "limits"), notes),
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(egress === undefined ? {} : { egress }),
    ...(paths === undefined ? {} : { paths }),
  };
}

function readLimits(value: unknown, path: string, notes: Notes): Obligations["limits"] {
  const fields = value === undefined ? undefined : readFields(value, path, Object.keys(limitKeys), notes);
  const read: Partial<Record<ObligedLimit, number>> = {};
  for (const [key, { as, read: reader, max }] of Object.entries(limitKeys)) {
    const given = field(fields, key);
    const limit = given === undefined ? undefined : reader(given, under(path, key), { min: 1, max }, notes);
    if (limit !== undefined) read[as] = limit;
  }
  return read;
}

function readPaths(value: unknown, path: string, notes: Notes): Obligations["paths"] {
  const fields = readFields(value, path, ["read", "write"], notes);
  const list = (key: string): readonly string[] | undefined => {
    const given = field(fields, key);
    if (given === undefined) return undefined;
    return readList(given, under(path, key), notes, (item, here) =>
      readPlace(item, here, notes, (text) => readPath(text, true)),
    );
  };
  const [read, write] = [list("read"), list("write")];
  return { ...(read === undefined ? {} : { read }), ...(write === undefined ? {} : { write }) };
}

function readPlace(
  item: unknown,
  path: string,
  notes: Notes,
  read: (text: string) => { readonly ok: true } | { readonly ok: false; readonly reason: string },
): string | undefined {
  const text = readText(item, path, { charsMax: limits.pathCharsMax }, notes);
  const place = text === undefined ? undefined : read(text);
  if (place === undefined || place.ok) return text;
  refuse(notes, path, `${shown(text)} is not accepted`, place.reason);
  return undefined;
}
