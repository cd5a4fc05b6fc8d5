// Runs one command line with the shell of the box, passes on what it prints as it comes, and tells how it ended.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";

/** Of each stream, for the result; in JSON a byte can take six, and both must fit into one result. */
const keptBytesMax = 64 * 1024;
/** What was left running may hold the pipes open; it is waited for this long, and dies with the box. */
const lateOutputMs = 200;

/** Passes a stream on at the pace of who reads it, and keeps its beginning. */
function follow(from, to) {
  const kept = [];
  let bytes = 0;
  from.on("data", (chunk) => {
    if (bytes < keptBytesMax) kept.push(chunk.subarray(0, keptBytesMax - bytes));
    bytes += chunk.length;
    if (to.write(chunk)) return;
    from.pause();
    to.once("drain", () => from.resume());
  });
  return {
    isCut: () => bytes > keptBytesMax,
    // Where it was cut in the middle of a character, that character is left out.
    text: () => new TextDecoder().decode(Buffer.concat(kept), { stream: bytes > keptBytesMax }),
  };
}

const { command, stdin = "" } = JSON.parse(readFileSync(0, "utf8")).args;
const shell = spawn("/bin/sh", ["-c", command], {
  // The result and the events are this program's to write.
  stdio: ["pipe", "pipe", "pipe", "ignore", "ignore"],
  detached: true,
});
const out = follow(shell.stdout, process.stdout);
const err = follow(shell.stderr, process.stderr);
// A command that reads nothing of it has done no wrong.
shell.stdin.on("error", () => {});
shell.stdin.end(stdin);
process.on("SIGTERM", () => {
  if (shell.pid === undefined) return;
  try {
    process.kill(-shell.pid, "SIGTERM");
  } catch {
    // It has ended by itself.
  }
});

const [code, signal] = await new Promise((resolve, reject) => {
  shell.once("error", reject);
  shell.once("close", (...end) => resolve(end));
  shell.once("exit", (...end) => setTimeout(resolve, lateOutputMs, end));
});
const truncated = [...(out.isCut() ? ["stdout"] : []), ...(err.isCut() ? ["stderr"] : [])];
const exit_code = code ?? 128 + constants.signals[signal];
writeFileSync(3, JSON.stringify({ exit_code, stdout: out.text(), stderr: err.text(), truncated }));
process.exit(0);
