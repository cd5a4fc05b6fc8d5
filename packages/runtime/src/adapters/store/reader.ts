// Opens packages and input files for a box, each checked again against its digest; writes nothing, so any process may use it.
import { lstat } from "node:fs/promises";
import type { BoxPackage } from "../../sandbox/types.ts";
import { packageBounds } from "../../registry/package/bounds.ts";
import { isMissing, refOf } from "./content.ts";
import { filePlace, packagePlace, treeOf } from "./layout.ts";
import { storeLimits } from "./store-limits.ts";
import { checkPackage, stampFrom, treeStamp, type Stamp } from "./tree.ts";

/** What was asked for is not what its digest says, or is not there. Nothing may run with it. */
export class ContentRefused extends Error {
  override readonly name = "ContentRefused";
  readonly reason: "missing" | "damaged";

  constructor(reason: "missing" | "damaged", message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface StoreReader {
  /**
   * @param tenant whose tool it is: for a built-in tool the platform, whoever calls it
   * @throws ContentRefused
   */
  openPackage(tenant: string, ref: string): Promise<BoxPackage>;
  /**
   * @param tenant whose call it is
   * @returns where it stands on this host. @throws ContentRefused
   */
  openFile(tenant: string, ref: string): Promise<string>;
}

/**
 * Clocks of file systems tick: two changes within one tick leave one stamp. What has changed so lately is checked in
 * full every time.
 */
const settledMs = 1_000;

/**
 * @param root the store's folder
 * @param now wall clock, ms since 1970
 */
export function storeReader(root: string, now: () => number = Date.now): StoreReader {
  const checked = new Map<string, string>();
  /** Runs the full check unless nothing has changed since the last one. */
  const ensure = async (
    place: string,
    what: string,
    look: () => Promise<Stamp>,
    check: () => Promise<void>,
  ): Promise<void> => {
    // Taken before the check: what changes while it is read is noticed the next time.
    const { stamp, changedAtMs } = await stampOf(look, what);
    if (checked.get(place) === stamp) return;
    checked.delete(place);
    await check();
    if (changedAtMs + settledMs > now()) return;
    checked.set(place, stamp);
    const [oldest] = checked.keys();
    if (oldest !== undefined && checked.size > storeLimits.rememberedChecksMax) checked.delete(oldest);
  };
  return {
    async openPackage(tenant, ref) {
      const place = packagePlace(root, tenant, ref);
      const check = async (): Promise<void> => {
        const verdict = await checkPackage(place, ref);
        if (verdict.ok) return;
        const message = `package ${ref} is damaged: ${verdict.problem}; register the tool's folder again`;
        throw new ContentRefused("damaged", message);
      };
      await ensure(place, `package ${ref}`, () => treeStamp(place), check);
      return { path: treeOf(place), digest: ref };
    },
    async openFile(tenant, ref) {
      const place = filePlace(root, tenant, ref);
      const check = async (): Promise<void> => {
        if ((await refOf(place, packageBounds.fileBytesMax).catch(() => "")) === ref) return;
        throw new ContentRefused("damaged", `file ${ref} is damaged; put it again`);
      };
      await ensure(place, `file ${ref}`, async () => stampFrom(await lstat(place, { bigint: true }), ""), check);
      return place;
    },
  };
}

async function stampOf(look: () => Promise<Stamp>, what: string): Promise<Stamp> {
  try {
    return await look();
  } catch (error) {
    if (isMissing(error))
      throw new ContentRefused("missing", `${what} is not in the store; it was removed, or never put`);
    throw error;
  }
}
