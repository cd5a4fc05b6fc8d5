// Texts and bytes with mistakes: good ones cut, doubled, overwritten and joined, the way broken programs and hostile hands do it.
import fc from "fast-check";

/** What tends to break readers: ends of ranges, halves of characters, signs with a meaning, and a lot of everything. */
const nasty: readonly string[] = [
  "",
  "\u0000",
  "\ufeff",
  "\ud800",
  "\udfff",
  "\u2028",
  "\u00a0",
  "\u202e",
  "\r\n",
  "\\u0000",
  "\\ud800",
  "\\u005f_proto__",
  "__proto__",
  "constructor",
  "toString",
  '"',
  "\\",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "null",
  "true",
  "-0",
  "1e400",
  "-1e-400",
  "9007199254740993",
  `1${"0".repeat(4_300)}`,
  "1.00000000000000000000000000001",
  "[".repeat(5_000),
  '{"a":'.repeat(2_000),
  "a".repeat(70_000),
  '"a":1,'.repeat(500),
  "../".repeat(20),
  "%00",
  "${x}",
  "' OR 1=1 --",
];

interface Change {
  readonly how: "cut" | "drop" | "double" | "insert" | "overwrite" | "swap";
  readonly at: number;
  readonly length: number;
  readonly text: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  how: fc.constantFrom("cut", "drop", "double", "insert", "insert", "overwrite", "swap"),
  at: fc.nat(4_000),
  length: fc.nat(40),
  text: fc.oneof(fc.constantFrom(...nasty), fc.string({ unit: "binary", maxLength: 8 })),
});

function changed(text: string, { how, at, length, text: piece }: Change): string {
  const from = text.length === 0 ? 0 : at % text.length;
  const to = Math.min(text.length, from + length);
  const [head, middle, tail] = [text.slice(0, from), text.slice(from, to), text.slice(to)];
  switch (how) {
    case "cut":
      return head;
    case "drop":
      return head + tail;
    case "double":
      return head + middle + middle + tail;
    case "insert":
      return head + piece + middle + tail;
    case "overwrite":
      return head + piece + tail;
    case "swap":
      return tail + middle + head;
  }
}

/** One of these texts with up to four changes, or a text of chance. */
export function spoiltText(good: readonly string[]): fc.Arbitrary<string> {
  const spoilt = fc
    .tuple(fc.constantFrom(...good), fc.array(change, { maxLength: 4 }))
    .map(([text, changes]) => changes.reduce(changed, text));
  return fc.oneof(
    { weight: 8, arbitrary: spoilt },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
    { weight: 1, arbitrary: fc.constantFrom(...nasty) },
  );
}

/** One of these with single bytes changed, cut off, or put behind another one. */
export function spoiltBytes(good: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  const pokes = fc.array(fc.tuple(fc.nat(100_000), fc.integer({ min: 0, max: 255 })), { maxLength: 6 });
  return fc
    .record({
      frame: fc.constantFrom(...good),
      behind: fc.option(fc.constantFrom(...good), { nil: undefined, freq: 4 }),
      pokes,
      cut: fc.nat(12),
      chance: fc.option(fc.uint8Array({ maxLength: 80 }), { nil: undefined, freq: 5 }),
    })
    .map(({ frame, behind, pokes: all, cut, chance }) => {
      if (chance !== undefined) return chance;
      const bytes = Uint8Array.from([...frame, ...(behind ?? [])]);
      for (const [at, value] of all) if (bytes.length > 0) bytes[at % bytes.length] = value;
      // Most are whole: a cut one is soon recognised.
      return cut > 8 ? bytes.subarray(0, Math.max(0, bytes.length - cut)) : bytes;
    });
}
