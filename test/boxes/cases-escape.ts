// Attempts to get out of a box, each of which must come to nothing.
import { kitCase, must, mustExceed, mustExit, MiB, type Kit, type KitCase } from "./kit.ts";

/** What a raw system call answers from inside; ctypes reaches the ones that no library offers. */
async function syscalls(kit: Kit, lines: string): Promise<Record<string, string>> {
  const code = `import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
def call(name, x64, arm64, *args):
    ctypes.set_errno(0)
    r = libc.syscall(arm64 if arm else x64, *args)
    e = ctypes.get_errno()
    print(name, "open" if r != -1 else errno.errorcode.get(e, e))
${lines}`;
  const told = await kit.python(code);
  mustExit(told);
  return Object.fromEntries(
    told.out
      .trim()
      .split("\n")
      .map((line) => line.split(" ") as [string, string]),
  );
}

function mustRefuse(answers: Record<string, string>, names: readonly string[], how: readonly string[]): void {
  for (const name of names) must(how.includes(answers[name] ?? "missing"), `${name} is refused`, answers);
}

const kernel: readonly KitCase[] = [
  kitCase("escape", "the kernel's wide doors are shut", ["python", "linux"], async (kit) => {
    const answers = await syscalls(
      kit,
      `call("ptrace", 101, 117, 0, 0, 0, 0)
call("keyctl", 250, 219, 0, -3, 1)
call("add_key", 248, 217, b"user", b"a", b"b", 1, -3)
call("bpf", 321, 280, 0, 0, 0)
call("perf_event_open", 298, 241, 0, 0, -1, -1, 0)
call("userfaultfd", 323, 282, 0)
call("io_uring_setup", 425, 425, 8, 0)
call("io_uring_enter", 426, 426, 0, 0, 0, 0, 0)
call("unshare", 272, 97, 0x10000000)
call("setns", 308, 268, 0, 0)
call("mount", 165, 40, b"x", b"/tmp", b"tmpfs", 0, 0)
call("umount2", 166, 39, b"/tmp", 2)
call("pivot_root", 155, 41, b"/tmp", b"/tmp")
call("chroot", 161, 51, b"/tmp")
call("open_tree", 428, 428, -100, b"/", 0)
call("move_mount", 429, 429, 0, b"", 0, b"", 0)
call("fsopen", 430, 430, b"tmpfs", 0)
call("process_vm_readv", 310, 270, 1, 0, 0, 0, 0, 0)
call("pidfd_getfd", 438, 438, 0, 0, 0)
call("open_by_handle_at", 304, 265, 0, 0, 0)
call("init_module", 175, 105, 0, 0, b"")
call("kexec_load", 246, 104, 0, 0, 0, 0)
call("reboot", 169, 142, 0, 0, 0, 0)
call("personality", 135, 92, 0x0400000)
call("sethostname", 170, 161, b"x", 1)
call("clone3", 435, 435, 0, 0)
call("clone_newuser", 56, 220, 0x10000000 | 17, 0, 0, 0, 0)
call("clone_newnet", 56, 220, 0x40000000 | 17, 0, 0, 0, 0)`,
    );
    mustRefuse(answers, Object.keys(answers), ["EPERM", "ENOSYS"]);
    must(Object.keys(answers).length === 28, "each was tried", Object.keys(answers).length);
  }),
  kitCase(
    "escape",
    "sockets are unix and internet ones only: no vsock, netlink, packet, alg, bluetooth",
    ["python", "linux"],
    async (kit) => {
      const answers = await syscalls(
        kit,
        `for name, family in (("vsock", 40), ("netlink", 16), ("packet", 17), ("alg", 38), ("bluetooth", 31), ("xdp", 44), ("rds", 21), ("tipc", 30), ("can", 29)):
    call(name, 41, 198, family, 3, 0)
call("unix", 41, 198, 1, 1, 0)
call("inet", 41, 198, 2, 1, 0)`,
      );
      mustRefuse(
        answers,
        ["vsock", "netlink", "packet", "alg", "bluetooth", "xdp", "rds", "tipc", "can"],
        ["EAFNOSUPPORT", "EPERM", "ENOSYS"],
      );
      must(answers["unix"] === "open" && answers["inet"] === "open", "the two are there", answers);
    },
  ),
  kitCase("escape", "raw sockets are refused", ["python", "linux"], async (kit) => {
    const answers = await syscalls(kit, `call("raw", 41, 198, 2, 3, 1)`);
    mustRefuse(answers, ["raw"], ["EPERM", "EACCES"]);
  }),
  kitCase(
    "escape",
    "calls of other interfaces are refused: x32, and 32-bit where there is one",
    ["python", "linux"],
    async (kit) => {
      const told = await kit.python(`import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
if platform.machine() != "x86_64":
    print(-1)
else:
    print(libc.syscall(0x40000000 + 39))`);
      must(told.out === "-1\n", "x32 getpid is refused", [told.out, told.end]);
    },
  ),
  kitCase("escape", "a terminal's input cannot be written (TIOCSTI)", ["python", "linux"], async (kit) => {
    const answers = await syscalls(kit, `call("tiocsti", 16, 29, 0, 0x5412, b"x")`);
    mustRefuse(answers, ["tiocsti"], ["EPERM"]);
  }),
  kitCase("escape", "programs that make namespaces fail", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      "unshare -Ur id 2>/dev/null && echo in; nsenter -t 1 -m id 2>/dev/null && echo in; bwrap --ro-bind / / id 2>/dev/null && echo in; true",
    );
    must(told.out === "", "none works", told.out);
  }),
];

