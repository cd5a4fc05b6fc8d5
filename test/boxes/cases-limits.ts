// Cases about limits with their true cause, and about ends: timeout, cancel, grace, the whole tree.
import { kitCase, must, mustExceed, mustExit, MiB, type KitCase } from "./kit.ts";

const limits: readonly KitCase[] = [
  kitCase("limits", "memory: a bomb is exceeded(memory)", ["python"], async (kit) => {
    mustExceed(
      await kit.python("a = []\nwhile True: a.append(bytearray(4 << 20))", { limits: { memoryBytes: 48 * MiB } }),
      "memory",
    );
  }),
  kitCase(
    "limits",
    "memory: also when only a grandchild was killed and the tool ends well",
    ["python", "exact"],
    async (kit) => {
      const code = `import subprocess
subprocess.run(["sh", "-c", "python3 -c 'a=bytearray(200<<20)' ; true"])
print("well")`;
      mustExceed(await kit.python(code, { limits: { memoryBytes: 48 * MiB } }), "memory");
    },
  ),
  kitCase("limits", "memory: what stays within it is left alone", ["python"], async (kit) => {
    mustExit(await kit.python("a = bytearray(24 << 20)\nprint(len(a))", { limits: { memoryBytes: 64 * MiB } }));
  }),
  kitCase("limits", "memory: node", ["node"], async (kit) => {
    const told = await kit.node("const a = []; for (;;) a.push(Buffer.alloc(4 << 20, 1));", {
      limits: { memoryBytes: 128 * MiB },
    });
    mustExceed(told, "memory");
  }),
  kitCase("limits", "pids: a fork bomb is exceeded(pids), even one that dies of it", ["exec", "exact"], async (kit) => {
    const told = await kit.sh("bomb() { bomb | bomb & }; bomb; sleep 5", { limits: { pids: 16, timeoutMs: 8_000 } });
    mustExceed(told, "pids");
  }),
  kitCase("limits", "pids: what stays within them is left alone", ["exec"], async (kit) => {
    mustExit(await kit.sh("for i in 1 2 3 4 5 6 7 8; do sleep 0.1 & done; wait", { limits: { pids: 12 } }));
  }),
  kitCase("limits", "cpu seconds: a loop is exceeded(cpu)", ["exec"], async (kit) => {
    const told = await kit.sh("while :; do :; done", { limits: { cpuSeconds: 0.4, timeoutMs: 8_000 } });
    mustExceed(told, "cpu");
    must(told.usage.cpuMs >= 400 && told.usage.cpuMs < 2_000, "soon after", told.usage);
  }),
  kitCase("limits", "cpu seconds: also when children use them up one by one", ["exec", "exact"], async (kit) => {
    const child = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
    mustExceed(
      await kit.sh(`while :; do sh -c '${child}'; done`, { limits: { cpuSeconds: 0.4, timeoutMs: 8_000 } }),
      "cpu",
    );
  }),
  kitCase("limits", "cpu rate: a fifth of a core is a fifth", ["exec", "exact"], async (kit) => {
    const told = await kit.sh("while :; do :; done", { limits: { cpu: 0.2, timeoutMs: 1_000, graceMs: 0 } });
    must(told.end.reason === "timeout" && told.usage.cpuMs < 450, "about 200 ms of CPU in 1 s", told.usage);
  }),
  kitCase("limits", "disk: a full workspace is exceeded(disk)", ["exec"], async (kit) => {
    mustExceed(await kit.sh("cat /dev/zero > big"), "disk");
  }),
  kitCase("limits", "disk: /workspace, /tmp and /dev/shm count together", ["exec"], async (kit) => {
    const told = await kit.sh("for f in /workspace/a /tmp/b /dev/shm/c; do head -c 1500000 /dev/zero > $f; done");
    mustExceed(told, "disk");
  }),
  kitCase("limits", "disk: what stays within it is left alone", ["exec"], async (kit) => {
    mustExit(await kit.sh("head -c 3000000 /dev/zero > a; rm a; head -c 3000000 /dev/zero > b"));
  }),
  kitCase("limits", "disk and memory are told apart", ["exec", "exact"], async (kit) => {
    const told = await kit.sh("cat /dev/zero > big", { limits: { diskBytes: 40 * MiB, memoryBytes: 24 * MiB } });
    mustExceed(told, "disk");
  }),
  kitCase("limits", "fds: no more than allowed can be open", ["python"], async (kit) => {
    const code = `import os
n = 0
try:
    while True:
        os.open("/dev/null", os.O_RDONLY); n += 1
except OSError as e:
    print(n, e.errno)`;
    const told = await kit.python(code, { limits: { fds: 32 } });
    const [opened, errno] = told.out.trim().split(" ").map(Number);
    const over = told.end.reason === "exceeded" && told.end.resource === "fds";
    must(over || ((opened ?? 99) <= 30 && errno === 24), "EMFILE", [told.end, told.out]);
  }),
  kitCase("limits", "core dumps are not written", ["exec", "processes"], async (kit) => {
    const told = await kit.sh("sh -c 'kill -ABRT $$' 2>/dev/null; ls");
    must(told.out === "", "no file", told.out);
  }),
];

const tidy = "trap 'echo tidied; exit 0' TERM; echo up; while :; do sleep 0.05; done";
const deaf = "trap '' TERM; echo up; while :; do sleep 0.05; done";

