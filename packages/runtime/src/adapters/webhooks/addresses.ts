// Says which addresses a webhook may be dialled at: those of the public internet, and no others.
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** IPv4 that is not one host of the public internet, by IANA's registry of special-purpose addresses. */
const special4 = list("ipv4", [
  ["0.0.0.0", 8], // this network; dials the machine itself
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carrier-grade NAT, and one cloud's metadata
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // a public number that one cloud answers inside its machines, with metadata
  ["169.254.0.0", 16], // link-local, and most clouds' metadata
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments, and one cloud's metadata
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // relays of 6to4
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, and broadcast
]);

/**
 * The only part of IPv6 that is given out to hosts of the internet. Loopback, link-local, unique local, multicast,
 * unspecified and IPv4-mapped addresses and NAT64 all lie outside of it.
 */
const global6 = list("ipv6", [["2000::", 3]]);

/** Inside `global6`, and yet no host: an IPv4 address in other clothes, or nothing at all. */
const special6 = list("ipv6", [
  ["2001::", 23], // protocol assignments: Teredo, ORCHID, benchmarks
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4
  ["3fff::", 20], // documentation
]);

function list(family: "ipv4" | "ipv6", subnets: readonly (readonly [string, number])[]): BlockList {
  const blocks = new BlockList();
  for (const [net, prefix] of subnets) blocks.addSubnet(net, prefix, family);
  return blocks;
}

/** False for everything that is not the text of one address, one with a zone (`fe80::1%eth0`) included. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special4.check(address, "ipv4");
  if (!isIPv6(address) || address.includes("%")) return false;
  return global6.check(address, "ipv6") && !special6.check(address, "ipv6");
}
