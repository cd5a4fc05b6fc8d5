// The resource of `net:egress`: which host and port a pattern names, and which patterns it covers.

/** `name` is lower-case and has no final dot; an IPv6 address keeps its brackets and is compared as written. */
export interface HostPattern {
  readonly match: "any" | "exact" | "subdomains";
  readonly name: string;
  readonly port: number | "any";
}

export type HostRead =
  | { readonly ok: true; readonly host: HostPattern }
  | { readonly ok: false; readonly reason: string };

/** What a pattern without a port means. The safe reading: an agent that may call an API may not reach its SSH port. */
const portDefault = 443;
const portMax = 65_535;
/** DNS: RFC 1035. */
const hostCharsMax = 253;
const labelCharsMax = 63;

const label = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?$/;
const ipv6 = /^\[[0-9A-Fa-f:.]{2,45}\]/;
/** A name that ends so is an IPv4 address in one of its spellings, and an address has no sub-domains. */
const numericLabel = /^(?:[0-9]+|0[xX][0-9A-Fa-f]*)$/;

/**
 * Reads `host`, `host:port`, `host:*`, `*.host…`, `[ipv6]…` or `*`. Without a port, port 443 is meant; `*` alone is
 * every host on every port.
 */
export function readHost(text: string): HostRead {
  if (text === "*") return { ok: true, host: { match: "any", name: "", port: "any" } };
  const address = ipv6.exec(text)?.[0];
  const colon = text.indexOf(":", address?.length ?? 0);
  const hostText = colon === -1 ? text : text.slice(0, colon);
  const port = colon === -1 ? portDefault : readPort(text.slice(colon + 1));
  if (port === undefined) {
    return {
      ok: false,
      reason: `a port is a number from 1 to ${portMax} or *, and an IPv6 address stands in brackets`,
    };
  }
  if (hostText === address) return { ok: true, host: { match: "exact", name: address.toLowerCase(), port } };
  if (hostText === "*") return { ok: true, host: { match: "any", name: "", port } };
  const subdomains = hostText.startsWith("*.");
  const dotted = subdomains ? hostText.slice(2) : hostText;
  const name = dotted.endsWith(".") ? dotted.slice(0, -1) : dotted;
  const labels = name.split(".");
  // Tested before lower-casing: that would turn the Kelvin sign into an ASCII k.
  if (name.length > hostCharsMax || !labels.every((part) => part.length <= labelCharsMax && label.test(part))) {
    return { ok: false, reason: "a host is a DNS name in ASCII (xn-- for others), with * only as its first label" };
  }
  if (subdomains && numericLabel.test(labels.at(-1) ?? "")) {
    return { ok: false, reason: "an IP address has no sub-domains: name it without *" };
  }
  return { ok: true, host: { match: subdomains ? "subdomains" : "exact", name: name.toLowerCase(), port } };
}

function readPort(text: string): number | "any" | undefined {
  if (text === "*") return "any";
  const port = /^[1-9][0-9]{0,4}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= portMax ? port : undefined;
}

/** Whether every host and port of `required` is one of `granted`. */
export function hostCovers(granted: HostPattern, required: HostPattern): boolean {
  if (granted.port !== "any" && granted.port !== required.port) return false;
  if (granted.match === "any") return true;
  if (granted.match === "exact") return required.match === "exact" && required.name === granted.name;
  // The dot keeps evilexample.com out of *.example.com.
  if (required.name.endsWith(`.${granted.name}`)) return true;
  return required.match === "subdomains" && required.name === granted.name;
}
