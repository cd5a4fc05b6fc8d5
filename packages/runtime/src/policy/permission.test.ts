// Proves what covers what: the specification's line, the readings that it leaves open, and that nothing escapes.
import fc from "fast-check";
import { expect, test } from "vitest";
import { covers, missingPermissions, parsePermission, permissionCharsMax } from "./permission.ts";

const yes = true;
const no = false;

test.each([
  ["net:egress:api.example.com", "net:egress:API.Example.com.", yes],
  ["net:egress:*.example.com", "net:egress:api.example.com", yes],
  ["net:egress:*.example.com", "net:egress:example.com", no],
  ["net:egress:*.example.com", "net:egress:evilexample.com", no],
  ["net:egress:api.example.com", "net:egress:api.example.com.evil.test", no],
  ["net:egress:*", "net:egress:anything.test", yes],
  ["net:egress:*", "net:egress:anything.test:22", yes],
  ["net:egress:*", "net:egress:[2001:db8::1]:8443", yes],
  ["fs:read:/workspace", "fs:read:/workspace/a/b", yes],
  ["fs:read:/workspace", "fs:read:/workspace2/a", no],
  ["fs:read:/workspace", "fs:read:/workspace/../etc/passwd", no],
  ["fs:read:/workspace", "fs:write:/workspace/a", no],
  ["secret:read:*", "secret:read:llm/openai-key", yes],
  ["secret:read:gh", "secret:read:gh2", no],
  ["net:egress", "net:egress:x", no],
  ["event:publish:plugin.*", "event:publish:plugin.installed", yes],
  ["tool:invoke:http.*", "tool:invoke:http.request", yes],
])("the specification: %s over %s is %s", (granted, required, expected) => {
  expect(covers(granted, required)).toBe(expected);
});

test.each([
  ["net:egress:Api.Example.COM.", "net:egress:api.example.com", yes],
  ["net:egress:*.EXAMPLE.com", "net:egress:a.b.example.com.", yes],
  ["net:egress:*.example.com", "net:egress:*.example.com", yes],
  ["net:egress:*.example.com", "net:egress:*.eu.example.com", yes],
  ["net:egress:*.eu.example.com", "net:egress:*.example.com", no],
  ["net:egress:api.example.com", "net:egress:*.example.com", no],
  ["net:egress:api.example.com", "net:egress:*.api.example.com", no],
  ["net:egress:example.com", "net:egress:api.example.com", no],
  ["net:egress:*.example.com", "net:egress:*", no],
  ["net:egress:api.example.com", "net:egress:api.example.com..", no],
  ["net:egress:*.example.com", "net:egress:.example.com", no],
  ["net:egress:kelvin.test", "net:egress:\u212aelvin.test", no],
  ["net:egress:127.0.0.1", "net:egress:127.0.0.1", yes],
  ["net:egress:*.0.0.1", "net:egress:127.0.0.1", no],
  ["net:egress:[2001:DB8::1]", "net:egress:[2001:db8::1]", yes],
  ["net:egress:[2001:db8::1]:8443", "net:egress:[2001:db8::1]", no],
  ["net:egress:[2001:db8::1]:*", "net:egress:[2001:db8::1]:22", yes],
])("hosts: %s over %s is %s", (granted, required, expected) => {
  expect(covers(granted, required)).toBe(expected);
});

