// Brings code to where the user of a box can read it: in place where the folders allow it, else as a copy in a store of ours.
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  lstatSync,
  chmodSync,
  renameSync,
  rmSync,
  statSync,
  realpathSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { makePassage } from "./run-folder.ts";

const others = { run: 0o5, pass: 0o1 };

/** Whether everybody may pass through every folder above it. */
function isReachable(path: string): boolean {
  const above = dirname(path);
  if (above === path) return true;
  return (statSync(above).mode & others.pass) !== 0 && isReachable(above);
}

/** Makes a copy that everybody can read and nobody can change; symbolic links stay as they are. */
function copyReadable(from: string, to: string): void {
  if (existsSync(to)) return;
  const draft = `${to}.${process.pid}.part`;
  rmSync(draft, { recursive: true, force: true });
  cpSync(from, draft, { recursive: true, verbatimSymlinks: true });
  openUp(draft);
  renameSync(draft, to);
}

function openUp(path: string): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  if (stat.isDirectory()) for (const name of readdirSync(path)) openUp(join(path, name));
  const runs = stat.isDirectory() || (stat.mode & 0o100) !== 0;
  chmodSync(path, runs ? 0o555 : 0o444);
}

/** One store for all copies; its folder lets everybody pass and nobody look. */
export class ReadableStore {
  readonly #folder: string;
  readonly #asRoot: boolean;
  readonly #known = new Map<string, string>();

  constructor(folder: string, asRoot: boolean) {
    this.#folder = folder;
    this.#asRoot = asRoot;
    makePassage(folder);
  }

  #keep(key: string, from: string): string {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const path = join(this.#folder, createHash("sha256").update(key).digest("hex").slice(0, 40));
    copyReadable(from, path);
    this.#known.set(key, path);
    return path;
  }

  /** An ordinary user's boxes have his own eyes. Root's have not: modes inside a package say nothing about a box's user. */
  package(path: string, digest: string): string {
    return this.#asRoot ? this.#keep(`package ${digest}`, path) : path;
  }

  /** A program of the host's, copied only where its mode or a folder above it is closed; a folder of programs always. */
  program(path: string): string {
    const real = realpathSync(path);
    const stat = statSync(real);
    const open = stat.isFile() && (stat.mode & others.run) === others.run && isReachable(real);
    if (!this.#asRoot || open) return real;
    return this.#keep(`program ${real} ${stat.size} ${stat.mtimeMs}`, real);
  }

  /** One input file, for one box; the copy stands in the folder of the box and goes with it. */
  file(path: string, boxFolder: string, index: number): string {
    if (!this.#asRoot) return path;
    const copy = join(boxFolder, `file-${index}`);
    copyFileSync(path, copy);
    chmodSync(copy, 0o444);
    return copy;
  }
}
