// The tools of a chaos run: one of each side-effect class, and one that people are asked about.
import type { SideEffectClass } from "@signalbox/protocol";
import { workerTool, type Manifest } from "../support/manifests.ts";

interface ChaosTool {
  readonly name: string;
  readonly sideEffectClass: SideEffectClass;
  /** How long its handler takes, evenly between the two, ms. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Of a hundred calls. */
  readonly share: number;
}

export const asked = "chaos.asked";

export const chaosTools: readonly ChaosTool[] = [
  { name: "chaos.read", sideEffectClass: "read_only", fromMs: 0, toMs: 50, share: 25 },
  { name: "chaos.write", sideEffectClass: "idempotent_write", fromMs: 50, toMs: 600, share: 25 },
  { name: "chaos.pay", sideEffectClass: "non_idempotent_write", fromMs: 0, toMs: 300, share: 25 },
  { name: "chaos.wire", sideEffectClass: "irreversible_action", fromMs: 200, toMs: 1_500, share: 20 },
  { name: asked, sideEffectClass: "non_idempotent_write", fromMs: 0, toMs: 200, share: 5 },
];

export function classOf(tool: string): SideEffectClass {
  const found = chaosTools.find(({ name }) => name === tool);
  if (found === undefined) throw new Error(`no tool of a chaos run is called ${tool}`);
  return found.sideEffectClass;
}

export const chaosManifests: readonly Manifest[] = chaosTools.map(({ name, sideEffectClass }) =>
  workerTool(name, "1.0.0", { side_effect_class: sideEffectClass, timeout: "20s" }),
);
