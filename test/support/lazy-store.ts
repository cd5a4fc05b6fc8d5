// The content store of a folder, opened with the first thing that is put or asked for: most tests put nothing.
import { DiskStore } from "../../packages/runtime/src/adapters/store/store.ts";
import type { ContentStore } from "../../packages/runtime/src/corridor/files-ports.ts";

export function lazyStore(folder: string): ContentStore {
  let opened: Promise<DiskStore> | undefined;
  const open = (): Promise<DiskStore> => (opened ??= DiskStore.open(folder));
  return {
    putFile: async (tenant, content) => (await open()).putFile(tenant, content),
    useFile: async (tenant, ref) => (await open()).useFile(tenant, ref),
    putPackage: async (tenant, files) => (await open()).putPackage(tenant, files),
    collect: async (tenant, wanted, before) => (await open()).collect(tenant, wanted, before),
    usePackage: async (tenant, ref) => (await open()).usePackage(tenant, ref),
  };
}
