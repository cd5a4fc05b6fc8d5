// The `signalbox` process: hands the real world to the command line and leaves with its exit code.
import { Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { Io } from "./io.ts";
import { runCli } from "./program.ts";

const io: Io = {
  stdout: process.stdout,
  stderr: process.stderr,
  readStdin: () => text(process.stdin),
  onStdinEnd(listener) {
    process.stdin.resume().once("end", listener).once("error", listener);
    if (process.stdin instanceof Socket) process.stdin.unref();
  },
  async openConsole() {
    if (process.stdin.isTTY !== true || process.stdout.isTTY !== true) return undefined;
    return (await import("./console.ts")).openConsole(process.stdin, process.stdout);
  },
  env: process.env,
  cwd: process.cwd(),
  isTTY: process.stdout.isTTY === true,
  errIsTTY: process.stderr.isTTY === true,
  size: () => {
    const { columns, rows, isTTY } = process.stdout;
    return isTTY === true && columns > 0 && rows > 0 ? { columns, rows } : undefined;
  },
  now: Date.now,
  // The global one: importing node:crypto costs every command 14 ms.
  newId: () => crypto.randomUUID(),
  onStop(listener) {
    const onInterrupt = (): void => listener("SIGINT");
    const onTerminate = (): void => listener("SIGTERM");
    process.on("SIGINT", onInterrupt).on("SIGTERM", onTerminate);
    return () => process.off("SIGINT", onInterrupt).off("SIGTERM", onTerminate);
  },
  exitNow: (code) => process.exit(code),
  delays: { progressAfterMs: 1_000, lookFirstMs: 200, lookMsMax: 2_000, followMs: 1_000, completeMsMax: 1_000 },
  compose: () => import("../compose.ts"),
  boxes: () => import("../boxes/worker.ts"),
};

// `signalbox calls list | head` closes the pipe early; that is no error of anybody.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

process.exitCode = await runCli(process.argv.slice(2), io);
