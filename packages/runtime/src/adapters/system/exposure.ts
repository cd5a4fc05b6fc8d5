// Whether the doors may open where they are told to: beyond this machine keys travel, and without TLS anybody on the way can read them.

export interface Exposure {
  readonly host: string;
  /** Own certificate and key, or an ingress in front of it that ends TLS. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | "upstream";
  /** The operator takes clear text on a network of his own. */
  readonly insecure?: boolean;
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** @throws Error that says what to do, for an address that others reach and keys in clear text */
export function checkExposure({ host, tls, insecure = false }: Exposure): "local" | "tls" | "upstream" | "clear_text" {
  if (tls === "upstream") return "upstream";
  if (tls !== undefined) return "tls";
  if (isLoopback(host)) return "local";
  if (insecure) return "clear_text";
  throw new Error(
    `${host} is reached from other machines, and without TLS every key would travel in clear text: ` +
      "give a certificate (--tls cert.pem,key.pem), say that an ingress in front ends TLS (--tls upstream), or take the risk on a network of your own (--insecure)",
  );
}
