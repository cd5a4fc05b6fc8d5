// Putting files and packages: what goes over the wire, and what an answer becomes.
import { expect, test } from "vitest";
import { scriptedHttp } from "../../../test/support/scripted-http.ts";
import { createClient } from "./client.ts";

const digest = `sha256:${"0".repeat(64)}`;

test("bytes and text go out as they are, again after a refusal that a repeat can help", async () => {
  const { url, seen } = await scriptedHttp({
    "PUT /v1/files": [
      { status: 429, body: { error: { code: "rate_limited", message: "try again", retryable: true } } },
      { body: { digest, bytes: 6 } },
    ],
  });
  const client = createClient({ url, key: "sbk_1", ports: { sleep: async () => undefined } });
  expect(await client.files.put("grüße")).toEqual({ digest, bytes: 6 });
  await client.files.put(new Uint8Array([104, 105]));
  await client.files.put("");
  expect(seen.map(({ line, body, contentType }) => [line, body, contentType])).toEqual([
    ["PUT /v1/files", "grüße", "application/octet-stream"],
    ["PUT /v1/files", "grüße", "application/octet-stream"],
    ["PUT /v1/files", "hi", "application/octet-stream"],
    ["PUT /v1/files", "", "application/octet-stream"],
  ]);
});

test("a package, and what of it is missing", async () => {
  const { url, seen } = await scriptedHttp({
    "PUT /v1/packages": [
      {
        status: 400,
        body: {
          error: { code: "invalid_input", message: "1 of its files", retryable: false, details: { missing: [digest] } },
        },
      },
      { status: 201, body: { digest, bytes: 5, already_there: false } },
    ],
  });
  const client = createClient({ url });
  const files = [{ path: "a", mode: "0644", ref: digest }] as const;
  await expect(client.files.putPackage(files)).rejects.toMatchObject({
    code: "invalid_input",
    details: { missing: [digest] },
  });
  expect(await client.files.putPackage(files)).toEqual({ digest, bytes: 5, already_there: false });
  expect(seen[1]).toMatchObject({
    line: "PUT /v1/packages",
    body: JSON.stringify({ files }),
    contentType: "application/json",
  });
});

test("a tool is registered with its package", async () => {
  const { url, seen } = await scriptedHttp({ "PUT /v1/tools": [{ body: {} }] });
  await createClient({ url }).tools.register({ kind: "Tool" }, { package: digest, activate: true });
  expect(seen[0]?.line).toBe(`PUT /v1/tools?activate=true&package=sha256%3A${"0".repeat(64)}`);
});
