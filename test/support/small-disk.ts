// A file system of a few MiB that a test can fill up, where this user may mount one.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  /** Where it is mounted. */
  readonly path: string;
  /** Takes every block that is left. */
  fill(): void;
  /** Gives back what `fill` took. */
  empty(): void;
  unmount(): void;
}

export const noSmallDisk = "no tmpfs can be mounted here: run as root, or with the right to mount";

/** @returns undefined, with the reason on stderr, where none can be mounted */
export function mountSmallDisk(): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), "signalbox-small-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "signalbox-small-disk", path], { stdio: "pipe" });
  } catch (error) {
    rmSync(path, { recursive: true });
    process.stderr.write(`this test needs to mount an 8 MiB tmpfs, and cannot: ${String(error)}\n`);
    return undefined;
  }
  const filler = join(path, "filler");
  return {
    path,
    fill() {
      const { bavail, bsize } = statfsSync(path);
      if (bavail > 0) writeFileSync(filler, Buffer.alloc(bavail * bsize), { flag: "a" });
    },
    empty: () => rmSync(filler, { force: true }),
    unmount() {
      execFileSync("umount", [path]);
      rmSync(path, { recursive: true });
    },
  };
}
