// The host's WebAssembly as far as the guest program needs it: the types of Node leave it out.

declare const moduleBrand: unique symbol;
export interface WasmModule {
  readonly [moduleBrand]: true;
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

export interface WasmInstance {
  readonly exports: Readonly<Record<string, unknown>>;
}

export interface WasmImport {
  readonly module: string;
  readonly name: string;
  readonly kind: string;
}

type ErrorClass = abstract new () => Error;

interface WasmEngine {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  readonly Module: {
    imports(module: WasmModule): readonly WasmImport[];
    exports(module: WasmModule): readonly Omit<WasmImport, "module">[];
  };
  readonly Instance: new (module: WasmModule, imports: Readonly<Record<string, object>>) => WasmInstance;
  readonly Memory: new (limits: { readonly initial: number; readonly maximum: number }) => WasmMemory;
  readonly RuntimeError: ErrorClass;
  readonly LinkError: ErrorClass;
  /** Thrown by a module's own `throw`; no Error. */
  readonly Exception: abstract new () => object;
}

export const wasm = (globalThis as unknown as { readonly WebAssembly: WasmEngine }).WebAssembly;
