// Names of tools that model providers take: 64 characters, letters, digits, `_` and `-`; each leads back to its tool.

export const providerNameCharsMax = 64;

const safe = /^[A-Za-z0-9_-]+$/;
/** Where `.` became `__`, these would read like another name. */
const ambiguous = /__|_\.|\._/;

/**
 * The same name for the same tool, whatever other tools there are: `payments.charge` is `payments__charge`. A name that
 * is too long, or could be taken for another one, ends in a hash of itself.
 */
export function providerName(tool: string): string {
  const name = tool.replaceAll(".", "__");
  if (!ambiguous.test(tool) && safe.test(name) && name.length <= providerNameCharsMax) return name;
  const hash = fnv1a(tool).toString(16).padStart(8, "0");
  const head = tool.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, providerNameCharsMax - 1 - hash.length);
  return `${head}_${hash}`;
}

/** 32 bits tell a program's tools apart; that they do is checked where they are offered. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
