// A command on a real terminal, for tests of what somebody sees and types there.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface Terminal {
  /** As from the keyboard; `\x03` is Ctrl-C. */
  type(text: string): void;
  /** Everything that was shown so far. */
  shown(): string;
  /** Resolves when `text` has been shown, behind what an earlier call waited for. @throws Error with what was shown, after `ms` */
  shows(text: string, ms?: number): Promise<void>;
  readonly ended: Promise<number | null>;
  kill(): void;
}

const script = fileURLToPath(new URL("python/terminal.py", import.meta.url));
const waitMs = 15_000;

export function openTerminal(command: readonly string[], options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> }): Terminal {
  const child = spawn("python3", [script, ...command], {
    cwd: options.cwd,
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NODE_OPTIONS: "", VITEST: "", NODE_ENV: "", NO_COLOR: "1", TERM: "xterm", ...options.env },
  });
  let shown = "";
  let seen = 0;
  let heard: () => void = () => undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
    heard();
  });
  // Its end may come before what is typed last.
  child.stdin.on("error", () => undefined);
  return {
    type: (text) => void child.stdin.write(text),
    shown: () => shown,
    async shows(text, ms = waitMs) {
      const until = performance.now() + ms;
      for (let at = shown.indexOf(text, seen); ; at = shown.indexOf(text, seen)) {
        if (at !== -1) {
          seen = at + text.length;
          return;
        }
        const left = until - performance.now();
        if (left <= 0) throw new Error(`the terminal did not show ${JSON.stringify(text)}; behind what was waited for it showed ${JSON.stringify(shown.slice(seen))}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left);
          heard = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    ended: new Promise((resolve) => child.once("close", resolve)),
    kill: () => void child.kill("SIGKILL"),
  };
}
