// Who plays in the chapters about rules: Rita asks for payments, Fay and Gus decide about them.
import type { Somebody, Stage } from "../stage.ts";

export interface People {
  /** Of finance as well, so that her own vote on her own payments has to be refused. */
  readonly rita: Somebody;
  /** Of finance, and an editor. */
  readonly fay: Somebody;
  readonly gus: Somebody;
}

const known = new WeakMap<Stage, People>();

/** Made once, however many chapters ask for them. */
export async function people(stage: Stage): Promise<People> {
  const before = known.get(stage);
  if (before !== undefined) return before;
  const decides = ["approvals:decide", "calls:read"];
  const asks = ["tools:invoke", ...decides];
  const rita = await stage.makeKey("Rita works in finance and asks for payments.", "user:rita", asks, "RITA_KEY", [
    "finance",
  ]);
  const grant = ["--subject", "user:rita", "--permission", "tool:invoke:payments.*", "tool:invoke:reports.build"];
  await stage.cli("She may pay, and have reports built.", ["grants", "create", ...grant]);
  const fay = await stage.makeKey("Fay of finance, who is an editor too, may decide.", "user:fay", decides, "FAY_KEY", [
    "finance",
    "editors",
  ]);
  const gus = await stage.makeKey("So may Gus of finance.", "user:gus", decides, "GUS_KEY", ["finance"]);
  const all = { rita, fay, gus };
  known.set(stage, all);
  return all;
}

export interface Payment {
  readonly amount: number;
  readonly currency?: string;
  readonly payee?: string;
}

export const payment = ({ amount, currency = "EUR", payee = "Harbour Print" }: Payment): string =>
  JSON.stringify({ amount, currency, payee });

/** What the command line is told to pay. */
export const pay = (what: Payment): readonly string[] => ["run", "payments.charge", "--input", payment(what)];
