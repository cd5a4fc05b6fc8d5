// Cases about what a tool is given and what comes back: request, result, streams, events, environment, files, codes.
import { kitCase, must, mustExceed, mustExit, MiB, type KitCase } from "./kit.ts";

const contract: readonly KitCase[] = [
  kitCase("contract", "the request is on stdin, the result on descriptor 3", ["exec"], async (kit) => {
    const told = await kit.sh("cat >&3", { request: '{"args":{"n":12345678901234567890}}' });
    mustExit(told);
    must(told.resultText === '{"args":{"n":12345678901234567890}}', "the result is what was written", told.resultText);
  }),
  kitCase("contract", "the result can be all of stdout", ["exec"], async (kit) => {
    const told = await kit.sh("echo '{\"a\":1}'", { resultFrom: "stdout" });
    mustExit(told);
    must(told.resultText === '{"a":1}\n' && told.out === "", "stdout is the result", [told.resultText, told.out]);
  }),
  kitCase("contract", "no result is null", ["exec"], async (kit) => {
    const told = await kit.sh("echo hello");
    mustExit(told);
    must(told.resultText === null && told.out === "hello\n", "there is output and no result", told);
  }),
  kitCase("contract", "lines of descriptor 4 arrive as events, in order", ["exec"], async (kit) => {
    const told = await kit.sh(`for n in 1 2 3; do echo "{\\"n\\":$n}" >&4; done`);
    must(told.events.join(" ") === '{"n":1} {"n":2} {"n":3}', "three events", told.events);
  }),
  kitCase("contract", "a tool that never reads its request ends well", ["exec"], async (kit) => {
    const told = await kit.sh("exit 0", { request: JSON.stringify({ args: "x".repeat(MiB) }) });
    mustExit(told);
  }),
  kitCase("contract", "a request of 1 MiB arrives whole", ["exec"], async (kit) => {
    const told = await kit.sh("wc -c", { request: "y".repeat(MiB) });
    must(told.out.trim() === String(MiB), "every byte is there", told.out);
  }),
  kitCase("contract", "an exit code is told, with the last of stderr", ["exec"], async (kit) => {
    const told = await kit.sh("echo why >&2; exit 7");
    mustExit(told, 7);
    must(told.stderrTail === "why\n", "the tail of stderr", told.stderrTail);
  }),
  kitCase("contract", "of stderr the last 4 KiB are kept", ["exec"], async (kit) => {
    const told = await kit.sh("head -c 9000 /dev/zero | tr '\\0' a >&2; echo end >&2; exit 1");
    must(told.stderrTail.length === 4_096 && told.stderrTail.endsWith("aend\n"), "its end", told.stderrTail.length);
  }),
  kitCase("contract", "a death by signal is a crash with its name", ["exec"], async (kit) => {
    const told = await kit.sh("kill -SEGV $$");
    must(told.end.reason === "crashed" && told.end.signal === "SIGSEGV", "SIGSEGV", told.end);
  }),
  kitCase("contract", "a missing entry ends the run and says so", ["exec"], async (kit) => {
    const sandbox = await kit.backend.provision(
      { ...kit.spec({ code: "exit 0" }), entry: "not-there" },
      new AbortController().signal,
    );
    const told = await kit.runIn(sandbox, { code: "" });
    await sandbox.destroy();
    must(told.end.reason === "exited" && told.end.code === 127, "exit code 127", told.end);
  }),
  kitCase("contract", "standard streams can be opened by name", ["exec"], async (kit) => {
    const told = await kit.sh("echo a > /dev/stdout; echo b > /dev/stderr; echo c > /dev/fd/3");
    mustExit(told);
    must(told.out === "a\n" && told.err === "b\n" && told.resultText === "c\n", "all three", told);
  }),
  kitCase("contract", "use is told: time, CPU, memory", ["exec", "exact"], async (kit) => {
    const { usage } = await kit.sh("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
    must(usage.durationMs > 0 && usage.cpuMs > 0 && (usage.peakMemoryBytes ?? 0) > 100_000, "numbers above 0", usage);
  }),
  kitCase("contract", "a box runs once", ["exec"], async (kit) => {
    const sandbox = await kit.backend.provision(kit.spec({ code: "exit 0" }), new AbortController().signal);
    mustExit(await kit.runIn(sandbox, { code: "" }));
    const second = await kit.runIn(sandbox, { code: "" });
    await sandbox.destroy();
    must(second.end.reason === "lost", "the second run is refused", second.end);
  }),
  kitCase("contract", "destroy can be called twice, and before a run", ["exec"], async (kit) => {
    const sandbox = await kit.backend.provision(kit.spec({ code: "exit 0" }), new AbortController().signal);
    await sandbox.destroy();
    await sandbox.destroy();
    const told = await kit.runIn(sandbox, { code: "" });
    must(told.end.reason !== "exited", "nothing runs in a box that is gone", told.end);
  }),
  kitCase("contract", "limits that make no sense are refused", ["exec"], async (kit) => {
    for (const limits of [{ pids: 0 }, { memoryBytes: -1 }, { diskBytes: 0.5 }, { cpu: 0 }]) {
      const made = await kit.backend.provision(kit.spec({ code: "", limits }), new AbortController().signal).then(
        () => true,
        () => false,
      );
      must(!made, `no box with ${JSON.stringify(limits)}`);
    }
  }),
];

const languages: readonly KitCase[] = [
  kitCase("languages", "python: request, result, exit code", ["python"], async (kit) => {
    const code = `import json, os, sys
request = json.load(sys.stdin)
os.write(3, json.dumps({"sum": sum(request["args"])}).encode())
print(__name__, sys.argv)
sys.exit(4)`;
    const told = await kit.python(code, { request: '{"args":[1,2,3]}' });
    mustExit(told, 4);
    must(told.resultText === '{"sum": 6}' && told.out.startsWith("__main__"), "the sum is 6", told);
  }),
  kitCase("languages", "python: an exception is exit 1 with its trace", ["python"], async (kit) => {
    const told = await kit.python("raise ValueError('because')");
    mustExit(told, 1);
    must(told.stderrTail.includes("ValueError: because"), "the trace", told.stderrTail);
  }),
  kitCase("languages", "node: request, result, exit code", ["node"], async (kit) => {
    const code = `const fs = require("node:fs");
const { args } = JSON.parse(fs.readFileSync(0, "utf8"));
fs.writeSync(3, JSON.stringify({ sum: args.reduce((a, b) => a + b) }));
console.log(require.main === module, process.argv.length);
process.exitCode = 5;`;
    const told = await kit.node(code, { request: '{"args":[1,2,3]}' });
    mustExit(told, 5);
    must(told.resultText === '{"sum":6}' && told.out === "true 2\n", "the sum is 6", told);
  }),
  kitCase("languages", "node: an exception is exit 1 with its trace", ["node"], async (kit) => {
    const told = await kit.node("throw new Error('because')");
    mustExit(told, 1);
    must(told.stderrTail.includes("Error: because"), "the trace", told.stderrTail);
  }),
];

const environment: readonly KitCase[] = [
  kitCase("environment", "what is declared is there, and nothing of the host's", ["exec"], async (kit) => {
    process.env["SIGNALBOX_KIT_SECRET"] = "of-the-host";
    const told = await kit.sh("env", { env: { DECLARED: "a b\nc" } });
    delete process.env["SIGNALBOX_KIT_SECRET"];
    must(told.out.includes("DECLARED=a b\nc\n"), "the declared variable", told.out);
    must(!told.out.includes("of-the-host"), "no variable of the host", told.out);
    const names = told.out.split("\n").flatMap((line) => /^([A-Z_]+)=/.exec(line)?.[1] ?? []);
    const known = ["DECLARED", "PATH", "HOME", "TMPDIR", "LANG", "PWD", "OLDPWD", "SHLVL", "_"];
    must(
      names.every((name) => known.includes(name)),
      "only known names",
      names,
    );
  }),
  kitCase("environment", "it begins in /workspace, which is empty", ["exec"], async (kit) => {
    const told = await kit.sh("pwd; ls -A");
    must(told.out === "/workspace\n", "an empty /workspace", told.out);
  }),
  kitCase(
    "environment",
    "nothing of the host is in process 1's environment or arguments",
    ["exec", "linux"],
    async (kit) => {
      const told = await kit.sh("cat /proc/1/cmdline /proc/1/environ 2>/dev/null | tr '\\0' ' '", {
        env: { TOKEN: "hidden-7" },
      });
      must(!told.out.includes("hidden-7"), "no value of a variable shows elsewhere", told.out);
    },
  ),
  kitCase("environment", "there are no descriptors but 0 to 4", ["exec", "linux"], async (kit) => {
    const told = await kit.sh("ls /proc/$$/fd");
    // 10 is the shell's own, on its script.
    const extra = told.out
      .trim()
      .split("\n")
      .map(Number)
      .filter((fd) => fd > 4 && fd !== 10);
    must(extra.length === 0, "nothing leaks", told.out);
  }),
];

const files: readonly KitCase[] = [
  kitCase("files", "input files stand in the workspace", ["exec", "files"], async (kit) => {
    const hostPath = kit.hostFile("in/a.txt", "content of a");
    const told = await kit.sh("cat a.txt sub/dir/b.txt", {
      files: [
        { path: "a.txt", hostPath },
        { path: "sub/dir/b.txt", hostPath },
      ],
    });
    mustExit(told);
    must(told.out === "content of acontent of a", "both files", told.out);
  }),
  kitCase("files", "input files cannot be changed, replaced or removed", ["exec", "files"], async (kit) => {
    const hostPath = kit.hostFile("in/keep.txt", "kept");
    const code =
      "echo x > k; (echo y >> k.txt) 2>/dev/null && exit 9; rm -f k.txt 2>/dev/null; mv k k.txt 2>/dev/null; cat k.txt";
    const told = await kit.sh(code, { files: [{ path: "k.txt", hostPath }] });
    must(told.out === "kept", "the file is as it was", [told.out, told.err, told.end]);
  }),
  kitCase("files", "paths that leave the workspace are refused", ["exec", "files"], async (kit) => {
    const hostPath = kit.hostFile("in/c.txt", "c");
    for (const path of ["../c.txt", "/etc/c.txt", "a/../../c.txt", ""]) {
      const told = await kit.sh("echo ran", { files: [{ path, hostPath }] });
      must(told.end.reason === "lost" && told.out === "", `nothing runs with ${JSON.stringify(path)}`, told.end);
    }
  }),
  kitCase("files", "the package can be read and run, and not written", ["exec"], async (kit) => {
    const told = await kit.sh(
      "head -c 2 /package/main; touch /package/x 2>&1 || true; echo z >> /package/main || echo kept",
    );
    must(told.out.startsWith("#!") && told.out.includes("kept"), "read-only code", told.out);
  }),
  kitCase("files", "system and code are read-only, workspace and tmp are not", ["exec"], async (kit) => {
    const code = `for d in / /usr /usr/bin /etc /dev /package /run; do (touch $d/t) 2>/dev/null && echo "wrote $d"; done
touch /workspace/t /tmp/t && echo ok`;
    const told = await kit.sh(code);
    must(told.out === "ok\n", "only the two", told.out);
  }),
  kitCase("files", "what one run leaves, the next does not find", ["exec"], async (kit) => {
    const code =
      "ls -A /workspace /tmp /dev/shm | grep left; echo left > /workspace/left; echo left > /tmp/left; echo left > /dev/shm/left";
    await kit.sh(code);
    const told = await kit.sh(code);
    must(told.out === "", "nothing of the run before", told.out);
  }),
  kitCase("files", "folders of the host do not exist", ["exec"], async (kit) => {
    const told = await kit.sh(
      "for d in /root /home /work /sys /var /boot /mnt /srv /etc/shadow /etc/ssh /proc/1/root/root; do [ -e $d ] && echo $d; done; true",
    );
    must(told.out === "", "none of them", told.out);
  }),
];

const output: readonly KitCase[] = [
  kitCase("output", "stdout over its limit is cut and flagged, and the tool lives", ["exec"], async (kit) => {
    const told = await kit.sh("head -c 200000 /dev/zero; echo '{}' >&3");
    mustExit(told);
    must(told.outBytes === 65_536 && told.truncated.includes("stdout"), "cut at 64 KiB", [
      told.outBytes,
      told.truncated,
    ]);
    must(told.resultText === "{}\n", "and the result is there", told.resultText);
  }),
  kitCase("output", "stderr over its limit is cut and flagged", ["exec"], async (kit) => {
    const told = await kit.sh("head -c 200000 /dev/zero >&2");
    must(told.truncated.join() === "stderr" && told.err.length === 65_536, "cut at 64 KiB", [
      told.truncated,
      told.err.length,
    ]);
  }),
  kitCase("output", "a flood ends the tool: exceeded(output)", ["exec"], async (kit) => {
    const told = await kit.sh("yes");
    mustExceed(told, "output");
    must(told.outBytes === 65_536, "no more than the limit is passed on", told.outBytes);
  }),
  kitCase("output", "a result over its limit is exceeded(output)", ["exec"], async (kit) => {
    const told = await kit.sh("head -c 100000 /dev/zero >&3");
    mustExceed(told, "output");
    must(told.resultText === null, "and is not passed on", told.resultText?.length);
  }),
  kitCase("output", "an endless event line ends the tool", ["exec"], async (kit) => {
    mustExceed(await kit.sh("cat /dev/zero | tr '\\0' e >&4"), "output");
  }),
  kitCase("output", "a reader that waits holds the tool back", ["exec"], async (kit) => {
    let free: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (free = resolve));
    let chunks = 0;
    // 512 KiB cannot be buffered in a pipe; the tool must still be writing when its reader wakes up.
    const told = await kit.sh("head -c 524288 /dev/zero; echo written >&4", {
      limits: { outputBytes: MiB },
      onOut: async () => {
        chunks += 1;
        if (chunks === 1) {
          setTimeout(free, 150);
          await held;
        }
      },
    });
    mustExit(told);
    must(told.outBytes === 524_288 && told.usage.durationMs >= 100, "all of it, late", [told.outBytes, told.usage]);
  }),
  kitCase("output", "output comes while the tool runs", ["exec"], async (kit) => {
    const abort = new AbortController();
    const told = await kit.sh("echo first; sleep 20", {
      signal: abort.signal,
      limits: { graceMs: 0 },
      onOut: () => abort.abort(),
    });
    must(told.out === "first\n" && told.end.reason === "cancelled", "the first line came early", told.end);
  }),
];

export const contractCases: readonly KitCase[] = [...contract, ...languages, ...environment, ...files, ...output];
