// What a killed worker leaves on its host is gone soon: processes, folders, control groups.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { NativeBackend } from "../../packages/runtime/src/sandbox/backends/native/backend.ts";
import { livingWith } from "./cases-limits.ts";

const owners = (folder: string): readonly string[] =>
  existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith("signalbox-")) : [];

test(
  "a worker is killed: its boxes die at once, the next worker removes what is left",
  { timeout: 30_000 },
  async () => {
    const runRoot = mkdtempSync(join(tmpdir(), "signalbox-orphans-"));
    // A box's user must be able to pass.
    chmodSync(runRoot, 0o711);
    const next = new NativeBackend({ runRoot, allowBestEffortLimits: true });
    const marker = `4${process.pid}${Date.now() % 10_000}`;
    let killWorker = (): boolean => false;
    try {
      const probe = await next.probe();
      if (process.getuid?.() === 0 && process.env["CI"] !== undefined) expect(probe).toMatchObject({ ok: true });
      if (!probe.ok) {
        process.stderr.write(`native boxes are not available here: ${JSON.stringify(probe)}\n`);
        return;
      }
      const own = owners(runRoot);
      const script = fileURLToPath(new URL("./orphan-owner.ts", import.meta.url));
      const worker = spawn(process.execPath, [script], {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, ORPHAN_RUN_ROOT: runRoot, ORPHAN_MARKER: marker },
      });
      killWorker = () => worker.kill("SIGKILL");
      await once(worker.stdout, "data");
      await vi.waitFor(async () => expect(await livingWith(marker)).toHaveLength(2), { timeout: 5_000, interval: 20 });
      expect(owners(runRoot)).toHaveLength(own.length + 1);
      worker.kill("SIGKILL");
      await once(worker, "exit");
      await vi.waitFor(async () => expect(await livingWith(marker)).toEqual([]), { timeout: 10_000, interval: 50 });
      await vi.waitFor(() => expect(owners(runRoot)).toEqual(own), { timeout: 10_000, interval: 100 });
      const groups = ["memory", "pids", "unified", "."].flatMap((tree) => owners(join("/sys/fs/cgroup", tree)));
      expect(groups.filter((name) => name.includes(`-${worker.pid}-`))).toEqual([]);
    } finally {
      killWorker();
      await next.close();
      rmSync(runRoot, { recursive: true, force: true });
    }
  },
);