test.each([
  ["net:egress:a.test", "net:egress:a.test:443", yes],
  ["net:egress:a.test:443", "net:egress:a.test", yes],
  ["net:egress:a.test", "net:egress:a.test:22", no],
  ["net:egress:a.test", "net:egress:a.test:80", no],
  ["net:egress:a.test", "net:egress:a.test:*", no],
  ["net:egress:a.test:22", "net:egress:a.test:22", yes],
  ["net:egress:a.test:22", "net:egress:a.test", no],
  ["net:egress:a.test:*", "net:egress:a.test:22", yes],
  ["net:egress:a.test:*", "net:egress:a.test", yes],
  ["net:egress:a.test:*", "net:egress:a.test:*", yes],
  ["net:egress:a.test:*", "net:egress:b.test:22", no],
  ["net:egress:*.a.test", "net:egress:x.a.test:22", no],
  ["net:egress:*.a.test:22", "net:egress:x.a.test:22", yes],
  ["net:egress:*:443", "net:egress:x.test", yes],
  ["net:egress:*:443", "net:egress:x.test:22", no],
  ["net:egress:*:443", "net:egress:*", no],
  ["net:egress:a.test:0443", "net:egress:a.test:443", no],
  ["net:egress:a.test:0", "net:egress:a.test:0", no],
])("ports: %s over %s is %s", (granted, required, expected) => {
  expect(covers(granted, required)).toBe(expected);
});

test.each([
  ["fs:read:/workspace", "fs:read:/workspace", yes],
  ["fs:read:/workspace/", "fs:read:/workspace", yes],
  ["fs:read:/workspace", "fs:read://workspace//a/", yes],
  ["fs:read:/workspace/a", "fs:read:/workspace", no],
  ["fs:read:/workspace", "fs:read:/workspace/a/../b", yes],
  ["fs:read:/workspace", "fs:read:/workspace/..", no],
  ["fs:read:/workspace", "fs:read:/../../workspace/a", yes],
  ["fs:read:/workspace", "fs:read:/workspace/a/../../workspace2", no],
  ["fs:read:/workspace", "fs:read:/workspace/...", yes],
  ["fs:read:/workspace", "fs:read:/Workspace/a", no],
  ["fs:read:/workspace", "fs:read:workspace/a", no],
  ["fs:read:/workspace", "fs:read:/workspace/with space and:colon", yes],
  ["fs:read:/", "fs:read:/etc/passwd", yes],
  ["fs:read:*", "fs:read:/etc/passwd", yes],
  ["fs:read:/workspace", "fs:read:*", no],
  ["fs:read:/workspace/../etc", "fs:read:/etc/passwd", no],
  ["fs:read:/workspace/*", "fs:read:/workspace/*", no],
  ["fs:write:/workspace", "fs:read:/workspace", no],
])("paths: %s over %s is %s", (granted, required, expected) => {
  expect(covers(granted, required)).toBe(expected);
});

test.each([
  ["tool:invoke:http.request", "tool:invoke:http.request", yes],
  ["tool:invoke:http.request", "tool:invoke:HTTP.request", no],
  ["tool:invoke:http.*", "tool:invoke:http", no],
  ["tool:invoke:http.*", "tool:invoke:http.", no],
  ["tool:invoke:http.*", "tool:invoke:httpx.request", no],
  ["tool:invoke:http.*", "tool:invoke:http.client.get", yes],
  ["tool:invoke:http.*", "tool:invoke:http.*", yes],
  ["tool:invoke:http.*", "tool:invoke:http.client.*", yes],
  ["tool:invoke:http.*", "tool:invoke:*", no],
  ["tool:invoke:http.request", "tool:invoke:http.*", no],
  ["tool:invoke:*", "tool:invoke:http.*", yes],
  ["tool:invoke:htt*", "tool:invoke:http.request", no],
  ["event:publish:*", "event:publish:plugin.installed", yes],
  ["event:publish:plugin.installed", "event:publish:plugin.removed", no],
  ["secret:read:llm/*", "secret:read:llm/openai-key", yes],
  ["secret:read:llm/*", "secret:read:llm2/openai-key", no],
  ["secret:read:llm/*", "secret:read:llm/../payments/key", no],
  ["secret:read:*", "secret:write:x", no],
])("names: %s over %s is %s", (granted, required, expected) => {
  expect(covers(granted, required)).toBe(expected);
});

