// Where things stand in the content store: names made from digests and checked tenants, never from what somebody sent.
import { hash } from "node:crypto";
import { join } from "node:path";
import { isRef } from "../../registry/package/listing.ts";

/** Names that are one name on every file system; others go by their hash. */
const plainTenant = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** Half-made things, on the same file system as the finished ones; what is in it at a start was never finished. */
export function makingFolder(root: string): string {
  return join(root, "making");
}

/** All that one tenant has: it is deleted with this folder. */
export function tenantFolder(root: string, tenant: string): string {
  return join(root, plainTenant.test(tenant) ? `t-${tenant}` : `x-${hash("sha256", tenant, "hex")}`);
}

export function filesFolder(root: string, tenant: string): string {
  return join(tenantFolder(root, tenant), "files");
}

export function packagesFolder(root: string, tenant: string): string {
  return join(tenantFolder(root, tenant), "packages");
}

/** Spread over 256 folders, so that none grows long. */
export function filePlace(root: string, tenant: string, ref: string): string {
  const hex = hexOf(ref);
  return join(filesFolder(root, tenant), hex.slice(0, 2), hex);
}

export function packagePlace(root: string, tenant: string, ref: string): string {
  return join(packagesFolder(root, tenant), hexOf(ref));
}

/** The code itself, below a package's place. */
export function treeOf(place: string): string {
  return join(place, "tree");
}

/** The text that the digest was taken over, below a package's place. */
export function listingOf(place: string): string {
  return join(place, "listing");
}

function hexOf(ref: string): string {
  if (!isRef(ref)) throw new TypeError("content is named by sha256: and 64 hexadecimal digits");
  return ref.slice("sha256:".length);
}
