// What two lists of places both cover: hosts with ports, and paths.
import { readHost, type HostPattern } from "./permission-host.ts";
import { readPath } from "./permission-path.ts";

/** Pairs are made of two lists; guards against lists that multiply each other. */
const narrowedPlacesMax = 1_024;

/** Host patterns that are covered by both lists; what cannot be read covers nothing. */
export function narrowHosts(one: readonly string[], other: readonly string[]): readonly string[] {
  const [mine, theirs] = [one, other].map((list) =>
    list.flatMap((text) => {
      const read = readHost(text);
      return read.ok ? [read.host] : [];
    }),
  );
  return pairs(mine ?? [], theirs ?? [], (a, b) => {
    const host = meet(a, b);
    return host === undefined ? undefined : hostText(host);
  });
}

/** Paths that are covered by both lists. */
export function narrowPaths(one: readonly string[], other: readonly string[]): readonly string[] {
  const [mine, theirs] = [one, other].map((list) =>
    list.flatMap((text) => {
      const read = readPath(text, true);
      return read.ok ? [read.components] : [];
    }),
  );
  return pairs(mine ?? [], theirs ?? [], (a, b) => {
    const [outer, inner] = a.length <= b.length ? [a, b] : [b, a];
    return outer.every((component, index) => component === inner[index]) ? `/${inner.join("/")}` : undefined;
  });
}

/** Cut at the bound: leaving a place out is strict. */
function pairs<T>(
  one: readonly T[],
  other: readonly T[],
  meeting: (a: T, b: T) => string | undefined,
): readonly string[] {
  const found = new Set<string>();
  for (const a of one)
    for (const b of other) {
      const text = meeting(a, b);
      if (text !== undefined && found.size < narrowedPlacesMax) found.add(text);
    }
  return [...found];
}

function meet(a: HostPattern, b: HostPattern): HostPattern | undefined {
  const port = a.port === "any" ? b.port : b.port === "any" || b.port === a.port ? a.port : undefined;
  const name = meetNames(a, b);
  return port === undefined || name === undefined ? undefined : { ...name, port };
}

function meetNames(a: HostPattern, b: HostPattern): Pick<HostPattern, "match" | "name"> | undefined {
  if (a.match === "any") return b;
  if (b.match === "any") return a;
  if (a.match === "exact" && b.match === "exact") return a.name === b.name ? a : undefined;
  if (a.match === "subdomains" && b.match === "subdomains" && a.name === b.name) return a;
  // The longer name is the narrower one, when it lies under the other at all.
  const [outer, inner] = a.name.length <= b.name.length ? [a, b] : [b, a];
  return outer.match === "subdomains" && inner.name.endsWith(`.${outer.name}`) ? inner : undefined;
}

function hostText({ match, name, port }: HostPattern): string {
  if (match === "any" && port === "any") return "*";
  const host = match === "any" ? "*" : match === "subdomains" ? `*.${name}` : name;
  return port === "any" ? `${host}:*` : `${host}:${port}`;
}
