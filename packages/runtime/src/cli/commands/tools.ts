// `signalbox tools`: finds and shows tools, registers manifests and chooses the active version.
import type { RegisteredTool, ToolDetail } from "@signalbox/client";
import type { Command } from "commander";
import { dirname } from "node:path";
import { readDocument } from "../documents.ts";
import { exitCodes } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { CliError, reportFailure } from "../failure.ts";
import { prettyJson } from "../json.ts";
import { findManifests } from "../../adapters/files/manifest-files.ts";
import type { ManifestFile } from "../../adapters/files/manifest-files.ts";
import { paintFor } from "../paint.ts";
import { givenOnly, pageFlags, pageOptions, remarkMore, toolAndVersion } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { facts } from "../table.ts";
import { plainLine } from "../text.ts";
import { durationText, instantText } from "../times.ts";
import { addToolPermits } from "./tool-permits.ts";
import { addToolVersions } from "./tool-versions.ts";

interface ListOptions {
  readonly category?: string;
  readonly owner?: string;
  readonly label?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

export function addTools(program: Command, runs: Runs): void {
  const tools = program.command("tools").description("find, show and register tools, and say which may run");
  runs.operator<ListOptions>(
    narrowing(tools.command("list").description("the tools that this key may see")),
    (session, _words, options) => listTools(session, undefined, options),
  );
  runs.operator<ListOptions>(
    narrowing(
      tools
        .command("search")
        .description("tools whose name, description, category, owner or labels hold every word")
        .argument("<words...>"),
    ),
    (session, words, options) => listTools(session, words.join(" "), options),
  );
  runs.operator<{ readonly version?: string }>(
    tools
      .command("show")
      .description("one tool: its versions, schemas and limits")
      .argument("<tool>", "its name, or name@version")
      .option("--version <version>", "a version or a range"),
    showTool,
  );
  runs.operator<{ readonly activate?: boolean }>(
    tools
      .command("register")
      .description("register manifests; the same manifest again changes nothing")
      .argument("<path...>", "manifest files, or folders with tool.yaml files below them")
      .option("--activate", "make each registered version the active one")
      .option("--no-activate", "leave the active version as it is"),
    registerTools,
  );
  runs.operator(
    tools
      .command("activate")
      .description("choose the version that answers when a caller names none")
      .argument("<tool>", "its name, or name@version")
      .argument("[version]"),
    activateTool,
  );
  addToolVersions(tools, runs);
  addToolPermits(tools, runs);
}

function narrowing(command: Command): Command {
  return pageOptions(
    command
      .option("--category <category>", "tools of this category only")
      .option("--owner <owner>", "tools of this owner only")
      .option("--label <label>", "tools with this label only: name=value, or name"),
  );
}

async function listTools(session: OnlineSession, search: string | undefined, options: ListOptions): Promise<Outcome> {
  const { category, owner, label } = options;
  const page = await session.client.tools.list(
    { ...givenOnly({ search, category, owner, label }), ...pageFlags(options) },
    session,
  );
  session.print(page, () =>
    session.table(page.items, [
      { title: "TOOL", cell: (tool) => tool.tool },
      { title: "ACTIVE", cell: (tool) => tool.active_version ?? "(none)" },
      { title: "CLASS", cell: (tool) => tool.side_effect_class },
      { title: "EXECUTOR", cell: (tool) => tool.executor },
      { title: "DESCRIPTION", cell: (tool) => tool.description, shrinks: true },
    ]),
  );
  if (page.items.length === 0) {
    const narrowed = [search, category, owner, label].some((one) => one !== undefined);
    const next = narrowed ? "signalbox tools list" : "signalbox init hello && signalbox tools register hello";
    session.remark(`no tools\nnext:  ${next}`);
  }
  remarkMore(session, page);
}

async function showTool(
  session: OnlineSession,
  args: readonly string[],
  options: { readonly version?: string },
): Promise<Outcome> {
  const { tool, version } = toolAndVersion(args[0] ?? "", options.version);
  session.about.tool = tool;
  const detail = await session.client.tools.get(tool, givenOnly({ version }), session);
  session.print(detail, () => toolText(session, detail));
}

function toolText(session: OnlineSession, { version, ...tool }: ToolDetail): string {
  const { spec } = version;
  const name = session.paint.bold(plainLine(`${tool.tool}@${version.version}`));
  return [
    `${name}  ${plainLine(version.description)}\n\n`,
    facts(
      [
        ["active", tool.active_version ?? "(none)"],
        ["versions", tool.versions.join(", ")],
        ["owner", version.owner],
        ["class", spec.side_effect_class],
        ["executor", String(spec.executor["type"])],
        ["workers", String(tool.workers)],
        ["permissions", spec.permissions.length === 0 ? "none" : spec.permissions.join(", ")],
        ["timeout", durationText(spec.timeout_ms)],
        ["unknown end", spec.on_indeterminate === "ask" ? "a person is asked" : "fails"],
        ["trust", version.trust],
        ["status", version.status],
        ["published", `${instantText(version.published_at, session.io.now())} by ${version.published_by}`],
        ["manifest", `sha256 ${version.manifest_digest}`],
      ],
      session.paint.dim,
    ),
    `\n${session.paint.bold("input")}\n${prettyJson(spec.input)}`,
    spec.output === undefined || spec.output === null
      ? ""
      : `\n${session.paint.bold("output")}\n${prettyJson(spec.output)}`,
  ].join("");
}

/** Goes on after a refused manifest, so that one run tells about all of them; the first refusal gives the exit code. */
async function registerTools(
  session: OnlineSession,
  paths: readonly string[],
  options: { readonly activate?: boolean },
): Promise<Outcome> {
  const done: RegisteredTool[] = [];
  let exitCode: ExitCode = exitCodes.ok;
  for (const file of await findManifests(session.io.cwd, paths)) {
    try {
      const tool = await register(session, file, options);
      done.push(tool);
      if (!session.json) session.io.stdout.write(registeredText(tool));
      for (const warning of tool.warnings) session.remark(`warning: ${file.shown}: ${plainLine(warning)}`);
    } catch (error) {
      if (session.signal.aborted) throw error;
      const { io, json } = session;
      const failed = reportFailure(error, { io, paint: paintFor(io, io.errIsTTY), json, file: file.shown });
      if (exitCode === exitCodes.ok) exitCode = failed;
    }
  }
  if (session.json) session.io.stdout.write(prettyJson({ items: done }));
  return exitCode;
}

async function register(
  session: OnlineSession,
  file: ManifestFile,
  options: { readonly activate?: boolean },
): Promise<RegisteredTool> {
  const { inlined } = await import("../../adapters/files/manifest-source.ts");
  const source = await readDocument(file, `signalbox validate ${file.shown}`);
  const document = inlined(source) as { readonly spec?: { readonly executor?: { readonly type?: unknown; readonly image?: unknown } } };
  // A sandbox tool's code stands beside its manifest, and goes along as it is.
  const { type, image } = document.spec?.executor ?? {};
  const brings = type === "sandbox" && image === undefined;
  const code = brings ? (await (await import("../package-upload.ts")).uploadPackage(session, dirname(file.path))).digest : undefined;
  return session.client.tools.register(document, givenOnly({ activate: options.activate, package: code }), session);
}

function registeredText({ tool, version, already_there, active }: RegisteredTool): string {
  return (
    plainLine(
      `${tool}@${version} ${already_there ? "was registered before" : "is registered"}${active ? ", active" : ""}`,
    ) + "\n"
  );
}

async function activateTool(session: OnlineSession, args: readonly string[]): Promise<Outcome> {
  const { tool, version } = toolAndVersion(args[0] ?? "", args[1]);
  session.about.tool = tool;
  if (version === undefined) throw new CliError("which version?", { next: `signalbox tools show ${tool}` });
  const record = await session.client.tools.activate(tool, version, session);
  session.print(record, () => plainLine(`${record.tool}@${record.active_version ?? ""} is active`) + "\n");
}
