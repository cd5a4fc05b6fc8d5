// The routes about files and packages: put content, then name it by its digest.
import type { FilesService } from "../../../corridor/files-service.ts";
import { packageBounds } from "../../../registry/package/bounds.ts";
import { jsonAnswer } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { storedFile, storedPackage } from "../schemas/answers/files.ts";
import { packageBody } from "../schemas/files.ts";
import { fileView, packageView } from "../views/files.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

type FilesAsk = Pick<Ask, "asked" | "body" | "content"> & { readonly service: FilesService };

/** The body is the file, of whatever type it says it is; the same content again is the same file. */
export async function putFile({ service, asked, content }: FilesAsk): Promise<Answer> {
  return jsonAnswer(200, fileView(await service.putFile(asked, content(packageBounds.fileBytesMax))));
}

export async function putPackage({ service, asked, body }: FilesAsk): Promise<Answer> {
  const { files } = check(packageBody, body, "body");
  const stored = await service.putPackage(asked, files);
  return jsonAnswer(stored.alreadyThere ? 200 : 201, packageView(stored));
}

const fileOperation: Operation = {
  id: "putFile",
  tag: "files",
  summary: "Store a file under the digest of its content",
  description: "The same content again is the same file.",
  answers: { 200: json("What it is named by", storedFile) },
  errors: ["rate_limited", "quota_exceeded"],
};

const packageOperation: Operation = {
  id: "putPackage",
  tag: "files",
  summary: "Make a package of stored files",
  bodySchema: packageBody,
  example: {
    files: [
      {
        path: "main.py",
        mode: "0644",
        ref: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      },
    ],
  },
  answers: {
    200: json("It was there before", storedPackage),
    201: json("It is stored", storedPackage),
  },
  errors: ["rate_limited", "quota_exceeded"],
};

export const fileRoutes: readonly GuardedRoute[] = [
  {
    method: "PUT",
    path: "/v1/files",
    scope: ["tools:invoke", "tools:write"],
    body: "stream",
    handle: putFile,
    operation: fileOperation,
  },
  {
    method: "PUT",
    path: "/v1/packages",
    scope: "tools:write",
    body: "json",
    handle: putPackage,
    operation: packageOperation,
  },
];
