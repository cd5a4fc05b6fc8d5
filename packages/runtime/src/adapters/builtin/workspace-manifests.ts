// The contracts of fs.read, fs.write and fs.list, as models and people see them.
import { packageBounds } from "../../registry/package/bounds.ts";
import { workspaceLimits } from "../../corridor/workspace.ts";

const { workspaceFileBytesMax, workspaceListItemsDefault, workspaceListItemsMax } = workspaceLimits;

const path = {
  type: "string",
  minLength: 1,
  maxLength: packageBounds.pathBytesMax,
  description: "Relative to the project's workspace, with / between its names; no . and no ..",
} as const;
const digest = { type: "string", pattern: "^sha256:[0-9a-f]{64}$" } as const;
const encoding = {
  enum: ["utf8", "base64"],
  description: "How the content stands in JSON; utf8 if not given.",
} as const;
const bytes = { type: "integer", minimum: 0 } as const;

function manifest(name: string, description: string, spec: Readonly<Record<string, unknown>>) {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { name, version: "1.0.0", owner: "signalbox", category: "files", description },
    spec: { executor: { type: "worker" }, ...spec },
  };
}

function shape(required: readonly string[], properties: Readonly<Record<string, unknown>>) {
  return { type: "object", additionalProperties: false, required, properties };
}

export const readManifest = manifest("fs.read", "Reads a file of the project's workspace, or a part of it.", {
  side_effect_class: "read_only",
  input: shape(["path"], {
    path,
    encoding,
    offset_bytes: { ...bytes, maximum: workspaceFileBytesMax, description: "Where to begin; 0 if not given." },
    length_bytes: {
      type: "integer",
      minimum: 1,
      maximum: workspaceFileBytesMax,
      description: "How much at most; all if not given.",
    },
  }),
  output: shape(["path", "content", "encoding", "offset_bytes", "length_bytes", "bytes", "digest"], {
    path: { type: "string" },
    content: { type: "string" },
    encoding,
    offset_bytes: bytes,
    length_bytes: { ...bytes, description: "How many bytes came, before the encoding." },
    bytes: { ...bytes, description: "Of the whole file." },
    digest: { ...digest, description: "Of the whole file; fs.write takes it as if_digest." },
  }),
});

export const writeManifest = manifest("fs.write", "Writes a file of the project's workspace whole, or deletes it.", {
  side_effect_class: "idempotent_write",
  input: shape(["path", "content"], {
    path,
    content: {
      type: ["string", "null"],
      maxLength: Math.ceil(workspaceFileBytesMax / 3) * 4,
      description: `The whole new content, ${workspaceFileBytesMax} bytes at most; null deletes the file.`,
    },
    encoding,
    if_digest: {
      type: ["string", "null"],
      pattern: digest.pattern,
      description: "Writes only where the file has this digest now, or, with null, where there is none.",
    },
  }),
  output: shape(["path", "digest", "bytes"], {
    path: { type: "string" },
    digest: { type: ["string", "null"], description: "Of what is there now; null: no file." },
    bytes,
  }),
});

export const listManifest = manifest("fs.list", "Lists the files of the project's workspace, by path.", {
  side_effect_class: "read_only",
  input: shape([], {
    prefix: {
      type: "string",
      maxLength: packageBounds.pathBytesMax,
      description: "How the paths begin, letter for letter; all if not given.",
    },
    after: { type: "string", maxLength: packageBounds.pathBytesMax, description: "next_after of the page before." },
    limit: {
      type: "integer",
      minimum: 1,
      maximum: workspaceListItemsMax,
      description: `${workspaceListItemsDefault} if not given.`,
    },
  }),
  output: shape(["items", "next_after"], {
    items: {
      type: "array",
      items: shape(["path", "bytes", "digest", "updated_at", "execution_id"], {
        path: { type: "string" },
        bytes,
        digest,
        updated_at: { type: "string" },
        execution_id: { type: "string", description: "The call that wrote it." },
      }),
    },
    next_after: { type: ["string", "null"], description: "Null on the last page." },
  }),
});
