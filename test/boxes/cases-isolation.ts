// Cases about walls: who the tool is, what it may ask of the kernel, whom it sees; many boxes at once; warm boxes.
import { kitCase, must, mustExit, type KitCase } from "./kit.ts";

const identity: readonly KitCase[] = [
  kitCase("identity", "the tool is not root, in no group of the host", ["exec"], async (kit) => {
    const told = await kit.sh("id -u; id -G");
    must(/^(?!0\n)\d+\n(?!0\b)\d+\n$/.test(told.out), "no 0", told.out);
  }),
  kitCase("identity", "no capabilities, no new privileges, a filter", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      "grep -E '^(Cap(Prm|Eff|Bnd|Inh|Amb)|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'",
    );
    const caps = told.out.split("\n").filter((line) => line.startsWith("Cap"));
    must(caps.length === 5 && caps.every((line) => line.endsWith(":0000000000000000")), "no capability", told.out);
    must(told.out.includes("NoNewPrivs:1") && told.out.includes("Seccomp:2"), "nnp and a filter", told.out);
  }),
  kitCase("identity", "setuid programs give nothing", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      "for p in /usr/bin/su /usr/bin/passwd /usr/bin/mount; do [ -u $p ] && echo $p; done; su -c id 2>&1 </dev/null; id -u",
    );
    must(!/uid=0/.test(told.out) && told.out.trim().endsWith("65534"), "still nobody", told.out);
  }),
  kitCase("identity", "the host name is the box's own", ["exec", "linux"], async (kit) => {
    const { hostname } = await import("node:os");
    const told = await kit.sh("cat /proc/sys/kernel/hostname");
    must(told.out.trim() !== hostname() && told.out.trim() !== "", "another name", told.out);
  }),
];

const isolation: readonly KitCase[] = [
  kitCase("isolation", "no process of the host or of another box is seen", ["exec", "linux"], async (kit) => {
    const told = await kit.sh("ls /proc | grep -c '^[0-9][0-9]*$'");
    must(Number(told.out) <= 8, "a handful of its own", told.out);
  }),
  kitCase("isolation", "the host's processes cannot be signalled", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      `kill -0 ${process.pid} 2>/dev/null && echo reached; kill -KILL -1 2>/dev/null; echo alive`,
    );
    must(!told.out.includes("reached"), "this process is out of reach", told.out);
  }),
  kitCase("isolation", "there is no network but loopback", ["exec", "linux"], async (kit) => {
    const told = await kit.sh("grep -o '^ *[a-z0-9]*:' /proc/net/dev | tr -d ' '");
    must(told.out === "lo:\n", "lo alone", told.out);
  }),
  kitCase("isolation", "no address of the outside can be reached", ["python"], async (kit) => {
    const code = `import socket
for family, address in ((socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET, ("169.254.169.254", 80)), (socket.AF_INET6, ("2606:4700::1111", 53))):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        s = socket.socket(family, kind); s.settimeout(0.5)
        try:
            s.connect(address); s.send(b"x"); print("reached", address)
        except OSError as e:
            pass
print("done")`;
    const told = await kit.python(code);
    must(told.out === "done\n", "nobody is reached", told.out);
  }),
  kitCase("isolation", "servers on the host's loopback are out of reach", ["python"], async (kit) => {
    const { createServer } = await import("node:net");
    const server = createServer((socket) => socket.end("hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    try {
      const told = await kit.python(`import socket
try:
    socket.create_connection(("127.0.0.1", ${port}), 1); print("reached")
except OSError as e: print("refused")`);
      must(told.out === "refused\n", "refused", told.out);
    } finally {
      server.close();
    }
  }),
  kitCase("isolation", "names are not resolved", ["python"], async (kit) => {
    const told = await kit.python(`import socket
try:
    print("resolved", socket.getaddrinfo("example.com", 80))
except OSError: print("no")`);
    must(told.out === "no\n", "no name", told.out);
  }),
  kitCase("isolation", "abstract sockets of the host are out of reach", ["python", "linux"], async (kit) => {
    const { createServer } = await import("node:net");
    const name = `\0signalbox-kit-${process.pid}`;
    const server = createServer((socket) => socket.end("hello"));
    await new Promise<void>((resolve) => server.listen(name, resolve));
    try {
      const told = await kit.python(`import socket
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(b"\\0signalbox-kit-${process.pid}"); print("reached")
except OSError: print("refused")`);
      must(told.out === "refused\n", "refused", told.out);
    } finally {
      server.close();
    }
  }),
  kitCase("isolation", "shared memory and queues are the box's own", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      "cat /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg | grep -vc key; ls -A /dev/shm",
    );
    must(told.out === "0\n", "none", told.out);
  }),
  kitCase("isolation", "devices are the harmless ones", ["exec", "linux"], async (kit) => {
    const told = await kit.sh(
      "cd /dev; for d in *; do [ -c $d ] || [ -b $d ] && echo $d; done | grep -vE '^(null|zero|full|random|urandom|tty|ptmx|console)$'",
    );
    must(told.out === "", "no other device", told.out);
  }),
];