test.each([
  ["crm:read:accounts", "crm:read:accounts", yes],
  ["crm:read:accounts", "crm:read:accounts2", no],
  ["crm:read:acc*", "crm:read:accounts", yes],
  ["crm:read:acc", "crm:read:acc*", no],
  ["crm:read:emea:*", "crm:read:emea:accounts", yes],
  ["crm:read:*", "crm:read:a/b:c.d", yes],
  ["crm:read:*", "crm:write:a", no],
  ["crm:read", "crm:read:a", no],
  ["crm:*", "crm:read:a", no],
  ["crm:*:*", "crm:read:a", no],
  ["constructor:x:*", "constructor:x:y", yes],
])("a tool's own domain: %s over %s is %s", (granted, required, expected) => {
  expect(covers(granted, required)).toBe(expected);
});

test.each(["net:egress:x", "fs:read:/", "*", "crm:read:a", "not a permission", ""])("* alone covers %j", (required) => {
  expect(covers("*", required)).toBe(true);
});

test.each(["", "*:*", "*:*:*", "net:*:*", "net:egress:", "fs:read:", "NET:EGRESS:*", " *", "* "])(
  "%j covers nothing",
  (granted) => {
    for (const required of ["net:egress:x", "fs:read:/a", "secret:read:a", "tool:invoke:a", "*", granted]) {
      expect(covers(granted, required)).toBe(false);
    }
  },
);

test("what is missing is listed in order, once, whatever covers it", () => {
  const granted = ["tool:invoke:http.*", "net:egress:*.example.com", "broken"];
  const required = [
    "fs:read:/b",
    "tool:invoke:http.request",
    "fs:read:/a",
    "net:egress:api.example.com",
    "fs:read:/b",
    "broken",
  ];
  expect(missingPermissions(granted, required)).toEqual(["fs:read:/b", "fs:read:/a", "broken"]);
  expect(missingPermissions([], ["tool:invoke:echo"])).toEqual(["tool:invoke:echo"]);
  expect(missingPermissions(["*"], required)).toEqual([]);
  expect(missingPermissions([], [])).toEqual([]);
});

test.each([
  "*",
  "net:egress:*",
  "net:egress:*.example.com:8443",
  "net:egress:xn--bcher-kva.example",
  "fs:write:/workspace",
  "secret:read:acme/example-token",
  "tool:invoke:*",
  "event:publish:plugin.*",
  "crm:read:accounts",
])("%s may be granted", (text) => {
  expect(parsePermission(text).ok).toBe(true);
});

const shape = "a permission is domain:action:resource in lower case, for example net:egress:api.example.com, or *";
const host = "a host is a DNS name in ASCII (xn-- for others), with * only as its first label";
const port = "a port is a number from 1 to 65535 or *, and an IPv6 address stands in brackets";

test.each([
  ["", shape],
  ["net:egress", shape],
  ["Net:egress:x", shape],
  ["x".repeat(permissionCharsMax + 1), "a permission has at most 1024 characters"],
  ["fs:read:/a\u0000b", "a permission has no control characters and no half surrogate pairs"],
  [
    "net:ingress:x",
    "net has no action of that name; known are net:egress, fs:read, fs:write, secret:read, tool:invoke, event:publish",
  ],
  ["net:egress:https://api.example.com", port],
  ["net:egress:api.example.com/path", host],
  ["net:egress:user@api.example.com", host],
  ["net:egress:api*.example.com", host],
  ["net:egress:*.*.example.com", host],
  ["net:egress:*.", host],
  ["net:egress:bücher.example", host],
  ["net:egress:-a.example", host],
  [`net:egress:${"a".repeat(64)}.example`, host],
  [`net:egress:${"a.".repeat(127)}`, "ok"],
  [`net:egress:${"a.".repeat(128)}`, host],
  ["net:egress:a.test:65536", port],
  ["net:egress:a.test:", port],
  ["net:egress:2001:db8::1", port],
  ["net:egress:*.10.0.0.1", "an IP address has no sub-domains: name it without *"],
  ["fs:read:workspace", "a path starts with /"],
  ["fs:read:/a/../b", "write the path without . and .."],
  ["fs:read:/a/*", "a path covers everything under it: write it without *"],
  ["secret:read:a/../b", "a secret's name has no . or .. in it"],
  ["tool:invoke:http*", '* stands alone or at the end, after "."'],
  ["tool:invoke:*.request", '* stands alone or at the end, after "."'],
  ["crm:read:a*b", "* stands alone or at the end"],
  ["tool:invoke:a b", "a name has no white space"],
])("as a grant %j is answered with its reason", (text, reason) => {
  const read = parsePermission(text);
  expect(read.ok ? "ok" : read.reason).toBe(reason);
});

