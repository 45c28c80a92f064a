/** Changes of a lawful transaction, each in one respect. */

import type { Wallet } from "../../../devnet/demo/actors/wallets.ts";
import { formatAddress, parseAddress } from "../../../src/chain/address.ts";
import type { EscrowDatum } from "../../../src/chain/escrow-datum.ts";
import type { Funds } from "../../../src/chain/network.ts";
import type { Constr } from "../../../src/chain/plutus/data.ts";
import type { Change, Scene } from "./cases.ts";
import { type Draft, type DraftOutput, datumData } from "./drafts.ts";
import { datumOf, type Escrow } from "./escrows.ts";

/** Several changes that make one. */
export const both =
  (...changes: Change[]): Change =>
  (draft, scene) =>
    changes.reduce((changed, change) => change(changed, scene), draft);

export const signedBy =
  (payer: Wallet, ...coSigners: Wallet[]): Change =>
  (draft) => ({ ...draft, payer, coSigners });

/** The outputs of a role become others. */
export const output =
  (
    role: DraftOutput["role"],
    become: (output: DraftOutput, scene: Scene) => DraftOutput | DraftOutput[],
  ): Change =>
  (draft, scene) => ({
    ...draft,
    outputs: draft.outputs.flatMap((each) => (each.role === role ? become(each, scene) : each)),
  });

/** The datum with which the escrow goes on. */
export const next = (
  change: (datum: EscrowDatum, before: Escrow) => Partial<EscrowDatum>,
): Change =>
  output("escrow", (each, { escrows: [before] }) => {
    if (each.next === undefined || before === undefined) throw new Error("no escrow goes on");
    return { ...each, next: { ...each.next, ...change(each.next, before) } };
  });

/** The fields of the datum with which the escrow goes on. */
export const nextFields = (change: (fields: Constr["fields"]) => Constr["fields"]): Change =>
  output("escrow", (each) => {
    if (each.next === undefined) throw new Error("no escrow goes on");
    return { ...each, datum: { index: 0, fields: change(datumData(each.next).fields) } };
  });

/** What an output holds. */
export const holds = (role: DraftOutput["role"], change: (funds: Funds[]) => Funds[]): Change =>
  output(role, (each) => ({ ...each, funds: change(each.funds) }));

/** More, or less, of one unit. */
export const plus =
  (amount: bigint, unit = "") =>
  (funds: readonly Funds[]): Funds[] =>
    funds.map((each) => (each.unit === unit ? { unit, amount: each.amount + amount } : each));

export const without = (role: DraftOutput["role"]): Change => output(role, () => []);

/** The payout is not tagged with the escrow that it pays out. */
export const untagged = (role: DraftOutput["role"]): Change =>
  output(role, ({ datum: _, ...each }) => each);

export const tagByHash = (role: DraftOutput["role"]): Change =>
  output(role, (each) => ({ ...each, byHash: true }));

/** The output goes to the same key without its stake part, or to a contract with one. */
export const otherStake = (role: DraftOutput["role"]): Change =>
  output(role, (each, { escrows: [escrow] }) => {
    const parsed = parseAddress(each.address);
    if (!parsed || !escrow) throw new Error("no address");
    const { network, payment } = parsed;
    const ofBuyer = parseAddress(escrow.datum.buyer)?.stake ?? null;
    const stake = parsed.stake === null ? ofBuyer : null;
    return { ...each, address: formatAddress({ network, payment, stake }) };
  });

/** One output becomes two, of which one has this much native coin. */
export const split = (role: DraftOutput["role"], first: bigint): Change =>
  output(role, (each) => [
    { ...each, funds: [{ unit: "", amount: first }] },
    { ...each, funds: plus(-first)(each.funds) },
  ]);

export const add =
  (output: (scene: Scene) => DraftOutput): Change =>
  (draft, scene) => ({ ...draft, outputs: [...draft.outputs, output(scene)] });

const TEN_COINS = [{ unit: "", amount: 10_000_000n }];

/** A lock of an escrow that has nothing to do with the others. */
export const freshLock = add(({ type, escrows: [escrow] }) => ({
  role: "other",
  address: escrow?.deployment.address ?? "",
  funds: TEN_COINS,
  next: datumOf(type, { number: 99 }),
}));

/** An output at the contract with the datum of the escrow as it was. */
export const staysAsWell = add(({ escrows: [escrow] }) => {
  if (!escrow) throw new Error("no escrow");
  const { deployment, datum } = escrow;
  return { role: "other", address: deployment.address, funds: TEN_COINS, next: datum };
});

export const redeemer =
  (change: (redeemer: Constr, escrow: Escrow) => Constr): Change =>
  (draft) => ({
    ...draft,
    spends: draft.spends.map((spend) => ({
      ...spend,
      redeemer: change(spend.redeemer, spend.escrow),
    })),
  });

/** Any other member of the transaction. */
export const having =
  (members: Partial<Draft>): Change =>
  (draft) => ({ ...draft, ...members });
