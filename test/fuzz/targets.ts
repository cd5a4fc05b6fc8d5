// Everything that is fuzzed.
import type { Target } from "./target.ts";
import { conditionsTarget } from "./targets/conditions.ts";
import { cursorsTarget } from "./targets/cursors.ts";
import { headersTarget } from "./targets/headers.ts";
import { httpTarget } from "./targets/http.ts";
import { jsonTarget } from "./targets/json.ts";
import { workTarget } from "./targets/work.ts";
import { workerTarget } from "./targets/worker.ts";
import { yamlTarget } from "./targets/yaml.ts";

export const targets: readonly Target[] = [jsonTarget, httpTarget, cursorsTarget, headersTarget, yamlTarget, conditionsTarget, workTarget, workerTarget];
