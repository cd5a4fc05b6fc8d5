// `signalbox validate`: checks manifests and policies without a runtime, and tells every problem of all of them in one go.
import type { Command } from "commander";
import { exitCodes } from "../exit-codes.ts";
import { findDocuments } from "../../adapters/files/manifest-files.ts";
import type { ManifestFile } from "../../adapters/files/manifest-files.ts";
import type { ManifestSource, PlacedProblem, SourceOutcome } from "../../adapters/files/manifest-source.ts";
import type { Problem } from "../../document/problems.ts";
import type { KnownTool } from "../../policy/document/when.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { plainLine } from "../text.ts";

type Kind = "tool" | "policy" | "agent";

interface Checked {
  readonly file: ManifestFile;
  readonly kind: Kind;
  /** `name@version`, where it can be told. */
  readonly name: string | undefined;
  readonly problems: readonly PlacedProblem[];
  readonly warnings: readonly PlacedProblem[];
}

export function addValidate(program: Command, runs: Runs): void {
  runs.offline(
    program
      .command("validate")
      .description("check manifests and policies, without a runtime")
      .argument(
        "<path...>",
        "their files, or folders with tool.yaml, agent.yaml and *.policy.yaml files below them; conditions are checked against the tools among them",
      ),
    validate,
  );
}

async function validate(session: Session, paths: readonly string[]): Promise<Outcome> {
  const found = await readAll(await findDocuments(session.io.cwd, paths));
  const tools = await toolsIn(found);
  const checked: Checked[] = [];
  for (const one of found) checked.push(await checkFile(session, one, { before: checked, tools }));
  const items = checked.map(({ file, kind, name, problems, warnings }) => ({
    file: file.shown,
    ok: problems.length === 0,
    [kind]: name ?? null,
    problems: problems.map(asJson),
    warnings: warnings.map(asJson),
  }));
  session.print({ items }, () => checked.map((one) => textOf(session, one)).join(""));
  return items.every(({ ok }) => ok) ? exitCodes.ok : exitCodes.failed;
}

function asJson({ path, line, message, hint }: PlacedProblem): Record<string, unknown> {
  return { path, line: line ?? null, message, hint: hint ?? null };
}

interface Found {
  readonly file: ManifestFile;
  readonly read: SourceOutcome;
}

async function readAll(files: readonly ManifestFile[]): Promise<readonly Found[]> {
  const { readSource } = await import("../../adapters/files/manifest-source.ts");
  const found: Found[] = [];
  for (const file of files) found.push({ file, read: await readSource(file) });
  return found;
}

/** Policies are checked against the tools that are given beside them; of all others any field may be absent. */
async function toolsIn(found: readonly Found[]): Promise<readonly KnownTool[]> {
  const sources = found.flatMap(({ read }) => (read.ok ? [read.source] : []));
  if (!sources.some(({ document }) => kindOf(document) === "policy")) return [];
  const [{ readManifest }, { inputShape }] = await Promise.all([
    import("../../registry/manifest.ts"),
    import("../../policy/condition/shape.ts"),
  ]);
  return sources.flatMap(({ document, files }) => {
    const manifest = kindOf(document) === "tool" ? readManifest(document, files) : undefined;
    if (manifest?.ok !== true) return [];
    const { metadata, spec } = manifest;
    return [{ name: metadata.name, input: () => inputShape(spec.input) }];
  });
}

async function checkFile(
  session: Session,
  { file, read }: Found,
  { before, tools }: { readonly before: readonly Checked[]; readonly tools: readonly KnownTool[] },
): Promise<Checked> {
  if (!read.ok) return { file, kind: "tool", name: undefined, problems: read.problems, warnings: [] };
  const { source } = read;
  const placed = (problem: Problem): PlacedProblem => ({ ...problem, line: source.lineOf(problem.path) });
  const kind = kindOf(source.document);
  const { name, problems, warnings } = await checks[kind](session, file, source, tools);
  const twin = before.find((one) => name !== undefined && one.kind === kind && one.name === name);
  const twice: Problem = {
    path: "metadata.version",
    message: `${name} is in ${twin?.file.shown} too`,
    hint: "give one of them another version",
  };
  return {
    file,
    kind,
    name,
    problems: [...problems, ...(twin === undefined ? [] : [twice])].map(placed),
    warnings: warnings.map(placed),
  };
}

