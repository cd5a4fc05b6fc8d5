// Holds a binding against the version of the tool that it names: it may only tighten what that says.
import { sideEffectClasses, type SideEffectClass } from "@signalbox/protocol";
import type { Problem } from "../../document/problems.ts";
import type { ToolSpec } from "../types.ts";
import type { ToolBinding } from "./types.ts";

/**
 * @param path of the binding, like `spec.tools[0]`
 */
export function looserThanTool(binding: ToolBinding, tool: Pick<ToolSpec, "sideEffectClass" | "scheduling">, path: string): readonly Problem[] {
  const { sideEffectClass, scheduling } = binding;
  const named = `${binding.tool}@${binding.version}`;
  const hint = "a binding may only tighten what its tool says";
  const problems: Problem[] = [];
  if (sideEffectClass !== undefined && strictness(sideEffectClass) < strictness(tool.sideEffectClass))
    problems.push({ path: `${path}.side_effect_class`, message: `${sideEffectClass} is looser than ${tool.sideEffectClass}, which ${named} says`, hint });
  if (scheduling !== undefined && !keepsOrder(scheduling, tool.scheduling))
    problems.push({ path: `${path}.scheduling`, message: `${scheduling} is looser than ${tool.scheduling}, which ${named} says`, hint });
  return problems;
}

/** By what a repetition could do; a class that nobody knows is the strictest. */
function strictness(sideEffectClass: string): number {
  const place = sideEffectClasses.indexOf(sideEffectClass as SideEffectClass);
  return place === -1 ? sideEffectClasses.length : place;
}

/** Another key is no order of the tool's: calls that it keeps apart could meet. */
function keepsOrder(binding: string, tool: string): boolean {
  return tool === "parallel" || binding === "exclusive" || binding === tool;
}
