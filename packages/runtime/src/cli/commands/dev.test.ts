// `signalbox dev`: what it starts, what it says, and how it stops.
import { expect, test } from "vitest";
import { startCli } from "../../../../../test/support/command-line.ts";
import type { DevOptions, DevRuntime } from "../../compose.ts";

/** A runtime that starts at once, stops when `finish` is called, and notes what it was told. */
function scriptedRuntime(firstStart = true) {
  const started: DevOptions[] = [];
  let stops = 0;
  let finish = (): void => {};
  const closed = new Promise<void>((resolve) => (finish = resolve));
  const runtime: DevRuntime = {
    httpPort: 8080,
    grpcPort: 9191,
    keyFile: "/srv/.signalbox/client.json",
    firstStart,
    stop() {
      stops += 1;
      return closed;
    },
    closed,
  };
  const compose = {
    startDev: async (options: DevOptions) => {
      started.push(options);
      return runtime;
    },
  };
  return { compose, started, stops: () => stops, finish: () => finish() };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("it says what runs where, and the three commands to type next", async () => {
  const { compose, started, finish } = scriptedRuntime();
  finish();
  const run = startCli(["dev", "--tools", "tools", "--tools", "/more"], { compose, cwd: "/srv" });
  expect(await run.ended).toBe(0);
  expect(started).toEqual([
    {
      host: "127.0.0.1",
      httpPort: 8080,
      grpcPort: 9090,
      dataDir: "/srv/.signalbox",
      toolsDirs: ["/srv/tools", "/more"],
      policiesDirs: [],
      agentsDirs: [],
      boxes: 16,
      enable: ["code.run"],
      acceptWatchedLimits: false,
      allowPrivateWebhooks: false,
      corsOrigins: [],
    },
  ]);
  expect(run.out()).toBe(`signalbox is running   Ctrl-C stops it

  http  http://127.0.0.1:8080  (REST, health, metrics)
  grpc  127.0.0.1:9191  (workers connect here)
  data  /srv/.signalbox
  on    code.run  (off: fs.list, fs.read, fs.write, shell.run; --enable code.run,fs.list,fs.read,fs.write,shell.run switches all on)
  key   /srv/.signalbox/client.json  (made just now; commands below this folder find it by themselves)

next, in another terminal:
  signalbox init hello && signalbox tools register hello
  node hello/worker.js
  signalbox run hello.greet --input '{"name":"Ada"}'
`);
});

test("--json is one line when it is ready", async () => {
  const { compose, started, finish } = scriptedRuntime(false);
  finish();
  const flags = ["--port", "0", "--grpc-port", "0", "--host", "::1", "--data", "d", "--drain", "5s", "--log", "silent"];
  const run = startCli(["dev", "--json", ...flags], { compose, cwd: "/srv" });
  expect(await run.ended).toBe(0);
  expect(run.out()).toBe(
    `{"ready":true,"url":"http://[::1]:8080","grpc":"[::1]:9191","data":"/srv/d","key_file":"/srv/.signalbox/client.json","first_start":false,"enabled":["code.run"]}\n`,
  );
  expect(started).toEqual([
    {
      host: "::1",
      httpPort: 0,
      grpcPort: 0,
      dataDir: "/srv/d",
      toolsDirs: [],
      policiesDirs: [],
      agentsDirs: [],
      boxes: 16,
      enable: ["code.run"],
      acceptWatchedLimits: false,
      allowPrivateWebhooks: false,
      corsOrigins: [],
      drainMs: 5_000,
      log: "silent",
    },
  ]);
});

test.each([
  ["none", []],
  ["shell.run", ["shell.run"]],
  ["shell.run, code.run,shell.run", ["shell.run", "code.run"]],
  ["fs.read,fs.write,fs.list", ["fs.read", "fs.write", "fs.list"]],
])("--enable %s says which privileged tools are on", async (names, enable) => {
  const { compose, started, finish } = scriptedRuntime();
  finish();
  expect(await startCli(["dev", "--enable", names], { compose, cwd: "/srv" }).ended).toBe(0);
  expect(started[0]?.enable).toEqual(enable);
});

test("--enable of something else starts nothing", async () => {
  const { compose, started } = scriptedRuntime();
  const run = startCli(["dev", "--enable", "shell.run,fs.append"], { compose, cwd: "/srv" });
  expect(await run.ended).toBe(2);
  expect([started, run.err()]).toEqual([[], expect.stringContaining(`--enable takes code.run, fs.list, fs.read, fs.write, shell.run or none, not "fs.append"`)]);
});

test("the first signal drains, the second one ends the process at once", async () => {
  const { compose, stops, finish } = scriptedRuntime();
  const run = startCli(["dev"], { compose, cwd: "/srv" });
  while (run.out() === "") await tick();
  run.signal("SIGTERM");
  expect(stops()).toBe(1);
  expect(run.err()).toBe("draining… (Ctrl-C again to stop at once)\n");
  run.signal("SIGINT");
  expect([stops(), run.exits]).toEqual([1, [130]]);
  finish();
  expect(await run.ended).toBe(0);
});

test("a signal during the start stops the runtime as soon as it has started", async () => {
  const scripted = scriptedRuntime();
  let start = (): void => {};
  const may = new Promise<void>((resolve) => (start = resolve));
  const compose = {
    startDev: async (options: DevOptions) => {
      await may;
      return scripted.compose.startDev(options);
    },
  };
  const run = startCli(["dev"], { compose, cwd: "/srv" });
  run.signal("SIGINT");
  start();
  while (scripted.stops() === 0) await tick();
  scripted.finish();
  expect(await run.ended).toBe(0);
});

test("a start that fails is an error with code 1", async () => {
  const compose = { startDev: () => Promise.reject(new Error("port 8080 is taken: choose another one with --port")) };
  const run = startCli(["dev"], { compose });
  expect(await run.ended).toBe(1);
  expect(run.err()).toBe("error: port 8080 is taken: choose another one with --port\n");
});

test("--cors-origin takes exact origins, any number of them, and no star", async () => {
  const { compose, started, finish } = scriptedRuntime();
  finish();
  const origins = ["https://app.example.com", "http://localhost:5173"];
  const flags = origins.flatMap((origin) => ["--cors-origin", origin]);
  expect(await startCli(["dev", ...flags], { compose, cwd: "/srv" }).ended).toBe(0);
  expect(started[0]?.corsOrigins).toEqual(origins);
  for (const origin of ["*", "https://app.example.com/", "app.example.com"]) {
    const wrong = startCli(["dev", "--cors-origin", origin], { compose, cwd: "/srv" });
    expect(await wrong.ended).toBe(2);
    expect(wrong.err()).toBe(
      `error: --cors-origin takes one exact origin, not "${origin}"\nnext:  write it as browsers send it, without a path or a slash at its end: https://app.example.com\n`,
    );
  }
});

test.each([
  [["--port", "http"], `--port takes a port from 0 to 65535, not "http"`],
  [["--grpc-port", "65536"], `--grpc-port takes a port from 0 to 65535, not "65536"`],
  [["--drain", "5"], `--drain takes a duration like 5s or 1m, not "5"`],
  [["--log", "loud"], `--log takes json, pretty, silent, not "loud"`],
])("dev %j is a wrong line", async (flags, message) => {
  const run = startCli(["dev", ...flags]);
  expect(await run.ended).toBe(2);
  expect(run.err()).toBe(`error: ${message}\n`);
});