function kindOf(document: unknown): Kind {
  const kind = typeof document === "object" && document !== null && "kind" in document ? document.kind : undefined;
  if (kind === "Policy") return "policy";
  return kind === "Agent" ? "agent" : "tool";
}

type Check = (session: Session, file: ManifestFile, source: ManifestSource, tools: readonly KnownTool[]) => Promise<Findings>;

const checks: Readonly<Record<Kind, Check>> = {
  tool: (session, _file, source) => checkTool(session, source),
  policy: (_session, _file, source, tools) => checkPolicy(source, tools),
  agent: async (session, { path }, source) => (await import("../agent-check.ts")).checkAgentFile(session.io, path, source),
};

interface Findings {
  readonly name: string | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** The tools of the runtime are not known here: publishing checks against those. */
async function checkPolicy({ document }: ManifestSource, tools: readonly KnownTool[]): Promise<Findings> {
  const { readPolicy } = await import("../../policy/document.ts");
  const read = readPolicy(document, { tools });
  if (!read.ok) return { name: undefined, problems: read.problems, warnings: [] };
  return { name: `${read.policy.name}@${read.policy.version}`, problems: [], warnings: read.warnings };
}

async function checkTool(session: Session, { document, files }: ManifestSource): Promise<Findings> {
  const [{ readManifest }, { compileToolSchemas }] = await Promise.all([
    import("../../registry/manifest.ts"),
    import("../../registry/schema.ts"),
  ]);
  const manifest = readManifest(document, files);
  if (!manifest.ok) return { name: undefined, problems: manifest.problems, warnings: [] };
  const compiled = compileToolSchemas(manifest.spec);
  const schemaWarnings = compiled.ok ? [...compiled.input.warnings, ...(compiled.output?.warnings ?? [])] : [];
  return {
    name: `${manifest.metadata.name}@${manifest.metadata.version}`,
    problems: compiled.ok ? [] : compiled.problems,
    warnings: [...manifest.warnings, ...schemaWarnings, ...unsetSecrets(session, manifest.spec.secrets)],
  };
}

/** Only a warning: the machine that checks a manifest need not be the one that has its secrets. */
function unsetSecrets(
  session: Session,
  secrets: Readonly<Record<string, string>>,
): readonly { path: string; message: string; hint: string }[] {
  return Object.entries(secrets)
    .filter(([name]) => (session.io.env[name] ?? "") === "")
    .map(([name, reference]) => ({
      path: `spec.secrets.${name}`,
      message: `the variable ${name} is not set here`,
      hint: `a runtime that takes ${reference} from its environment needs it`,
    }));
}

function textOf(session: Session, { file, name, problems, warnings }: Checked): string {
  const { paint } = session;
  const line = (word: string, { path, line: at, message, hint }: PlacedProblem): string => {
    const place = at === undefined ? file.shown : `${file.shown}:${at}`;
    const what = path === "" ? message : `${path} ${message}`;
    return `${plainLine(place)}: ${word} ${plainLine(what)}\n${hint === undefined ? "" : `    ${plainLine(hint)}\n`}`;
  };
  const said = [
    ...problems.map((problem) => line(paint.red("problem:"), problem)),
    ...warnings.map((warning) => line(paint.yellow("warning:"), warning)),
  ].join("");
  return problems.length > 0
    ? said
    : `${said}${plainLine(file.shown)}: ${paint.green("ok")}${name === undefined ? "" : ` ${plainLine(name)}`}\n`;
}
