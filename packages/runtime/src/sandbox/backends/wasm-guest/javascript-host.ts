// The few functions that the host lends to a JavaScript guest: texts go in, texts and bytes come out, and no object of ours ever does.
import type { QuickJSContext, QuickJSHandle } from "quickjs-emscripten";
import { filePaths, lookUpAnywhere, type GuestFolders, type TreeFile } from "../../guest/tree.ts";

export interface HostPorts {
  /** Descriptors 1 and 2. */
  write(fd: 1 | 2, text: string): void;
  /** One line of descriptor 4. */
  event(line: string): void;
}

export interface HostParts {
  readonly ports: HostPorts;
  /** Null until a run has begun. */
  folders(): GuestFolders | null;
  noteTooLarge(observed: number): void;
  readonly resultCharsMax: number;
}

type HostFunction = (...handles: QuickJSHandle[]) => QuickJSHandle | undefined;

/** The object that the prelude is given, and nobody else. Dispose of it after the prelude has run. */
export function bindHost(context: QuickJSContext, parts: HostParts): QuickJSHandle {
  /** A text that is one already: turning anything else into one would run the guest's code from here. */
  const text = (handle: QuickJSHandle | undefined): string => {
    if (handle === undefined || context.typeof(handle) !== "string") throw new TypeError("a text is needed");
    return context.getString(handle);
  };
  const number = (handle: QuickJSHandle | undefined): number => {
    if (handle === undefined || context.typeof(handle) !== "number") throw new TypeError("a number is needed");
    return context.getNumber(handle);
  };
  const functions: Readonly<Record<string, HostFunction>> = {
    write(fd, line) {
      parts.ports.write(number(fd) === 1 ? 1 : 2, text(line));
      return undefined;
    },
    event(line) {
      const one = text(line);
      if (one.includes("\n")) throw new TypeError("an event is one line");
      parts.ports.event(one);
      return undefined;
    },
    tooLarge(observed) {
      parts.noteTooLarge(number(observed));
      return undefined;
    },
    readText: (path) => context.newString(decoded(fileAt(parts.folders(), text(path)).read())),
    readBytes: (path) => context.newArrayBuffer(Uint8Array.from(fileAt(parts.folders(), text(path)).read()).buffer),
    listFiles() {
      const folders = parts.folders();
      const paths = (["package", "workspace"] as const).flatMap((name) =>
        folders === null ? [] : filePaths(folders[name]).map((path) => `/${name}/${path}`),
      );
      return context.newString(JSON.stringify(paths));
    },
  };
  const host = context.newObject();
  for (const [name, call] of Object.entries(functions)) {
    context
      .newFunction(name, (...handles) => call(...handles))
      .consume((handle) => context.setProp(host, name, handle));
  }
  context.newNumber(parts.resultCharsMax).consume((handle) => context.setProp(host, "resultCharsMax", handle));
  return host;
}

/** What is thrown here arrives in the guest as an error of its own realm. */
function fileAt(folders: GuestFolders | null, path: string): TreeFile {
  const found = folders === null ? null : lookUpAnywhere(folders, path);
  if (found === null || !found.found) throw new Error(`there is no file ${JSON.stringify(path.slice(0, 200))} to read`);
  if (found.node.kind === "dir") throw new Error(`${JSON.stringify(path.slice(0, 200))} is a folder`);
  return found.node;
}

/** Texts cross as C strings, which end at the first zero byte: such a file is read as bytes or not at all. */
function decoded(bytes: Uint8Array): string {
  if (bytes.includes(0)) throw new Error("the file holds zero bytes: use files.readBytes");
  return new TextDecoder().decode(bytes);
}
