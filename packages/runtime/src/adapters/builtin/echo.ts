// The built-in `echo` tool of the platform: gives back what it is given, so that a first call needs no worker of one's own.

export const echoManifest = {
  apiVersion: "signalbox.dev/v1",
  kind: "Tool",
  metadata: {
    name: "echo",
    version: "1.0.0",
    owner: "signalbox",
    description: "Gives its input back; runs inside the runtime, for first steps and checks",
  },
  spec: {
    executor: { type: "worker" },
    side_effect_class: "read_only",
    input: { type: "object" },
    output: { type: "object" },
  },
} as const;
