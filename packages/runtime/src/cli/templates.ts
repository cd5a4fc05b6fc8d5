// The files that `signalbox init` writes: a tool that works as it is, commented for whoever changes it.

export interface TemplateFile {
  readonly name: string;
  readonly text: string;
}

/** `Hello World!` → `hello-world`; `hello` where nothing usable is left. */
export function toolDomain(folderName: string): string {
  const name = folderName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+|-+$/g, "")
    .slice(0, 40);
  return name === "" ? "hello" : name;
}

export function exampleFiles(tool: string): readonly TemplateFile[] {
  return [
    { name: "tool.yaml", text: manifest(tool) },
    { name: "worker.js", text: worker(tool) },
  ];
}

function manifest(tool: string): string {
  return `# What the tool is and what it may do. Check it with: signalbox validate <this folder>
apiVersion: signalbox.dev/v1
kind: Tool
metadata:
  name: ${tool}
  # A published version never changes: raise it with every change of this file.
  version: 1.0.0
  owner: me
  # Models read this to decide when to call the tool.
  description: Greets somebody by name.
spec:
  # A worker of yours runs it: see worker.js.
  executor:
    type: worker
  # JSON Schema. What does not match is refused before it reaches the worker.
  input:
    type: object
    properties:
      name:
        type: string
        minLength: 1
        description: Who is greeted.
    required: [name]
    additionalProperties: false
  output:
    type: object
    properties:
      greeting: { type: string }
    required: [greeting]
  # What a repeat could do to the world: read_only, idempotent_write,
  # non_idempotent_write (when unset) or irreversible_action.
  side_effect_class: read_only
  timeout: 10s
`;
}

function worker(tool: string): string {
  return `// Runs the tool of tool.yaml. Start it where \`signalbox dev\` was started: node <this file>
import { readFileSync } from "node:fs";
import { Worker } from "@signalbox/worker";

// On this machine \`signalbox dev\` has left a key and its address. Elsewhere make a key with the
// scope workers:connect (signalbox keys create), and set SIGNALBOX_KEY and SIGNALBOX_WORKER_ADDRESS.
const local = process.env.SIGNALBOX_KEY ? {} : JSON.parse(readFileSync(".signalbox/client.json", "utf8"));

const worker = new Worker({
  key: process.env.SIGNALBOX_KEY || local.key,
  address: process.env.SIGNALBOX_WORKER_ADDRESS ?? local.grpc ?? "127.0.0.1:9090",
});

worker.tool("${tool}", { version: "1.0.0", sideEffectClass: "read_only" }, async ({ name }, ctx) => {
  // Hand ctx.signal to whatever you wait for: it aborts when the call has to stop.
  ctx.signal.throwIfAborted();
  return { greeting: \`Hello, \${name}!\` };
});

console.error("offering ${tool}@1.0.0; Ctrl-C stops");
await worker.run();
`;
}
