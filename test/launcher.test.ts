// The launcher and the `signalbox` shim: exit codes, signals, PATH, and bringing a Node by way of a scripted npm.
import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bringNode } from "../packages/runtime/launch/bring-node.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const launcher = join(root, "packages/runtime/launch/launch.js");

interface Started {
  readonly process: ChildProcess;
  /** The next line of stdout; rejects when there is none any more. */
  readonly nextLine: () => Promise<string>;
  readonly ended: Promise<{ code: number | null; signal: string | null; stderr: string }>;
}

let folder = "";
/** Processes that a failed test would leave behind. */
let pids: number[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "launcher-"));
  pids = [];
});
afterEach(() => {
  for (const pid of pids.filter(isAlive)) process.kill(pid, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function write(name: string, text: string, executable = false): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  if (executable) chmodSync(path, 0o755);
  return path;
}

function start(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Started {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env });
  pids.push(child.pid ?? 0);
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    process: child,
    nextLine: async () => {
      const { done, value } = await lines.next();
      if (done) throw new Error(`the process has nothing more to say; stderr: ${stderr}`);
      return value;
    },
    ended: new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal, stderr }))),
  };
}

/** Starts a child under the launcher and waits until it says its pid, which it does once its handlers stand. */
async function launched(handlers: string): Promise<Started & { readonly childPid: number }> {
  const script = write("child.mjs", `${handlers}\nsetInterval(() => {}, 1e6);\nconsole.log(process.pid);\n`);
  const started = start([launcher, "node", script]);
  const childPid = Number(await started.nextLine());
  pids.push(childPid);
  return { ...started, childPid };
}

describe("the launcher", () => {
  test("gives back the exit code of its command and hands on the arguments", async () => {
    const script = write("child.mjs", "console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 7;");
    const { nextLine, ended } = start([launcher, "node", script, "--flag", "two words"]);
    expect(await nextLine()).toBe('["--flag","two words"]');
    expect(await ended).toEqual({ code: 7, signal: null, stderr: "" });
  });

  test("answers 128 + the signal number for a command that a signal ended", async () => {
    const script = write("child.mjs", `process.kill(process.pid, "SIGKILL");`);
    expect((await start([launcher, "node", script]).ended).code).toBe(137);
  });

  test.each(["SIGTERM", "SIGHUP"] as const)("passes %s on and waits for the child's own end", async (signal) => {
    const child = await launched(`process.on("${signal}", () => { console.log("got ${signal}"); process.exit(5); });`);
    child.process.kill(signal);
    expect(await child.nextLine()).toBe(`got ${signal}`);
    expect((await child.ended).code).toBe(5);
    expect(isAlive(child.childPid)).toBe(false);
  });

  test("outlives a SIGTERM that the child ignores, and leaves no orphan", async () => {
    const child = await launched(`
      process.on("SIGTERM", () => console.log("ignored"));
      process.on("SIGHUP", () => process.exit(9));`);
    child.process.kill("SIGTERM");
    expect(await child.nextLine()).toBe("ignored");
    expect([isAlive(child.process.pid ?? 0), isAlive(child.childPid)]).toEqual([true, true]);
    child.process.kill("SIGHUP");
    expect((await child.ended).code).toBe(9);
    expect(isAlive(child.childPid)).toBe(false);
  });

  test.each([
    ["ends the command when the npm that started it is gone", "npm-cli.js", "told to stop"],
    ["lets a command outlive any other parent", undefined, "still there"],
  ])("%s", async (_, npmExecpath, expected) => {
    const script = write(
      "child.mjs",
      `process.on("SIGTERM", () => { console.log("told to stop"); process.exit(); });
       setTimeout(() => { console.log("still there"); process.exit(); }, 1_500);
       console.log(process.pid);`,
    );
    // A shell between npm and the launcher dies of a signal and passes nothing on.
    const between = write("between.mjs", `import { spawn } from "node:child_process";
      spawn(process.execPath, ${JSON.stringify([launcher, "node", script])}, { stdio: "inherit" });`);
    const env = { ...process.env };
    delete env["npm_execpath"];
    if (npmExecpath !== undefined) env["npm_execpath"] = npmExecpath;
    const { process: parent, nextLine } = start([between], env);
    pids.push(Number(await nextLine()));
    parent.kill("SIGKILL");
    expect(await nextLine()).toBe(expected);
  });

  test("leaves SIGINT to the terminal's process group and does not die of it", async () => {
    const child = await launched(`
      for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => { console.log(signal); process.exit(6); });`);
    child.process.kill("SIGINT");
    child.process.kill("SIGTERM");
    expect(await child.nextLine()).toBe("SIGTERM");
    expect((await child.ended).code).toBe(6);
  });

  test("puts its Node and then node_modules/.bin first on PATH", async () => {
    const { nextLine } = start([launcher, "node", "-p", "process.env.PATH"]);
    const path = (await nextLine()).split(delimiter);
    expect(path.slice(0, 2)).toEqual([dirname(process.execPath), join(root, "node_modules", ".bin")]);
  });

  test("names the next step for a command that is not there, and for no command", async () => {
    const missing = await start([launcher, "no-such-command"]).ended;
    expect(missing).toMatchObject({ code: 127, stderr: expect.stringContaining('Run "npm ci"') });
    const none = await start([launcher]).ended;
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("Usage:") });
  });
});

