// The routes that tell of the API itself.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { openDoor } from "../../../../../../test/support/http-door.ts";

const kept = readFileSync(fileURLToPath(new URL("../../../../../../docs/openapi.json", import.meta.url)), "utf8");
const anybody = { token: null };

describe("the document", () => {
  test("is the one of the repository, byte for byte, without a credential", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/openapi.json", anybody);
    expect([heard.status, heard.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    expect(heard.text).toBe(kept);
    expect(heard.headers.get("x-content-type-options")).toBe("nosniff");
    expect(door.service.reached).toEqual([]);
  });

  test("is open beyond the machine too", async () => {
    const door = await openDoor({}, { metricsOpen: false });
    expect((await door.ask("GET", "/openapi.json", anybody)).status).toBe(200);
    expect((await door.ask("GET", "/docs", anybody)).status).toBe(200);
    expect((await door.ask("GET", "/metrics", anybody)).status).toBe(401);
  });

  test("is not sent again to whoever has it", async () => {
    const door = await openDoor();
    const first = await door.ask("GET", "/openapi.json", anybody);
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    expect(first.headers.get("cache-control")).toBe("no-cache");
    for (const known of [etag, `W/${etag}`, `"old", ${etag}`, "*"]) {
      const again = await door.ask("GET", "/openapi.json", { token: null, headers: { "if-none-match": known } });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    const other = await door.ask("GET", "/openapi.json", { token: null, headers: { "if-none-match": '"old"' } });
    expect([other.status, other.text]).toEqual([200, kept]);
  });

  test("has a head", async () => {
    const door = await openDoor();
    const head = await door.ask("HEAD", "/openapi.json", anybody);
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers.get("content-length")).toBe(String(Buffer.byteLength(kept)));
  });

  test("cannot be changed", async () => {
    const door = await openDoor();
    const heard = await door.ask("PUT", "/openapi.json", { body: "{}" });
    expect(heard.status).toBe(404);
    expect(heard.json).toMatchObject({ error: { code: "route_not_found", details: { allowed_methods: ["GET"] } } });
  });
});

describe("the page", () => {
  test("loads nothing from elsewhere and runs no script but its files", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/docs", anybody);
    expect([heard.status, heard.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(heard.headers.get("content-security-policy")?.split("; ")).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(heard.headers.get("x-content-type-options")).toBe("nosniff");
    expect(heard.headers.get("referrer-policy")).toBe("no-referrer");
    expect(heard.text).not.toMatch(/https?:|<script>|<style>|\son\w+=/);
  });

  test.each([
    ["/docs/page.css", "text/css; charset=utf-8", "margin"],
    ["/docs/page.js", "text/javascript; charset=utf-8", 'SwaggerUIBundle({\n  url: new URL("openapi.json"'],
    ["/docs/swagger-ui.css", "text/css; charset=utf-8", ".swagger-ui"],
    ["/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8", "SwaggerUIBundle"],
  ])("%s", async (path, type, holds) => {
    const door = await openDoor();
    const heard = await door.ask("GET", path, anybody);
    expect([heard.status, heard.headers.get("content-type")]).toEqual([200, type]);
    expect(heard.headers.get("x-content-type-options")).toBe("nosniff");
    expect(heard.text).toContain(holds);
    const etag = heard.headers.get("etag") ?? "";
    const again = await door.ask("GET", path, { token: null, headers: { "if-none-match": etag } });
    expect([again.status, again.text]).toEqual([304, ""]);
    const head = await door.ask("HEAD", path, anybody);
    expect([head.status, head.text, head.headers.get("etag")]).toEqual([200, "", etag]);
  });

  test("what its HTML names is there", async () => {
    const door = await openDoor();
    const { text } = await door.ask("GET", "/docs", anybody);
    const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = ""]) => link);
    const links = named.filter((link) => !link.startsWith("data:"));
    expect(links).toEqual([
      "docs/swagger-ui.css",
      "docs/page.css",
      "openapi.json",
      "docs/swagger-ui-bundle.js",
      "docs/page.js",
    ]);
    for (const link of links) expect((await door.ask("HEAD", `/${link}`, anybody)).status).toBe(200);
  });

  test("with a slash too many leads to the one without, wherever the runtime stands", async () => {
    const door = await openDoor();
    const answer = await fetch(`http://127.0.0.1:${door.port}/docs/`, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([308, "../docs"]);
  });

  test.each(["/docs/package.json", "/docs/..%2fpackage.json", "/docs/swagger-ui.js"])(
    "%s is not there",
    async (path) => {
      const door = await openDoor();
      expect((await door.ask("GET", path, anybody)).status).toBe(404);
    },
  );
});
