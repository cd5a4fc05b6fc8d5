// Where the doors may open without TLS, and where not.
import { expect, test } from "vitest";
import { checkExposure } from "./exposure.ts";

const tls = { cert: Buffer.from("c"), key: Buffer.from("k") };

test.each([
  ["this machine by name", { host: "localhost" }, "local"],
  ["this machine by address", { host: "127.0.0.1" }, "local"],
  ["another address of this machine", { host: "127.9.9.9" }, "local"],
  ["this machine in IPv6", { host: "::1" }, "local"],
  ["a certificate of its own", { host: "0.0.0.0", tls }, "tls"],
  ["a certificate on this machine", { host: "127.0.0.1", tls }, "tls"],
  ["an ingress that ends TLS", { host: "0.0.0.0", tls: "upstream" }, "upstream"],
  ["clear text, said so", { host: "0.0.0.0", insecure: true }, "clear_text"],
] as const)("%s", (_, exposure, how) => expect(checkExposure(exposure)).toBe(how));

test.each(["0.0.0.0", "::", "10.0.0.7", "runtime.example", "127.example", "1127.0.0.1"])("%s without a word on TLS is refused, with what to do", (host) => {
  expect(() => checkExposure({ host })).toThrow(/--tls cert\.pem,key\.pem.*--tls upstream.*--insecure/);
});
