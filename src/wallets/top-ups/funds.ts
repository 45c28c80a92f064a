import type { Database } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { activeSource } from "../../sources/active.ts";
import { drivesOf } from "../../sources/drives.ts";
import { type ManagedWallet, walletsOf } from "../managed/find-wallet.ts";
import { type Balance, readBalances } from "../managed/read-balances.ts";

/** A Funding wallet and what it has left; null: its provider did not answer. */
interface Fund {
  wallet: ManagedWallet;
  left: Balance | null;
}

export type Payer =
  | { wallet: ManagedWallet }
  | { waitsFor: string }
  /** Nobody knows. */
  | null;

/** What the Funding wallets of some payment sources hold, less what was taken from it. */
export class Funds {
  readonly #funds: readonly Fund[];

  private constructor(funds: readonly Fund[]) {
    this.#funds = funds;
  }

  /** @param deadline - epoch milliseconds until which the providers are waited for */
  static async read(
    env: Env,
    core: Database,
    sourceIds: readonly string[],
    deadline: number,
  ): Promise<Funds> {
    const sources = await Promise.all(sourceIds.map((id) => activeSource(core, id)));
    const wallets = (await walletsOf(core, sourceIds)).filter((wallet) => {
      const source = sources.find((one) => one?.id === wallet.sourceId);
      return wallet.role === "Funding" && source && drivesOf(source, wallet) !== "nothing";
    });
    const balances = await readBalances(env, wallets, deadline, "wallet");
    return new Funds(
      wallets.map(({ mnemonic: _, ...wallet }) => ({
        wallet,
        left: balances.get(wallet.id) ?? null,
      })),
    );
  }

  /**
   * Takes an amount from the Funding wallet of a source that has most of it.
   *
   * @param amount - minor units
   */
  take(sourceId: string, unit: string, amount: bigint): Payer {
    const own = this.#funds.filter(({ wallet }) => wallet.sourceId === sourceId);
    if (own.length === 0)
      return { waitsFor: "a Funding wallet: the payment source has none that may be driven" };
    const heldBy = ({ left }: Fund) => left?.get(unit) ?? 0n;
    const known = own.filter(({ left }) => left !== null);
    const richest = known.find((one) => known.every((other) => heldBy(one) >= heldBy(other)));
    if (richest === undefined) return null;
    const { wallet, left } = richest;
    const held = heldBy(richest);
    if (held < amount)
      return {
        waitsFor: `funds: of ${amount} minor units the Funding wallet ${wallet.address} holds ${held}`,
      };
    left?.set(unit, held - amount);
    return { wallet };
  }
}
