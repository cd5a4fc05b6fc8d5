// The keyboard of somebody who talks with a session: whole lines, Ctrl-C, and a prompt that gives way to what is printed.
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

export type Heard = { readonly type: "line"; readonly text: string } | { readonly type: "interrupt" } | { readonly type: "end" };

export interface Console {
  listen(hear: (heard: Heard) => void): void;
  /** Shown with what has been typed so far; undefined: what is typed is kept, and not shown until there is one again. */
  prompt(text: string | undefined): void;
  /** Takes the prompt away for what `print` writes, and brings it back. */
  above(print: () => void): void;
  close(): void;
}

const eraseBelow = "\r\u001b[J";

export function openConsole(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Console {
  let shown = false;
  const screen = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (shown) output.write(chunk);
      done();
    },
  });
  // Where a long line wraps is known by the real terminal alone.
  Object.defineProperty(screen, "columns", { get: () => output.columns });
  const resized = (): boolean => screen.emit("resize");
  output.on("resize", resized);
  const lines = createInterface({ input, output: screen, terminal: true, historySize: 100, removeHistoryDuplicates: true });
  return {
    listen(hear) {
      lines.on("line", (text) => hear({ type: "line", text }));
      lines.on("SIGINT", () => hear({ type: "interrupt" }));
      lines.on("close", () => hear({ type: "end" }));
    },
    prompt(text) {
      if (shown) output.write(eraseBelow);
      shown = text !== undefined;
      if (text === undefined) return;
      lines.setPrompt(text);
      lines.prompt(true);
    },
    above(print) {
      if (!shown) return print();
      output.write(eraseBelow);
      print();
      lines.prompt(true);
    },
    close() {
      if (shown) output.write(eraseBelow);
      shown = false;
      output.off("resize", resized);
      lines.removeAllListeners("close");
      lines.close();
      // A terminal that is read no more must not keep the process.
      input.unref();
    },
  };
}
