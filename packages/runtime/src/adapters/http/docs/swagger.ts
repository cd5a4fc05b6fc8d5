// The files of the page that are not ours: Swagger UI, as its package brings it.
import { readFile } from "node:fs/promises";

export type SwaggerFile = "swagger-ui.css" | "swagger-ui-bundle.js";

/** @throws the file system's error where the package is not installed */
export function readSwaggerFile(file: SwaggerFile): Promise<string> {
  return readFile(new URL(import.meta.resolve(`@fastify/swagger-ui/static/${file}`)), "utf8");
}
