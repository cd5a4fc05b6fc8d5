// What `code.run` answers with: the value that the code came to, and the beginning of what it printed, one shape for all languages.

/** Of each stream; the streams themselves are longer. */
const keptBytesMax = 32 * 1_024;
/** Most that is added to the value: in JSON a byte may take six, or as U+FFFD three. */
export const reportBytesMax = 2 * 6 * keptBytesMax + 1_024;

export interface Kept {
  push(chunk: Uint8Array): void;
  isCut(): boolean;
  text(): string;
}

export interface Printed {
  readonly stdout: Kept;
  readonly stderr: Kept;
}

export function keepPrinted(): Printed {
  return { stdout: keepBeginning(), stderr: keepBeginning() };
}

function keepBeginning(): Kept {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  return {
    push(chunk) {
      if (bytes < keptBytesMax) pieces.push(chunk.slice(0, keptBytesMax - bytes));
      bytes += chunk.length;
    },
    isCut: () => bytes > keptBytesMax,
    text() {
      const decoder = new TextDecoder();
      const texts = pieces.map((piece) => decoder.decode(piece, { stream: true }));
      // Where it was cut in the middle of a character, that character is left out.
      return texts.join("") + (bytes > keptBytesMax ? "" : decoder.decode());
    },
  };
}

/** @param valueJson JSON text; its digits are kept */
export function reportText(valueJson: string, { stdout, stderr }: Printed): string {
  const truncated = [...(stdout.isCut() ? ["stdout"] : []), ...(stderr.isCut() ? ["stderr"] : [])];
  const told = JSON.stringify({ stdout: stdout.text(), stderr: stderr.text(), truncated });
  return `{"result":${valueJson},${told.slice(1)}`;
}
