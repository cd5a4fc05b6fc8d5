// `signalbox policies explain` and `test`: what would happen to a call, and why, without making it.
import type { PolicyCaseResult, PolicyExplanation } from "@signalbox/client";
import type { Command } from "commander";
import { findPolicies } from "../../adapters/files/manifest-files.ts";
import { readDocument, readNamed } from "../documents.ts";
import { exitCodes } from "../exit-codes.ts";
import { readJsonText } from "../json-input.ts";
import { parseExact, prettyJson } from "../json.ts";
import type { Paint } from "../paint.ts";
import { givenOnly, toolAndVersion } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plain, plainLine } from "../text.ts";

interface ExplainOptions {
  readonly input?: string;
  readonly version?: string;
  readonly principal?: string;
  readonly role?: readonly string[];
  readonly agent?: string;
  readonly environment?: string;
  readonly trigger?: string;
  readonly project?: string;
  readonly context?: string;
  readonly now?: string;
}

interface TestOptions {
  readonly policies?: readonly string[];
}

export function addPolicyQuestions(policies: Command, runs: Runs): void {
  runs.operator<ExplainOptions>(
    policies
      .command("explain")
      .description("what would happen to a call, and why; nothing is run and nothing stored")
      .argument("<tool>", "its name, or name@version")
      .option("--input <json>", "the arguments: JSON, @file or -; without them only rules that read none are heard")
      .option("--version <version>", "a version or a range of the tool")
      .option("--principal <principal>", "who calls; without it this key's principal")
      .option("--role <roles...>", "the roles of that principal")
      .option("--agent <agent>", "the agent that calls")
      .option("--environment <name>", "the project's environment, if it were another")
      .option("--trigger <trigger>", "what went wrong after it was allowed: dispatch.no_handler, limit.steps …")
      .option("--project <project>", "the project; without it the key's")
      .option("--context <json>", "the caller's context: JSON, @file or -")
      .option("--now <instant>", "when it happens, like 2027-01-31T12:00:00Z"),
    explainCall,
  );
  runs.operator<TestOptions>(
    policies
      .command("test")
      .description("run a file of cases against the policies in force; exit code 1 when one fails")
      .argument("<cases>", "a YAML or JSON file of cases")
      .option("--policies <path...>", "policies that are tried as if they were published"),
    testPolicies,
  );
}

async function explainCall(session: OnlineSession, args: readonly string[], options: ExplainOptions): Promise<Outcome> {
  const { tool, version } = toolAndVersion(args[0] ?? "", options.version);
  session.about.tool = tool;
  const { principal, role: roles, agent, environment, trigger, project, now } = options;
  const json = (flag: string, text: string | undefined): Promise<string> | undefined =>
    text === undefined ? undefined : readJsonText(session.io, flag, text);
  const inputText = await json("--input", options.input);
  const contextText = await json("--context", options.context);
  const context =
    contextText === undefined ? undefined : (parseExact(contextText) as Readonly<Record<string, unknown>>);
  const given = { version, principal, roles, agent, environment, trigger, project, now, context, inputText };
  const explanation = await session.client.policies.explain({ tool, ...givenOnly(given) }, session);
  session.print(explanation, () => explanationText(explanation, session.paint));
}

function explanationText(explanation: PolicyExplanation, paint: Paint): string {
  const { missing_permissions: missing, input_errors: errors, lines, decision } = explanation;
  const [head = "", ...rest] = lines;
  const color = decision === "deny" ? paint.red : decision === "require_approval" ? paint.yellow : paint.green;
  return [
    missing.length === 0
      ? ""
      : `${paint.red("The call would be denied before any rule is heard.")} The principal lacks:\n` +
        missing.map((permission) => `  ${plainLine(permission)}\n`).join(""),
    errors === null
      ? ""
      : `${paint.red("The input does not match the tool's schema:")}\n${errors.map((one) => `  ${errorText(one)}\n`).join("")}`,
    missing.length === 0 && errors === null ? "" : "Apart from that:\n",
    `${decision === null ? plain(head) : color(plain(head))}\n`,
    ...rest.map((line) => `${plain(line)}\n`),
  ].join("");
}

function errorText(error: unknown): string {
  const { pointer, message } = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  if (typeof message !== "string") return plainLine(prettyJson(error).trimEnd());
  return plainLine(`${typeof pointer === "string" && pointer !== "" ? pointer : "(whole)"}: ${message}`);
}

async function testPolicies(
  session: OnlineSession,
  [shown = ""]: readonly string[],
  { policies: paths }: TestOptions,
): Promise<Outcome> {
  const cases = await readNamed(session.io, shown);
  const policies: unknown[] = [];
  for (const file of paths === undefined ? [] : await findPolicies(session.io.cwd, paths))
    policies.push((await readDocument(file, `signalbox validate ${file.shown}`)).document);
  const result = await session.client.policies.test({ cases, ...(paths === undefined ? {} : { policies }) }, session);
  session.print(result, () => result.items.map((one) => caseText(one, session.paint)).join(""));
  const failed = result.failed === 0 ? "" : `, ${result.failed} failed`;
  session.remark(`${result.passed} passed${failed}`);
  return result.failed === 0 ? exitCodes.ok : exitCodes.failed;
}

function caseText({ name, passed, failures, explanation }: PolicyCaseResult, paint: Paint): string {
  if (passed) return `${paint.green("ok")}      ${plainLine(name)}\n`;
  const indented = (lines: readonly string[], by: string): string =>
    lines.map((line) => `${by}${plain(line)}\n`).join("");
  return `${paint.red("FAILED")}  ${plainLine(name)}\n${indented(failures, "        ")}${indented(explanation, "          ")}`;
}
