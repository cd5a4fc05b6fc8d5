// The tree of commands, and the one function that runs a command line.
import { Command, CommanderError } from "commander";
import { addAgents } from "./commands/agents.ts";
import { addApprovals } from "./commands/approvals.ts";
import { addAudit } from "./commands/audit.ts";
import { addCalls } from "./commands/calls.ts";
import { addChat } from "./commands/chat.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDev } from "./commands/dev.ts";
import { addServe } from "./commands/serve.ts";
import { addFiles } from "./commands/files.ts";
import { addFreeze } from "./commands/freeze.ts";
import { addHelp } from "./commands/help.ts";
import { addGrants } from "./commands/grants.ts";
import { addInit } from "./commands/init.ts";
import { addKeys } from "./commands/keys.ts";
import { addLedger } from "./commands/ledger.ts";
import { addLimits } from "./commands/limits.ts";
import { addPolicies } from "./commands/policies.ts";
import { addProjects } from "./commands/projects.ts";
import { addRun } from "./commands/run.ts";
import { addSessions } from "./commands/sessions.ts";
import { addStatus } from "./commands/status.ts";
import { addTenants } from "./commands/tenants.ts";
import { addTools } from "./commands/tools.ts";
import { addUsage } from "./commands/usage.ts";
import { addValidate } from "./commands/validate.ts";
import { addWebhooks } from "./commands/webhooks.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addWorker } from "./commands/worker.ts";
import { addWorkers } from "./commands/workers.ts";
import { version } from "../version.ts";
import { treeOf } from "./command-tree.ts";
import type { CommandTree } from "./command-tree.ts";
import { examples } from "./examples.ts";
import { exitCodes, exitCodesHelp } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import { reportUsage } from "./failure.ts";
import { groupOf } from "./groups.ts";
import type { Io } from "./io.ts";
import { runsWith } from "./session.ts";
import type { Result } from "./session.ts";
import { wrongLine } from "./wrong-line.ts";

const epilogue = `
Where it connects:
  --url and --key, or SIGNALBOX_URL and SIGNALBOX_KEY, or the nearest
  .signalbox/client.json in this folder or above (\`signalbox dev\` writes one).
  With --platform (tenants, policies, limits, tools, freeze) it speaks as the platform's operator:
  SIGNALBOX_PLATFORM_KEY, or platform_key of that file.

${exitCodesHelp}`;

/** @param args the words after `signalbox`. Resolves to the exit code; never rejects. */
export async function runCli(args: readonly string[], io: Io): Promise<ExitCode> {
  const result: Result = { exitCode: exitCodes.ok };
  const program = buildProgram(io, result, args.includes("--json"));
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    // Commander has printed its help, its version or what is wrong with the line.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    throw error;
  }
  return result.exitCode;
}

/** Every command with its options and arguments, as data. */
export function commandTree(io: Io): CommandTree {
  return treeOf(buildProgram(io, { exitCode: exitCodes.ok }, false));
}

/** @param json what is wrong with the line is told as JSON */
function buildProgram(io: Io, result: Result, json: boolean): Command {
  const program = new Command("signalbox");
  program
    .description("Signalbox runs tools for AI agents: allowed, routed, run once, recorded.")
    .version(version, "-V, --version", "print the version")
    // Options of a command stand behind its name, so that `run --version` can mean the tool's.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => Math.min(io.size()?.columns ?? 80, 100),
      getErrHelpWidth: () => Math.min(io.size()?.columns ?? 80, 100),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText("after", epilogue);
  const runs = runsWith(io, result);
  for (const add of [
    addDev,
    addServe,
    addInit,
    addValidate,
    addDoctor,
    addWorker,
    addRun,
    addCalls,
    addApprovals,
    addFiles,
    addChat,
    addSessions,
    addTools,
    addAgents,
    addPolicies,
    addFreeze,
    addLimits,
    addTenants,
    addProjects,
    addKeys,
    addGrants,
    addStatus,
    addWorkers,
    addUsage,
    addAudit,
    addWebhooks,
    addLedger,
  ])
    add(program, runs);
  addCompletion(program, runs);
  addHelp(program, runs);
  for (const command of program.commands) command.helpGroup(groupOf(command.name()));
  const tree = treeOf(program);
  sameManners(program, [], (text, path, usage) => {
    const line = wrongLine(text, tree, path, usage);
    if (json) reportUsage(io, line.message, line.next);
    else io.stderr.write(`error: ${line.message}\nusage: ${line.usage}\nnext:  ${line.next}\n`);
  });
  return program;
}

/** A wrong command line is answered with how the right one looks, and where to read more; help ends with examples. */
function sameManners(
  command: Command,
  path: readonly string[],
  tellWrong: (text: string, path: readonly string[], usage: string) => void,
): void {
  command.helpCommand(false);
  command.configureOutput({ outputError: (text) => tellWrong(text, path, command.usage()) });
  const lines = examples[path.join(" ")] ?? [];
  if (lines.length > 0) command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);
  for (const child of command.commands) sameManners(child, [...path, child.name()], tellWrong);
}
