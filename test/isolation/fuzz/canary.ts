// Marks that say whose they are, and the look for somebody else's in whatever can be read.

/** `payload`: goes into calls, files and votes, and belongs in no log, audit or figure. `told`: goes into what describes things. */
export type MarkKind = "payload" | "told";

const letters = { payload: "p", told: "t" } as const;
const form = /CNRY([pt])([0-9a-z]{2})x[0-9a-z]+z/g;

let made = 0;

/** One that was never made before. Letters and digits alone: no JSON, URL or header writes it another way. */
export function mark(tenant: number, kind: MarkKind = "payload"): string {
  made += 1;
  return `CNRY${letters[kind]}${tenant.toString(36).padStart(2, "0")}x${made.toString(36)}z`;
}

export interface Found {
  readonly kind: MarkKind;
  readonly tenant: number;
  readonly text: string;
}

export function marksIn(text: string): readonly Found[] {
  if (!text.includes("CNRY")) return [];
  return [...text.matchAll(form)].map(([whole, letter, tenant]) => ({
    kind: letter === "p" ? "payload" : "told",
    tenant: Number.parseInt(tenant ?? "", 36),
    text: whole,
  }));
}

/** How many different findings are kept; the first ones tell enough. */
const findingsMax = 50;

/** Gathers what must not be. */
export class Watch {
  readonly findings: string[] = [];
  /** Own marks that were met, by where: a look that meets none proves nothing. */
  readonly met = new Map<string, number>();
  looks = 0;

  wrong(what: string): void {
    if (this.findings.length < findingsMax) this.findings.push(what.slice(0, 600));
  }

  /** @param tenant whose text it is; null = nobody's, so that there may be no mark at all */
  look(tenant: number | null, where: string, text: string, kinds: readonly MarkKind[] = ["payload", "told"]): void {
    this.looks += 1;
    for (const found of marksIn(text)) {
      if (found.tenant !== tenant)
        this.wrong(`${where}: tenant ${tenant} meets ${found.text} of tenant ${found.tenant}`);
      else if (!kinds.includes(found.kind))
        this.wrong(`${where}: a ${found.kind} mark stands where none belongs: ${found.text}`);
      else this.met.set(where, (this.met.get(where) ?? 0) + 1);
    }
  }
}
