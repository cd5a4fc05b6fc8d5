// The built command line, warm: runs commands for shells that would otherwise start a process for each, a quarter of a second every time.
// A shell sends folder, variables and words, each closed by a NUL; it gets lines back: o… and e… are text for stdout and stderr, x… the exit code.
import { randomUUID } from "node:crypto";
import { createServer, type AddressInfo, type Socket } from "node:net";
import type { Compose, Io } from "../../packages/runtime/src/cli/io.ts";

type RunCli = (args: readonly string[], io: Io) => Promise<number>;

const program = new URL("../../packages/runtime/dist/cli/program.js", import.meta.url);
const { runCli } = (await import(program.href)) as { readonly runCli: RunCli };

/** In the order in which the shell sends them. */
export const variables = ["SIGNALBOX_URL", "SIGNALBOX_KEY", "SIGNALBOX_PLATFORM_KEY"] as const;

/** As `printf %b` reads it. */
const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", String.raw`\n`);

function serve(socket: Socket): void {
  let heard = "";
  socket.setEncoding("utf8").on("error", () => undefined);
  socket.on("data", (chunk: string) => {
    heard += chunk;
    const words = heard.split("\0");
    const head = 2 + variables.length;
    const count = Number(words[head - 1]);
    if (words.length <= head + count) return;
    socket.removeAllListeners("data").resume();
    void run(socket, words[0] ?? "/", words.slice(1, head - 1), words.slice(head, head + count));
  });
}

async function run(socket: Socket, cwd: string, values: readonly string[], args: readonly string[]): Promise<void> {
  const tell = (kind: "o" | "e" | "x", text: string): void => {
    if (text !== "" && socket.writable) socket.write(`${kind}${escaped(text)}\n`);
  };
  const notHere = (): Promise<never> => Promise.reject(new Error("this needs a process of its own"));
  const io: Io = {
    stdout: { write: (text) => tell("o", text) },
    stderr: { write: (text) => tell("e", text) },
    readStdin: async () => "",
    onStdinEnd: () => undefined,
    openConsole: async () => undefined,
    env: Object.fromEntries(variables.map((name, index) => [name, values[index] ?? ""])),
    cwd,
    isTTY: false,
    errIsTTY: false,
    size: () => undefined,
    now: Date.now,
    newId: randomUUID,
    onStop(listener) {
      const gone = (): void => listener("SIGTERM");
      socket.once("close", gone);
      return () => socket.off("close", gone);
    },
    exitNow: (code) => end(code),
    delays: { progressAfterMs: 1_000, lookFirstMs: 200, lookMsMax: 2_000, followMs: 1_000, completeMsMax: 1_000 },
    compose: notHere as () => Promise<Compose>,
    boxes: notHere,
  };
  const end = (code: number): void => {
    tell("x", String(code));
    socket.end();
  };
  end(await runCli(args, io));
}

const server = createServer(serve);
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