const hostLabel = fc.string({ unit: fc.constantFrom(..."abAB01-_*.:[]\u212a\u0131é "), maxLength: 6 });
const hostLike = fc
  .array(fc.oneof(hostLabel, fc.constantFrom("example", "com", "*", "")), { maxLength: 5 })
  .map((labels) => labels.join("."));
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(
      fc.constantFrom(
        "net",
        "egress",
        "fs",
        "read",
        "secret",
        "tool",
        "invoke",
        ":",
        "*",
        ".",
        "/",
        "..",
        "a",
        "__proto__",
      ),
      { maxLength: 9 },
    )
    .map((parts) => parts.join("")),
  hostLike.map((name) => `net:egress:${name}`),
);

test("nothing throws, and what may be granted covers itself", () => {
  fc.assert(
    fc.property(anyText, anyText, (granted, required) => {
      expect(typeof covers(granted, required)).toBe("boolean");
      expect(covers(granted, granted)).toBe(parsePermission(granted).ok);
    }),
    { numRuns: 5_000 },
  );
});

test("a host grant covers only that host, or with *. only names under it", () => {
  fc.assert(
    fc.property(hostLike, hostLike, (granted, required) => {
      const under = granted.startsWith("*.");
      fc.pre(granted !== "*" && !granted.startsWith("*:"));
      if (!covers(`net:egress:${granted}`, `net:egress:${required}`)) return;
      const bare = (text: string) =>
        text
          .replace(/:(\*|[0-9]+)$/, "")
          .replace(/\.$/, "")
          .toLowerCase();
      if (under) expect(bare(required).endsWith(bare(granted).slice(1))).toBe(true);
      else expect(bare(required)).toBe(bare(granted));
      if (under && !required.startsWith("*.")) expect(bare(required).length).toBeGreaterThan(bare(granted).length - 1);
    }),
    { numRuns: 20_000 },
  );
});

test("a path grant covers nothing outside it, however the path is written", () => {
  const step = fc.constantFrom("a", "b", "..", ".", "", "a2", "*");
  const path = fc.array(step, { maxLength: 8 }).map((steps) => `/${steps.join("/")}`);
  fc.assert(
    fc.property(path, (required) => {
      // Another way to the same answer: let the URL parser resolve the dots.
      const resolved = new URL(`file://${required.replace(/\/+/g, "/")}`).pathname;
      const inside = resolved === "/a" || resolved.startsWith("/a/");
      expect(covers("fs:read:/a", `fs:read:${required}`)).toBe(inside);
    }),
    { numRuns: 5_000 },
  );
});

test("covering is transitive", () => {
  const permission = fc.constantFrom(
    "*",
    "net:egress:*",
    "net:egress:*:443",
    "net:egress:*.b.test",
    "net:egress:*.a.b.test",
    "net:egress:x.a.b.test",
    "net:egress:x.a.b.test:*",
    "net:egress:x.a.b.test:22",
    "fs:read:/",
    "fs:read:/a",
    "fs:read:/a/b",
    "fs:write:/a",
    "tool:invoke:*",
    "tool:invoke:a.*",
    "tool:invoke:a.b.*",
    "tool:invoke:a.b.c",
  );
  fc.assert(
    fc.property(permission, permission, permission, (one, two, three) => {
      if (covers(one, two) && covers(two, three)) expect(covers(one, three)).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});
