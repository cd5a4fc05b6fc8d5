// `signalbox validate`: checks manifests and policies without a runtime, and tells every problem of all of them in one go.
import type { Command } from "commander";
import { exitCodes } from "../exit-codes.ts";
import { findDocuments } from "../../adapters/files/manifest-files.ts";
import type { ManifestFile } from "../../adapters/files/manifest-files.ts";
import type { ManifestSource, PlacedProblem } from "../../adapters/files/manifest-source.ts";
import type { Problem } from "../../document/problems.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { plainLine } from "../text.ts";

interface Checked {
  readonly file: ManifestFile;
  readonly kind: "tool" | "policy";
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
      .argument("<path...>", "their files, or folders with tool.yaml and *.policy.yaml files below them"),
    validate,
  );
}

async function validate(session: Session, paths: readonly string[]): Promise<Outcome> {
  const checked: Checked[] = [];
  for (const file of await findDocuments(session.io.cwd, paths)) checked.push(await checkFile(session, file, checked));
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

async function checkFile(session: Session, file: ManifestFile, before: readonly Checked[]): Promise<Checked> {
  const { readSource } = await import("../../adapters/files/manifest-source.ts");
  const read = await readSource(file);
  if (!read.ok) return { file, kind: "tool", name: undefined, problems: read.problems, warnings: [] };
  const { source } = read;
  const placed = (problem: Problem): PlacedProblem => ({ ...problem, line: source.lineOf(problem.path) });
  const kind = isPolicy(source.document) ? "policy" : "tool";
  const { name, problems, warnings } = kind === "policy" ? await checkPolicy(source) : await checkTool(session, source);
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

function isPolicy(document: unknown): boolean {
  return typeof document === "object" && document !== null && "kind" in document && document.kind === "Policy";
}

interface Findings {
  readonly name: string | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** Without the tools that it is about: what a condition reads of their arguments is checked when it is published. */
async function checkPolicy({ document }: ManifestSource): Promise<Findings> {
  const { readPolicy } = await import("../../policy/document.ts");
  const read = readPolicy(document);
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
