// The guest program: the one process in a wasm box. Gets ready, reads a request, runs it in a guest, and tells how it ended.
import { randomFillSync } from "node:crypto";
import { closeSync } from "node:fs";
import { endLine, exitCodeOf, failedExitCode, messageCharsMax, type GuestEnd } from "../../guest/end.ts";
import { packagedSource, sourceFromArgs } from "../../guest/javascript/source.ts";
import { codeEntry, orderVariable, readOrder, type GuestOrder } from "../../guest/order.ts";
import { lookUp, type TreeDir } from "../../guest/tree.ts";
import { compileEngine, readyJs, warmUp } from "./javascript.ts";
import { readyWasi, runWasi } from "./wasi.ts";
import { createFolderReader, readSome, sleepMs, writeAll } from "./world.ts";

/** Input, context and secrets at their largest stay below this. */
const requestBytesMax = 16 * 1024 * 1024;
const pieceBytes = 64 * 1024;
const lineFeed = 10;

/** Descriptors of the entry contract, and the one on which a parked box waits to be wanted. */
const resultFd = 3;
const eventsFd = 4;
const goFd = 8;
/** Nobody wanted the box. */
const unwantedCode = 125;

/** A guest that waits for its request. */
interface Guest {
  run(requestJson: string): GuestEnd;
}

const utf8 = new TextEncoder();
const write = (fd: number, text: string): void => writeAll(fd, utf8.encode(text));
const monotonicMs = (): number => performance.now();

async function jsMaker(order: GuestOrder): Promise<() => Promise<Guest>> {
  const engine = await compileEngine();
  await warmUp(engine, monotonicMs);
  const reader = createFolderReader();
  const packaged = reader.read(order.packageRoot);
  const isCode = order.entry === codeEntry;
  const content = isCode ? null : contentAt(packaged, order.entry);
  const code = content === null ? null : new TextDecoder().decode(content);
  return async () => {
    const ready = await readyJs(engine, order, {
      write,
      event: (line) => write(eventsFd, `${line}\n`),
      monotonicMs,
    });
    return {
      run(requestJson) {
        if (code === null && !isCode) return missing(order.entry);
        const read = code === null ? sourceFromArgs(requestJson) : packagedSource(requestJson, order.entry, code);
        if (!read.ok) return { reason: "failed", message: read.message };
        const folders = { package: packaged, workspace: reader.read(order.workspaceRoot) };
        return ready.run(read.source, folders, order.env);
      },
    };
  };
}

async function wasiMaker(order: GuestOrder): Promise<() => Promise<Guest>> {
  const reader = createFolderReader();
  const packaged = reader.read(order.packageRoot);
  const content = contentAt(packaged, order.entry);
  const ready = content === null ? null : await readyWasi(content, order.memoryBytes);
  return async () => ({
    run(requestJson) {
      if (ready === null) return missing(order.entry);
      if (!ready.ok) return ready.end;
      const deadlineMs = monotonicMs() + order.timeoutMs;
      return runWasi(ready, {
        input: utf8.encode(requestJson),
        args: [order.entry],
        env: order.env,
        folders: { package: packaged, workspace: reader.read(order.workspaceRoot) },
        write: writeAll,
        wallMs: () => Date.now(),
        monotonicMs,
        random: (into) => void randomFillSync(into),
        sleep: (ms) => sleepMs(Math.max(0, Math.min(ms, deadlineMs - monotonicMs()))),
      });
    },
  });
}

/** Null when the package has no such file: that is the tool's failure, told when it is run. */
function contentAt(packaged: TreeDir, entry: string): Uint8Array | null {
  const found = lookUp([packaged], entry);
  return found.found && found.node.kind === "file" ? found.node.read() : null;
}

const missing = (entry: string): GuestEnd => ({ reason: "failed", message: `the package has no file ${entry}` });

/** The next line of standard input; a last one without its line feed counts. Null = there is none. */
function createRequests(): () => string | null {
  let held = Buffer.alloc(0);
  let ended = false;
  return () => {
    while (!ended && !held.includes(lineFeed)) {
      if (held.length > requestBytesMax) throw new Error(`a request has at most ${requestBytesMax} bytes`);
      const piece = readSome(0, pieceBytes);
      ended = piece.length === 0;
      held = Buffer.concat([held, piece]);
    }
    if (held.length === 0) return null;
    const end = held.includes(lineFeed) ? held.indexOf(lineFeed) : held.length;
    const line = held.subarray(0, end).toString("utf8");
    held = held.subarray(end + 1);
    return line;
  };
}

/** Says that everything is loaded and waits until somebody wants this box. */
function park(): void {
  write(eventsFd, "ready\n");
  const wanted = readSome(goFd, 1).length === 1;
  closeSync(goFd);
  // The worker is gone: nobody will ever ask.
  if (!wanted) process.exit(unwantedCode);
}

/** Once: the result on descriptor 3, and the exit code; what a code cannot say goes as a line on 4. */
function tellOnce(order: GuestOrder, end: GuestEnd): void {
  switch (end.reason) {
    case "done":
      if (end.resultText !== null) write(resultFd, end.resultText);
      break;
    case "failed":
      write(2, `${end.message}\n`);
      break;
    case "exited":
      break;
    case "timeout":
    case "exceeded":
    case "broken":
      write(eventsFd, `${endLine(order.nonce, end)}\n`);
      break;
  }
}

async function serve(order: GuestOrder): Promise<number> {
  const make = await (order.guest === "js" ? jsMaker(order) : wasiMaker(order));
  let guest = await make();
  park();
  const nextRequest = createRequests();
  for (let left = order.runs; ; left--) {
    const request = nextRequest();
    if (request === null) return 0;
    const end = guest.run(request);
    if (order.runs === 1) {
      tellOnce(order, end);
      return exitCodeOf(end);
    }
    write(resultFd, `${JSON.stringify(end)}\n`);
    // Only a run that went well leaves a process that may serve another.
    if (end.reason !== "done" || left === 1) return exitCodeOf(end);
    guest = await make();
  }
}

const orderJson = process.env[orderVariable] ?? "null";
// Nothing that runs in here may read the nonce from the environment.
delete process.env[orderVariable];
const order = readOrder(orderJson);
try {
  process.exit(await serve(order));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  tellOnce(order, { reason: "broken", message: message.slice(0, messageCharsMax) });
  process.exit(failedExitCode);
}
