// Runs one child process in the foreground: signals reach it, its end becomes our exit code.
// @ts-check
import { spawn } from "node:child_process";
import { constants } from "node:os";

const notFound = 127; // what shells answer for a command that does not exist
const notRunnable = 126;

/** npm starts scripts through a shell that dies of a signal without passing it on; this often we look whether it still lives. */
const parentCheckMs = 300;

/**
 * Calls back once when the npm (or npx) that started this process has gone, which is all that a SIGTERM to it leaves
 * to be seen here. Started by anything else, a process may outlive its parent, as with nohup, and nothing is watched.
 * @param {() => void} callback
 * @returns {() => void} stops watching
 */
export function whenNpmIsGone(callback) {
  if (process.env.npm_execpath === undefined) return () => {};
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, parentCheckMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Runs a command to its end. SIGTERM and SIGHUP are passed on. SIGINT is not: the terminal sends it to the whole
 * process group, so the child has it already; we only must not die before the child has cleaned up.
 * @param {string} command a path, or a name to be found on `options.env.PATH`
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} options
 * @returns {Promise<number>} the child's exit code; 128 + signal number where a signal ended it; 126 or 127 where it could not start
 */
export function runChild(command, args, options) {
  return new Promise((resolve) => {
    /** @param {NodeJS.Signals} signal */
    const passOn = (signal) => child.kill(signal);
    const outlive = () => {};
    // Before the child exists: a signal between its start and our first handler would leave it without a parent.
    process.on("SIGTERM", passOn).on("SIGHUP", passOn).on("SIGINT", outlive);
    const child = spawn(command, args, options);
    const stopWatching = whenNpmIsGone(() => child.kill("SIGTERM"));

    /** @param {number} code */
    const end = (code) => {
      stopWatching();
      process.off("SIGTERM", passOn).off("SIGHUP", passOn).off("SIGINT", outlive);
      resolve(code);
    };
    child.once("exit", (code, signal) => end(signal === null ? (code ?? 1) : 128 + constants.signals[signal]));
    child.once("error", (error) => {
      // A failed kill is reported here as well; only a child without a pid never started.
      if (child.pid !== undefined) return;
      const missing = "code" in error && error.code === "ENOENT";
      const next = missing ? `is it installed? Run "npm ci" in the repository first` : error.message;
      process.stderr.write(`signalbox: cannot start ${command}: ${next}.\n`);
      end(missing ? notFound : notRunnable);
    });
  });
}
