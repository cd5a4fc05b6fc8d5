// `signalbox validate`: checks manifests without a runtime, and tells every problem of all of them in one go.
import type { Command } from "commander";
import { exitCodes } from "../exit-codes.ts";
import { findManifests } from "../../adapters/files/manifest-files.ts";
import type { ManifestFile } from "../../adapters/files/manifest-files.ts";
import type { PlacedProblem } from "../../adapters/files/manifest-source.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { plainLine } from "../text.ts";

interface Checked {
  readonly file: ManifestFile;
  /** `tool@version`, where it can be told. */
  readonly tool: string | undefined;
  readonly problems: readonly PlacedProblem[];
  readonly warnings: readonly PlacedProblem[];
}

export function addValidate(program: Command, runs: Runs): void {
  runs.offline(
    program
      .command("validate")
      .description("check manifests, without a runtime")
      .argument("<path...>", "manifest files, or folders with tool.yaml files below them"),
    validate,
  );
}

async function validate(session: Session, paths: readonly string[]): Promise<Outcome> {
  const checked: Checked[] = [];
  for (const file of await findManifests(session.io.cwd, paths)) checked.push(await checkFile(session, file, checked));
  const items = checked.map(({ file, tool, problems, warnings }) => ({
    file: file.shown,
    ok: problems.length === 0,
    tool: tool ?? null,
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
  const [{ readSource }, { readManifest }, { compileToolSchemas }] = await Promise.all([
    import("../../adapters/files/manifest-source.ts"),
    import("../../registry/manifest.ts"),
    import("../../registry/schema.ts"),
  ]);
  const read = await readSource(file);
  if (!read.ok) return { file, tool: undefined, problems: read.problems, warnings: [] };
  const { source } = read;
  const placed = (problem: {
    readonly path: string;
    readonly message: string;
    readonly hint?: string;
  }): PlacedProblem => ({
    ...problem,
    line: source.lineOf(problem.path),
  });
  const manifest = readManifest(source.document, source.files);
  if (!manifest.ok) return { file, tool: undefined, problems: manifest.problems.map(placed), warnings: [] };
  const tool = `${manifest.metadata.name}@${manifest.metadata.version}`;
  const compiled = compileToolSchemas(manifest.spec);
  const twin = before.find((one) => one.tool === tool);
  const problems = [
    ...(compiled.ok ? [] : compiled.problems),
    ...(twin === undefined
      ? []
      : [
          {
            path: "metadata.version",
            message: `${tool} is in ${twin.file.shown} too`,
            hint: "give one of them another version",
          },
        ]),
  ];
  const schemaWarnings = compiled.ok ? [...compiled.input.warnings, ...(compiled.output?.warnings ?? [])] : [];
  const warnings = [...manifest.warnings, ...schemaWarnings, ...unsetSecrets(session, manifest.spec.secrets)];
  return { file, tool, problems: problems.map(placed), warnings: warnings.map(placed) };
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

function textOf(session: Session, { file, tool, problems, warnings }: Checked): string {
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
    : `${said}${plainLine(file.shown)}: ${paint.green("ok")}${tool === undefined ? "" : ` ${plainLine(tool)}`}\n`;
}
