// What a permission string means, and whether what was granted covers what a call requires.
import { hostCovers, readHost, type HostPattern } from "./permission-host.ts";
import { pathCovers, readPath } from "./permission-path.ts";

/** Longest permission string; a longer one is refused as a grant and covered by nothing but `*`. */
export const permissionCharsMax = 1_024;

/**
 * A permission as read from `domain:action:resource`; `action` holds `domain:action`. A name that is `open` stands for
 * all longer names that start with it (`http.*` is the open name `http.`).
 */
export type Permission =
  | { readonly kind: "everything" }
  | { readonly kind: "host"; readonly action: string; readonly host: HostPattern }
  | { readonly kind: "path"; readonly action: string; readonly components: readonly string[] }
  | { readonly kind: "name"; readonly action: string; readonly name: string; readonly open: boolean };

export type PermissionRead =
  | { readonly ok: true; readonly permission: Permission }
  /** `reason` is a sentence without its end, for whoever wrote the permission. */
  | { readonly ok: false; readonly reason: string };

/** How the resource of each known action is read; for names, what may stand before a final `*`. */
const resources: Readonly<Record<string, "host" | "path" | { readonly separator: string }>> = {
  "net:egress": "host",
  "fs:read": "path",
  "fs:write": "path",
  "secret:read": { separator: "/" },
  "tool:invoke": { separator: "." },
  "event:publish": { separator: "." },
};
const knownDomains = new Set(Object.keys(resources).map((action) => action.slice(0, action.indexOf(":"))));

const word = /^[a-z][a-z0-9_.-]*$/;
const unprintable = /[\p{Control}\p{Surrogate}]/u;

/**
 * Reads a permission for keeping it: as a grant, or in a manifest. `*` alone is everything; anything else has three
 * parts, of which the third may contain more `:`.
 */
export function parsePermission(text: string): PermissionRead {
  return readPermission(text, true);
}

/** @param plain see `readPath`; what a call requires is normalised instead, so that it can be compared */
function readPermission(text: string, plain: boolean): PermissionRead {
  if (text === "*") return { ok: true, permission: { kind: "everything" } };
  if (text.length > permissionCharsMax) return refuse(`a permission has at most ${permissionCharsMax} characters`);
  if (unprintable.test(text)) return refuse("a permission has no control characters and no half surrogate pairs");
  const [domain = "", verb = "", ...rest] = text.split(":");
  const resource = rest.join(":");
  if (!word.test(domain) || !word.test(verb) || resource === "") {
    return refuse("a permission is domain:action:resource in lower case, for example net:egress:api.example.com, or *");
  }
  const action = `${domain}:${verb}`;
  const reading = resources[action];
  if (reading === "host") {
    const read = readHost(resource);
    return read.ok ? { ok: true, permission: { kind: "host", action, host: read.host } } : read;
  }
  if (reading === "path") {
    const read = readPath(resource, plain);
    return read.ok ? { ok: true, permission: { kind: "path", action, components: read.components } } : read;
  }
  if (reading === undefined && knownDomains.has(domain)) {
    return refuse(`${domain} has no action of that name; known are ${Object.keys(resources).join(", ")}`);
  }
  return readName(action, resource, reading?.separator);
}

/**
 * @param separator what must stand before a final `*`; undefined (a tool's own domain): anything, the `*` takes all
 *   that follows
 */
function readName(action: string, resource: string, separator: string | undefined): PermissionRead {
  const open = resource.endsWith("*");
  const name = open ? resource.slice(0, -1) : resource;
  if (/\s/.test(name)) return refuse("a name has no white space");
  if (name.includes("*") || (open && name !== "" && separator !== undefined && !name.endsWith(separator))) {
    return refuse(`* stands alone or at the end${separator === undefined ? "" : `, after "${separator}"`}`);
  }
  // A secret store that resolves paths could be led from one folder of secrets into another.
  if (action === "secret:read" && name.split("/").some((part) => part === "." || part === "..")) {
    return refuse("a secret's name has no . or .. in it");
  }
  return { ok: true, permission: { kind: "name", action, name, open } };
}

function refuse(reason: string): PermissionRead {
  return { ok: false, reason };
}

/**
 * Whether everything that `required` asks for is part of `granted`. Never throws: a granted string that
 * `parsePermission` refuses covers nothing, and a required one that makes no sense is covered by `*` alone.
 */
export function covers(granted: string, required: string): boolean {
  return missingPermissions([granted], [required]).length === 0;
}

/** The required permissions that no single granted one covers: in order, each once. Empty = all are granted. */
export function missingPermissions(granted: readonly string[], required: readonly string[]): string[] {
  if (granted.includes("*")) return [];
  const grants: Permission[] = [];
  for (const text of granted) {
    const read = readPermission(text, true);
    if (read.ok) grants.push(read.permission);
  }
  return [...new Set(required)].filter((text) => {
    const read = readPermission(text, false);
    return !read.ok || !grants.some((grant) => permits(grant, read.permission));
  });
}

function permits(granted: Permission, required: Permission): boolean {
  if (granted.kind === "everything") return true;
  if (required.kind === "everything" || granted.action !== required.action) return false;
  if (granted.kind === "host" && required.kind === "host") return hostCovers(granted.host, required.host);
  if (granted.kind === "path" && required.kind === "path") return pathCovers(granted.components, required.components);
  if (granted.kind === "name" && required.kind === "name") return nameCovers(granted, required);
  return false;
}

type Name = Permission & { readonly kind: "name" };

function nameCovers(granted: Name, required: Name): boolean {
  if (!granted.open) return !required.open && granted.name === required.name;
  if (!required.name.startsWith(granted.name)) return false;
  return required.open || required.name.length > granted.name.length;
}