const ends: readonly KitCase[] = [
  kitCase("ends", "a timeout is told as such, and what was said is kept", ["exec"], async (kit) => {
    const told = await kit.sh("echo before; sleep 30", { limits: { timeoutMs: 300 } });
    must(told.end.reason === "timeout" && told.out === "before\n", "timeout", told);
    must(told.usage.durationMs < 2_000, "and in time", told.usage);
  }),
  kitCase("ends", "a tool that tidies up and exits 0 in its grace has timed out", ["exec"], async (kit) => {
    const told = await kit.sh(tidy, { limits: { timeoutMs: 300, graceMs: 3_000 } });
    must(told.end.reason === "timeout" && told.out === "up\ntidied\n", "timeout, tidied", [told.end, told.out]);
    must(told.usage.durationMs < 2_500, "without waiting for all of the grace", told.usage);
  }),
  kitCase("ends", "a tool that is deaf is killed after its grace", ["exec"], async (kit) => {
    const told = await kit.sh(deaf, { limits: { timeoutMs: 200, graceMs: 300 } });
    must(told.end.reason === "timeout", "timeout", told.end);
    must(told.usage.durationMs >= 450 && told.usage.durationMs < 3_000, "after 500 ms", told.usage);
  }),
  kitCase("ends", "a cancel gives grace and is told as such", ["exec"], async (kit) => {
    const abort = new AbortController();
    const told = await kit.sh(tidy, { signal: abort.signal, limits: { graceMs: 3_000 }, onOut: () => abort.abort() });
    must(told.end.reason === "cancelled" && told.out === "up\ntidied\n", "cancelled, tidied", [told.end, told.out]);
  }),
  kitCase("ends", "a cancel kills what is deaf", ["exec"], async (kit) => {
    const abort = new AbortController();
    const told = await kit.sh(deaf, { signal: abort.signal, limits: { graceMs: 200 }, onOut: () => abort.abort() });
    must(told.end.reason === "cancelled" && told.usage.durationMs < 3_000, "cancelled", told);
  }),
  kitCase("ends", "a cancel before the run ends it", ["exec"], async (kit) => {
    const sandbox = await kit.backend.provision(
      kit.spec({ code: "echo up; sleep 30", limits: { graceMs: 100 } }),
      new AbortController().signal,
    );
    const told = await kit.runIn(sandbox, { code: "", signal: AbortSignal.abort() });
    await sandbox.destroy();
    must(told.end.reason === "cancelled" && told.out === "", "cancelled, and nothing ran", [told.end, told.out]);
  }),
  kitCase("ends", "the first reason wins: a flood during the grace stays a timeout", ["exec"], async (kit) => {
    const told = await kit.sh("trap 'yes' TERM; while :; do sleep 0.05; done", {
      limits: { timeoutMs: 200, graceMs: 3_000 },
    });
    must(told.end.reason === "timeout", "timeout", told.end);
  }),
  kitCase("ends", "python is asked by SIGTERM too", ["python"], async (kit) => {
    const code = `import signal, sys, time
def stop(*_):
    print("stopped"); sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("up")
time.sleep(30)`;
    const told = await kit.python(code, { limits: { timeoutMs: 1_000, graceMs: 3_000 } });
    must(told.end.reason === "timeout" && told.out === "up\nstopped\n", "stopped in its grace", [told.end, told.out]);
  }),
  kitCase("ends", "node is asked by SIGTERM too", ["node"], async (kit) => {
    const code = `process.on("SIGTERM", () => { console.log("stopped"); process.exit(0); }); console.log("up"); setInterval(() => {}, 1000);`;
    const told = await kit.node(code, { limits: { memoryBytes: 256 * MiB, timeoutMs: 2_000, graceMs: 3_000 } });
    must(told.end.reason === "timeout" && told.out === "up\nstopped\n", "stopped in its grace", [told.end, told.out]);
  }),
  kitCase("ends", "what a tool leaves running dies with it", ["exec", "processes"], async (kit) => {
    const startedAt = performance.now();
    const told = await kit.sh("(sleep 30; echo late) & (setsid sh -c 'sleep 30; echo late' &) ; echo done");
    mustExit(told);
    must(told.out === "done\n" && performance.now() - startedAt < 5_000, "nobody waits for it", told.out);
  }),
  kitCase("ends", "setsid and double forks do not survive a kill", ["exec", "processes", "linux"], async (kit) => {
    const marker = `7${process.pid}${Math.floor(performance.now())}`.slice(0, 9);
    const code = `trap '' TERM
(trap '' TERM HUP; setsid sh -c "trap '' TERM HUP; sleep ${marker}" & ) &
setsid setsid sh -c "(sleep ${marker} &)"; echo up; sleep ${marker}`;
    const told = await kit.sh(code, { limits: { timeoutMs: 500, graceMs: 100 } });
    must(told.end.reason === "timeout" && told.out === "up\n", "timeout", told);
    const alive = await livingWith(marker);
    must(alive.length === 0, "no process of the box is left when its end is told", alive);
  }),
];

/** Processes of this host with a word in their arguments. */
export async function livingWith(word: string): Promise<readonly string[]> {
  const { readdirSync, readFileSync } = await import("node:fs");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const args = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
        return args.includes(word) ? [`${pid} ${args.join(" ")}`] : [];
      } catch {
        return [];
      }
    });
}

export const limitCases: readonly KitCase[] = [...limits, ...ends];
