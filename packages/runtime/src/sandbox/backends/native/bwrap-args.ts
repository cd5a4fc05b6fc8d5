// The box as arguments of bubblewrap: what stands in it, what it may see, and nothing else.
import type { BoxFile, BoxSpec } from "../../types.ts";
import { bridgePort, inside } from "./starters.ts";

/** What was prepared on the host for one box. */
export interface BoxParts {
  /** Folder on the sized file system of this box, with `workspace`, `tmp` and `shm` in it. */
  readonly disk: string;
  readonly starters: string;
  readonly etc: string;
  readonly etcNames: readonly string[];
  /** Where code and programs can be read by the box's user; null = none of that kind. */
  readonly package: string | null;
  readonly guest: string | null;
  readonly node: string | null;
  readonly egress: string | null;
  readonly files: readonly BoxFile[];
  /** Top-level folders of the host's system that are links into /usr (name → target), and those that are folders. */
  readonly systemLinks: Readonly<Record<string, string>>;
  readonly systemFolders: readonly string[];
}

/** Facts about the system that programs need and nobody has to hide. */
const hostEtc = ["alternatives", "ld.so.cache", "localtime", "ssl/certs"];

/** Constants: the same on every host and in every box. What a tool declares outranks them. */
const baseEnv = {
  PATH: `${inside.bin}:/usr/local/bin:/usr/bin:/bin`,
  HOME: "/workspace",
  TMPDIR: "/tmp",
  LANG: "C.UTF-8",
};

const proxy = `http://127.0.0.1:${bridgePort}`;
/** Programs know one spelling or the other. */
const proxyEnv = { http_proxy: proxy, https_proxy: proxy, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, no_proxy: "" };

export function bwrapArgs(spec: BoxSpec, parts: BoxParts): readonly string[] {
  const env = { ...baseEnv, ...(parts.egress === null ? {} : proxyEnv), ...spec.env };
  return [
    ...words("--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --clearenv"),
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...words("--ro-bind /usr /usr"),
    ...Object.entries(parts.systemLinks).flatMap(([name, target]) => ["--symlink", target, `/${name}`]),
    ...parts.systemFolders.flatMap((name) => ["--ro-bind", `/${name}`, `/${name}`]),
    ...words("--dir /etc"),
    ...hostEtc.flatMap((name) => ["--ro-bind-try", `/etc/${name}`, `/etc/${name}`]),
    ...parts.etcNames.flatMap((name) => ["--ro-bind", `${parts.etc}/${name}`, `/etc/${name}`]),
    ...words("--proc /proc --dev /dev"),
    ...["shm", "tmp", "workspace"].flatMap((name) => ["--bind", `${parts.disk}/${name}`, placeOf(name)]),
    ...words(`--dir ${inside.bin}`),
    ...bound(parts.starters, inside.starters),
    ...bound(parts.node, `${inside.bin}/node`),
    ...bound(parts.guest, inside.guest),
    ...bound(parts.package, inside.package),
    ...bound(parts.egress, inside.egress),
    ...parts.files.flatMap(({ path, hostPath }) => ["--ro-bind", hostPath, `/workspace/${path}`]),
    ...words("--remount-ro /dev --remount-ro / --chdir /workspace"),
    ...words("--uid 65534 --gid 65534 --cap-drop ALL --hostname box"),
  ];
}

const words = (text: string): readonly string[] => text.split(" ");
const placeOf = (name: string): string => (name === "shm" ? "/dev/shm" : `/${name}`);
const bound = (from: string | null, to: string): readonly string[] => (from === null ? [] : ["--ro-bind", from, to]);

/** What is wrong with a spec or with files that somebody wants in a box, in words; empty = good. */
export function specProblems(spec: BoxSpec): readonly string[] {
  const problems: string[] = [];
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(spec.boxId)) problems.push("boxId must be 1 to 64 letters, digits, - or _");
  const packaged = spec.runtime === "exec" || spec.runtime === "node" || spec.runtime === "python";
  if (packaged && spec.package === null) problems.push(`the runtime ${spec.runtime} needs a package`);
  if (packaged && !isInnerPath(spec.entry)) problems.push(`entry must be a path below the package, without ".."`);
  for (const [name, value] of Object.entries(spec.env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) problems.push(`${JSON.stringify(name)} is no name of a variable`);
    if (value.includes("\0")) problems.push(`the value of ${name} has a zero byte`);
  }
  return problems;
}

/** Relative, normalised, and it stays where it is put. */
export function isInnerPath(path: string): boolean {
  if (path === "" || path.startsWith("/") || path.includes("\0")) return false;
  return path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}
