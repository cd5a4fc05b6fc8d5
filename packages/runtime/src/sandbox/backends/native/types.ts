// What the native backend is told by its operator, and what it found out about its host.
import type { CgroupLayout } from "../../host/cgroup-layout.ts";
import type { FifoStock } from "../../host/fifos.ts";
import type { ReadableStore } from "../../host/readable.ts";
import type { RunFolder } from "../../host/run-folder.ts";
import type { Uids } from "../../host/uids.ts";

/** A program of ours that runs other code; its folder stands read-only at `/guest`, and Node runs it. */
export interface Guest {
  /** On the host. */
  readonly folder: string;
  /** Below the folder. Its arguments are `[spec.entry]`. */
  readonly entry: string;
  readonly nodeArgs: readonly string[];
  /**
   * True: it loads what it needs, writes the line `ready` to file descriptor 4, then reads one byte from file descriptor 8
   * before it looks at stdin (end of file instead of a byte = nobody wants it any more: it must exit), and closes 8.
   * False: our own starter does that, and loads the guest after it.
   */
  readonly parksItself: boolean;
}

export interface NativeOptions {
  /** Folder for boxes, control and sockets; default `/run/signalbox` for root, else in the user's runtime folder. */
  readonly runRoot?: string;
  /** Node binary for boxes; absent = no boxes with the runtimes node, js and wasm. */
  readonly nodePath?: string;
  readonly guests?: Readonly<Partial<Record<"js" | "wasm", Guest>>>;
  /**
   * Limits held by watching and by rlimits, where the host gives no control groups. An operator says so by name; without
   * it such a host has no native backend.
   */
  readonly allowBestEffortLimits?: boolean;
  /** Where control groups are mounted and which ones this process is in; default is the kernel's places. */
  readonly cgroupMount?: string;
  readonly cgroupSelf?: string;
  /** Of one line of file descriptor 4. */
  readonly eventBytesMax?: number;
  /** Parked boxes for each class that was asked for lately, and of all classes. */
  readonly parkedPerClass?: number;
  readonly parkedMax?: number;
  /** Launchers that wait for whatever box is asked for next. */
  readonly cradles?: number;
  readonly onError?: (error: Error) => void;
}

export interface NativeHost {
  readonly asRoot: boolean;
  readonly arch: "x64" | "arm64";
  readonly layout: CgroupLayout;
  readonly folder: RunFolder;
  readonly store: ReadableStore;
  readonly fifos: FifoStock;
  /** Null for an ordinary user: all boxes have his number, and user namespaces between them. */
  readonly uids: Uids | null;
  readonly nodePath: string | null;
  readonly pythonPath: string | null;
  readonly guests: Readonly<Partial<Record<"js" | "wasm", Guest>>>;
  readonly eventBytesMax: number;
}

/** File descriptors of a box, by what they are for. The tool has 0 to 4. */
export const fds = { result: 3, events: 4, filter: 5, args: 6, status: 7, go: 8 } as const;
