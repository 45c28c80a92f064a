/** Changes of one thing in a lawful transaction. */

import type { Wallet } from "../../../devnet/demo/actors/wallets.ts";
import { formatAddress, parseAddress } from "../../../src/chain/address.ts";
import type { EscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import type { Funds } from "../../../src/chain/network.ts";
import type { Constr } from "../../../src/chain/plutus/data.ts";
import type { Change, EscrowSetup } from "./cases.ts";
import { type Draft, type DraftOutput, datumData } from "./drafts.ts";
import { datumOf, type Escrow, withStake } from "./escrows.ts";

/** Several changes that make one. */
export const both =
  (...changes: Change[]): Change =>
  (draft, setup) =>
    changes.reduce((changed, change) => change(changed, setup), draft);

export const signedBy =
  (payer: Wallet, ...coSigners: Wallet[]): Change =>
  (draft) => ({ ...draft, payer, coSigners });

/** Replaces the outputs of a role. */
export const output =
  (
    role: DraftOutput["role"],
    become: (output: DraftOutput, setup: EscrowSetup) => DraftOutput | DraftOutput[],
  ): Change =>
  (draft, setup) => ({
    ...draft,
    outputs: draft.outputs.flatMap((each) => (each.role === role ? become(each, setup) : each)),
  });

/** Changes the continuing datum. */
export const next = (
  change: (datum: EscrowDatum, before: Escrow) => Partial<EscrowDatum>,
): Change =>
  output("escrow", (each, { escrows: [before] }) => {
    if (each.next === undefined || before === undefined) throw new Error("no escrow goes on");
    return { ...each, next: { ...each.next, ...change(each.next, before) } };
  });

/** Changes fields of the continuing datum. */
export const nextFields = (change: (fields: Constr["fields"]) => Constr["fields"]): Change =>
  output("escrow", (each) => {
    if (each.next === undefined) throw new Error("no escrow goes on");
    return { ...each, datum: { index: 0, fields: change(datumData(each.next).fields) } };
  });

/** Changes the value of an output. */
export const holds = (role: DraftOutput["role"], change: (funds: Funds[]) => Funds[]): Change =>
  output(role, (each) => ({ ...each, funds: change(each.funds) }));

/** Adds to one unit, or takes away. */
export const plus =
  (amount: bigint, unit = "") =>
  (funds: readonly Funds[]): Funds[] =>
    funds.map((each) => (each.unit === unit ? { unit, amount: each.amount + amount } : each));

export const without = (role: DraftOutput["role"]): Change => output(role, () => []);

/** Removes a payout's tag. */
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

/** Adds an output at the contract's script with another stake part. */
export const addStaked = (
  become: (output: DraftOutput, setup: EscrowSetup) => DraftOutput,
): Change =>
  add((setup) => {
    const [escrow] = setup.escrows;
    if (!escrow) throw new Error("no escrow");
    const { address } = withStake(escrow.deployment);
    return become({ role: "other", address, funds: TEN_COINS }, setup);
  });

/** Splits an output in two, of which one has this much native coin. */
export const split = (role: DraftOutput["role"], first: bigint): Change =>
  output(role, (each) => [
    { ...each, funds: [{ unit: "", amount: first }] },
    { ...each, funds: plus(-first)(each.funds) },
  ]);

export const add =
  (output: (setup: EscrowSetup) => DraftOutput): Change =>
  (draft, setup) => ({ ...draft, outputs: [...draft.outputs, output(setup)] });

const TEN_COINS = [{ unit: "", amount: 10_000_000n }];

/** Adds a lock of an unrelated escrow. */
export const lockWith = (datum: Partial<EscrowDatum>): Change =>
  add(({ type, escrows: [escrow] }) => ({
    role: "other",
    address: escrow?.deployment.address ?? "",
    funds: TEN_COINS,
    next: datumOf(type, { number: 99, datum }),
  }));
export const freshLock = lockWith({});

/** Adds an output at the contract with the escrow's old datum. */
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