describe("the signalbox shim", () => {
  const shim = () => {
    for (const part of ["bin", "launch"]) {
      cpSync(join(root, "packages/runtime", part), join(folder, part), { recursive: true });
    }
    write("package.json", `{"type":"module"}`);
    return join(folder, "bin/signalbox.js");
  };

  test("says what to do before the build", async () => {
    const stderr = "signalbox: the command is not built yet: run npm run build first.\n";
    expect(await start([shim()]).ended).toEqual({ code: 1, signal: null, stderr });
  });

  test("runs the command in its own process on a good Node", async () => {
    write("dist/cli/main.js", "console.log(process.pid, ...process.argv.slice(2)); process.exitCode = 4;");
    const { process: own, nextLine, ended } = start([shim(), "status", "--json"]);
    expect(await nextLine()).toBe(`${own.pid} status --json`);
    expect((await ended).code).toBe(4);
  });
});

describe("bringing a Node", () => {
  /** An npm that notes how it was asked and then does `last`; `$prefix` is the folder it was told to fill. */
  const scriptedNpm = (last: string) => {
    const script = `#!/bin/sh
      echo "$@" >> "${join(folder, "asked")}"
      while [ "$1" != --prefix ]; do shift; done
      prefix="$2"
      ${last}`;
    write("npm/npm", script, true);
    return { ...process.env, PATH: [join(folder, "npm"), process.env["PATH"]].join(delimiter) };
  };
  const installs = (version: string) => `
    mkdir -p "$prefix/node_modules/node-plan9-mips/bin"
    printf '#!/bin/sh\\necho ${version}\\n' > "$prefix/node_modules/node-plan9-mips/bin/node"
    chmod +x "$prefix/node_modules/node-plan9-mips/bin/node"`;
  const bring = (env: NodeJS.ProcessEnv, said: string[] = []) => {
    const say = (line: string) => void said.push(line);
    return bringNode({ toolsFolder: join(folder, ".tools"), platform: "plan9", arch: "mips", env, say });
  };
  const asked = () => readFileSync(join(folder, "asked"), "utf8").trim().split("\n");
  const kept = () => readdirSync(join(folder, ".tools/node-24.22.3"));

  test("asks npm for the exact package, without scripts, once", async () => {
    const env = scriptedNpm(installs("v24.22.3"));
    const said: string[] = [];
    const node = await bring(env, said);
    expect(node).toBe(join(folder, ".tools/node-24.22.3/plan9-mips/bin/node"));
    expect(await bring(env, said)).toBe(node);
    expect(asked()).toEqual([
      expect.stringMatching(/^install --ignore-scripts --no-save .* node-plan9-mips@24\.22\.3$/),
    ]);
    expect(said).toEqual([expect.stringContaining("bringing Node 24.22.3")]);
    expect(kept()).toEqual(["plan9-mips"]);
  });

  test("is safe when two run at once", async () => {
    const env = scriptedNpm(installs("v24.22.3"));
    const [one, two] = await Promise.all([bring(env), bring(env)]);
    expect(two).toBe(one);
    expect(asked()).toHaveLength(2);
    expect(kept()).toEqual(["plan9-mips"]);
  });

  test("names the next step where npm fails, where the Node does not run, and where nothing can be written", async () => {
    const step = /Next step: install Node 24 or newer/;
    await expect(bring(scriptedNpm("exit 3"))).rejects.toThrow(/it ended with 3/);
    await expect(bring(scriptedNpm("exit 3"))).rejects.toThrow(step);
    await expect(bring(scriptedNpm(installs("v23.0.0")))).rejects.toThrow(/does not run on this machine \(v23\.0\.0\)/);
    expect(kept()).toEqual([]);
    rmSync(join(folder, ".tools"), { recursive: true });
    write(".tools", "a file where the folder should be");
    await expect(bring(scriptedNpm(installs("v24.22.3")))).rejects.toThrow(/cannot write to .* Next step:/);
  });

  test("stops when it is told to while npm runs, and cleans up", async () => {
    const env = scriptedNpm('echo "ready $$" >&2; exec tail -f /dev/null');
    const script = write(
      "bring.mjs",
      `import { bringNode } from ${JSON.stringify(join(root, "packages/runtime/launch/bring-node.js"))};
       import { endWith } from ${JSON.stringify(join(root, "packages/runtime/launch/choose-node.js"))};
       const toolsFolder = ${JSON.stringify(join(folder, ".tools"))};
       await endWith(() => bringNode({ toolsFolder, platform: "plan9", arch: "mips", env: process.env, say() {} }));`,
    );
    const bringing = start([script], env);
    const ready = await new Promise<string>((resolve) =>
      bringing.process.stderr?.once("data", (data) => resolve(`${data}`)),
    );
    pids.push(Number(/\d+/.exec(ready)?.[0]));
    bringing.process.kill("SIGTERM");
    const stderr = `${ready}signalbox: stopped while bringing Node.\n`;
    expect(await bringing.ended).toEqual({ code: 143, signal: null, stderr });
    expect(kept()).toEqual([]);
  });
});