const files: readonly KitCase[] = [
  kitCase("escape", "links and .. lead nowhere", ["exec", "linux"], async (kit) => {
    const code = `ln -s /proc/1/root/etc/shadow a; ln -s ../../../../../../etc/shadow b; ln -s /proc/self/root/../../etc/shadow c
cat a b c ../../../../etc/shadow /package/../../etc/shadow /proc/1/cwd/../etc/shadow 2>/dev/null; ls /workspace/../../../../root 2>/dev/null; true`;
    const told = await kit.sh(code);
    must(told.out === "", "nothing", told.out);
  }),
  kitCase("escape", "a link in a package is followed inside the box only", ["exec"], async (kit) => {
    const { symlinkSync } = await import("node:fs");
    const spec = kit.spec({ code: "cat /package/link 2>/dev/null | head -c 20; echo . # linked" });
    symlinkSync("/etc/hostname", `${spec.package?.path}/link`);
    const sandbox = await kit.backend.provision(spec, new AbortController().signal);
    const told = await kit.runIn(sandbox, { code: "" });
    await sandbox.destroy();
    must(told.out === ".\n", "the host's file does not come along", told.out);
  }),
  kitCase("escape", "the kernel's own files cannot be written", ["exec", "linux"], async (kit) => {
    const code = `for f in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger /proc/sys/kernel/hostname /proc/1/mem; do
(echo 1 > $f) 2>/dev/null && echo "wrote $f"; done; (echo -1000 > /proc/self/oom_score_adj) 2>/dev/null && echo immortal; cat /proc/kcore /proc/kmsg 2>/dev/null | head -c 1; true`;
    const told = await kit.sh(code);
    must(told.out === "", "none", told.out);
  }),
  kitCase("escape", "devices cannot be made", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      "mknod /tmp/sda b 8 0 2>/dev/null && echo made; mknod /workspace/mem c 1 1 2>/dev/null && echo made; true",
    );
    must(told.out === "", "none", told.out);
  }),
  kitCase("escape", "read-only mounts cannot be made writable", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      "mount -o remount,rw / 2>/dev/null; mount -o remount,rw /usr 2>/dev/null; touch /usr/x 2>/dev/null && echo wrote; true",
    );
    must(told.out === "", "no", told.out);
  }),
  kitCase("escape", "memory of process 1 cannot be read", ["exec", "linux"], async (kit) => {
    const told = await kit.sh("head -c 10 /proc/1/mem 2>/dev/null | wc -c; ls /proc/1/fd 2>/dev/null | wc -l");
    must(told.out.startsWith("0\n"), "no byte", told.out);
  }),
  kitCase("escape", "a program in the workspace gains nothing by the setuid bit", ["exec", "linux"], async (kit) => {
    const told = await kit.sh("cp /usr/bin/id ./id; chmod 6755 ./id; ./id -u; ./id -ru");
    must(!/^0$/m.test(told.out), "not root", told.out);
  }),
];

