// The resource of `fs:read` and `fs:write`: an absolute path, by whole components.

export type PathRead =
  | { readonly ok: true; readonly components: readonly string[] }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads an absolute path, or `*` for the root. Repeated slashes and `.` are dropped and `..` goes up, at most to the
 * root, by the text alone: what symbolic links do is for the box's mounts to bound.
 * @param plain refuses `.`, `..` and `*` in it: a grant must say what it covers to whoever reads it
 */
export function readPath(text: string, plain: boolean): PathRead {
  if (text === "*") return { ok: true, components: [] };
  if (!text.startsWith("/")) return { ok: false, reason: "a path starts with /" };
  const components: string[] = [];
  for (const component of text.split("/")) {
    if (component === "") continue;
    const dots = component === "." || component === "..";
    if (plain && dots) return { ok: false, reason: "write the path without . and .." };
    if (plain && component.includes("*")) {
      return { ok: false, reason: "a path covers everything under it: write it without *" };
    }
    if (component === "..") components.pop();
    else if (!dots) components.push(component);
  }
  return { ok: true, components };
}

/** Whether `required` is `granted` or under it: /workspace covers /workspace/a, never /workspace2. */
export function pathCovers(granted: readonly string[], required: readonly string[]): boolean {
  return granted.every((component, index) => component === required[index]);
}