const egress: readonly KitCase[] = [
  kitCase(
    "egress",
    "the gateway's socket is there, and is the only way out",
    ["python", "egress", "linux"],
    async (kit) => {
      const gateway = await kit.listen((said) => `heard ${said}`);
      const code = `import socket
s = socket.socket(socket.AF_UNIX); s.connect("/run/signalbox/egress.sock"); s.send(b"hello"); print(s.recv(100).decode())
try:
    socket.create_connection(("1.1.1.1", 80), 0.5); print("out")
except OSError: pass`;
      const told = await kit.python(code, { egressSocket: gateway.path });
      gateway.close();
      mustExit(told);
      must(told.out === "heard hello\n", "the gateway answers, nobody else", told.out);
    },
  ),
  kitCase("egress", "programs that know proxies come to the gateway", ["python", "egress", "linux"], async (kit) => {
    const gateway = await kit.listen((said) => `HTTP/1.0 200 OK\r\n\r\n${said.split("\r\n")[0]}`);
    const code = `import urllib.request
print(urllib.request.urlopen("http://api.example.com/x", timeout=5).read().decode())`;
    const told = await kit.python(code, { egressSocket: gateway.path });
    gateway.close();
    mustExit(told);
    must(told.out.startsWith("GET http://api.example.com/x HTTP/1.1"), "the request came by", told.out);
  }),
  kitCase(
    "egress",
    "the bridge takes no descriptor and no process of the tool's",
    ["exec", "egress", "exact"],
    async (kit) => {
      const gateway = await kit.listen(() => "");
      const told = await kit.sh("ls /proc/$$/fd; for i in 1 2 3 4 5 6; do sleep 0.1 & done; wait", {
        egressSocket: gateway.path,
        limits: { pids: 8 },
      });
      gateway.close();
      mustExit(told);
      must(told.out === "0\n1\n10\n2\n3\n4\n", "0 to 4, and the shell's own 10", told.out);
    },
  ),
];

const company: readonly KitCase[] = [
  kitCase("company", "twenty at once, each with its own request and result", ["exec"], async (kit) => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        kit.sh("read -r line; echo $line > mine; sleep 0.2; cat mine >&3", {
          request: `"${index}"`,
          tenant: `t${index % 3}`,
        }),
      ),
    );
    all.forEach((told, index) => {
      mustExit(told);
      must(told.resultText === `"${index}"\n`, "its own answer", told.resultText);
    });
  }),
  kitCase("company", "boxes of two tenants see nothing of one another", ["exec", "processes"], async (kit) => {
    const secret = `s${process.pid}x${Math.floor(performance.now())}`;
    const abort = new AbortController();
    let look: Promise<string> | undefined;
    await kit.sh(
      `echo ${secret} > /tmp/secret; echo ${secret} > /dev/shm/secret; echo up; sh -c 'sleep 20; :' ${secret}x`,
      {
        tenant: "a",
        signal: abort.signal,
        limits: { graceMs: 0 },
        onOut: () => {
          look ??= kit
            .sh(
              `cat /tmp/secret /dev/shm/secret 2>/dev/null; cat /proc/*/cmdline | tr '\\0' ' ' | grep -c '[${secret[0]}]${secret.slice(1)}x'; find / -name secret -not -path '/proc/*' 2>/dev/null`,
              { tenant: "b" },
            )
            .then((told) => told.out)
            .finally(() => abort.abort());
        },
      },
    );
    must((await look) === "0\n", "nothing", await look);
  }),
  kitCase("company", "a bomb in one box does not end its neighbour", ["exec", "python"], async (kit) => {
    const [bomb, neighbour] = await Promise.all([
      kit.python("a = []\nwhile True: a.append(bytearray(4 << 20))", { limits: { memoryBytes: 32 * 1_048_576 } }),
      kit.sh("sleep 0.5; echo fine"),
    ]);
    must(bomb.end.reason === "exceeded", "the bomb is ended", bomb.end);
    mustExit(neighbour);
  }),
];

const warm: readonly KitCase[] = [
  kitCase("warm", "a class that is kept warm gives warm boxes, each used once", ["exec", "warm"], async (kit) => {
    const ask = { code: "ls -A /workspace /tmp; echo x > /tmp/left; echo ran >&3" };
    kit.backend.warm?.(kit.spec(ask), 2);
    let warmRuns = 0;
    for (let tries = 0; tries < 40 && warmRuns < 3; tries += 1) {
      const told = await kit.run(ask);
      mustExit(told);
      must(told.resultText === "ran\n" && !told.out.includes("left"), "as good as new", [told.resultText, told.out]);
      if (told.warm) warmRuns += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    kit.backend.warm?.(kit.spec(ask), 0);
    must(warmRuns >= 3, "warm boxes came", warmRuns);
  }),
  kitCase("warm", "a warm box of one tenant is not given to another", ["exec", "warm"], async (kit) => {
    const ask = { code: "echo ran; : not-for-others", tenant: "a" };
    kit.backend.warm?.(kit.spec(ask), 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const told = await kit.run({ ...ask, tenant: "b" });
    kit.backend.warm?.(kit.spec(ask), 0);
    must(!told.warm, "made for this tenant", told.warm);
  }),
  kitCase("warm", "a warm box has the limits, variables and ends of a cold one", ["exec", "warm"], async (kit) => {
    const ask = { code: 'echo "$V"; exec sleep 20', env: { V: "w" }, limits: { timeoutMs: 300, graceMs: 100 } };
    kit.backend.warm?.(kit.spec(ask), 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const told = await kit.run(ask);
    kit.backend.warm?.(kit.spec(ask), 0);
    must(told.warm && told.end.reason === "timeout" && told.out === "w\n", "timeout", [told.warm, told.end, told.out]);
  }),
];

export const isolationCases: readonly KitCase[] = [...identity, ...isolation, ...egress, ...company, ...warm];