const mischief: readonly KitCase[] = [
  kitCase("escape", "a fork bomb that detaches every child", ["python", "processes"], async (kit) => {
    const code = `import os
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass`;
    mustExceed(await kit.python(code, { limits: { pids: 24, timeoutMs: 8_000 } }), "pids");
  }),
  kitCase("escape", "memory hidden in files of memory (memfd) counts", ["python", "exact", "linux"], async (kit) => {
    const code = `import os
f = os.memfd_create("m")
block = b"x" * (1 << 20)
while True: os.write(f, block)`;
    mustExceed(await kit.python(code, { limits: { memoryBytes: 32 * MiB } }), "memory");
  }),
  kitCase(
    "escape",
    "memory hidden in pipes and sockets does not outgrow the limits",
    ["python", "linux"],
    async (kit) => {
      const code = `import os, socket
kept = []
try:
    while True:
        a, b = socket.socketpair(); a.setblocking(False); kept.append((a, b))
        try:
            while True: a.send(b"x" * 65536)
        except BlockingIOError: pass
except OSError as e: print("stopped", e.errno)`;
      const told = await kit.python(code, { limits: { memoryBytes: 32 * MiB } });
      must(told.end.reason === "exited" || told.end.reason === "exceeded", "held", told.end);
    },
  ),
  kitCase(
    "escape",
    "signals to everybody reach nobody outside, and the end is told",
    ["exec", "processes"],
    async (kit) => {
      const told = await kit.sh("kill -STOP -1; kill -KILL 1; kill -TERM 1; kill -KILL 0; sleep 1; echo still");
      must(told.end.reason === "crashed" || told.end.reason === "exited", "an end of the tool's own", told.end);
    },
  ),
  kitCase("escape", "a tool that stops itself is still ended in time", ["exec", "processes"], async (kit) => {
    const told = await kit.sh("kill -STOP $$", { limits: { timeoutMs: 300, graceMs: 100 } });
    must(told.end.reason === "timeout" && told.usage.durationMs < 3_000, "timeout", told);
  }),
  kitCase("escape", "closing every stream does not hide a tool", ["exec", "processes"], async (kit) => {
    const told = await kit.sh("exec 0<&- 1>&- 2>&- 3>&- 4>&-; sleep 30", { limits: { timeoutMs: 300, graceMs: 100 } });
    must(told.end.reason === "timeout", "timeout", told.end);
  }),
  kitCase(
    "escape",
    "a grandchild that holds the streams open does not hold the end up",
    ["exec", "processes"],
    async (kit) => {
      const startedAt = performance.now();
      const told = await kit.sh("setsid sleep 30 & echo done");
      mustExit(told);
      must(performance.now() - startedAt < 3_000, "at once", performance.now() - startedAt);
    },
  ),
  kitCase("escape", "its own limits cannot be raised", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      "ulimit -Hn 65536 2>/dev/null && echo raised; ulimit -n 2000 2>/dev/null && echo raised; true",
    );
    must(told.out === "", "no", told.out);
  }),
  kitCase("escape", "control groups cannot be seen or changed", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      "ls /sys/fs/cgroup 2>/dev/null; cat /proc/self/cgroup | grep -c signalbox; mkdir -p /tmp/cg; mount -t cgroup2 x /tmp/cg 2>/dev/null && echo mounted; true",
    );
    must(told.out === "0\n", "nothing", told.out);
  }),
];

export const escapeCases: readonly KitCase[] = [...kernel, ...files, ...mischief];
