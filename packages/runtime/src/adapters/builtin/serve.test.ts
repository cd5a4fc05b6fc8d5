// The tools that the runtime serves by itself: pinned by version, and none of them touches more than a workspace.
import { expect, test } from "vitest";
import { readTool } from "../../corridor/tools.ts";
import { manifestDigest } from "../../registry/digest.ts";
import { sha256 } from "../system/crypto.ts";
import { servedManifests } from "./serve.ts";

/** A version never changes: whoever changes a built-in gives it a new version, and pins that here. */
const published: Readonly<Record<string, string>> = {
  "echo@1.0.0": "2a151d53da9668e6c82287d42774cf1635283d213fc751b7f1bf1fd8491f5257",
  "fs.read@1.0.0": "27ebc767219c28173643739889e18089496f219c97e856287745799496630aa4",
  "fs.write@1.0.0": "6f2470e4a95aba5083258551dc4104ef42214a807895f56ac764badfc417da7d",
  "fs.list@1.0.0": "4bcf0322d280c6ab9adc1e8558f1687fa123550d93f4d0e632278a8f2fa71d46",
};

test("each is what was published under its version", () => {
  const found = servedManifests.map((document) => {
    const { metadata } = readTool(document).manifest;
    return [`${metadata.name}@${metadata.version}`, manifestDigest(document, sha256)];
  });
  expect(Object.fromEntries(found)).toEqual(published);
});

test("only fs.write changes anything, and doing that again changes no more", () => {
  const classes = servedManifests.map((document) => {
    const { metadata, spec } = readTool(document).manifest;
    return [metadata.name, spec.sideEffectClass];
  });
  expect(classes).toEqual([
    ["echo", "read_only"],
    ["fs.read", "read_only"],
    ["fs.write", "idempotent_write"],
    ["fs.list", "read_only"],
  ]);
});
