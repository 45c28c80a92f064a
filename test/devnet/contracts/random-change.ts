/** A random change of one thing in a transaction. */
import fc from "fast-check";
import { openDeployment } from "../../../devnet/contracts/deployment.ts";
import { WALLETS } from "../../../devnet/demo/actors/wallets.ts";
import { type Draft, datumData } from "./drafts.ts";
import { DISPUTE, SUBMIT_BY, UNLOCK } from "./escrows.ts";
import type { Spent } from "./evaluate-draft.ts";
import { changeField, pick } from "./random-data.ts";
import { addOutput, changeOutput, type NamedChange } from "./random-outputs.ts";
import { changeRedeemer } from "./random-redeemers.ts";

const NEAR = [1, SUBMIT_BY, UNLOCK, DISPUTE];
function changeValidity(): fc.Arbitrary<NamedChange> {
  const at = fc.tuple(pick(...NEAR), pick(-1, 0, 1)).map(([near, by]) => near + by);
  return fc.oneof(
    fc.constant<NamedChange>(["no start", (of) => ({ ...of, from: null })]),
    fc.constant<NamedChange>(["no end", (of) => ({ ...of, to: null })]),
    fc
      .tuple(at, pick(1, 300))
      .map(
        ([from, length]): NamedChange => [
          "another time",
          (of) => ({ ...of, from: Math.max(0, from), to: Math.max(0, from) + length }),
        ],
      ),
    at.map((to): NamedChange => ["another end", (of) => ({ ...of, from: 0, to: Math.max(1, to) })]),
  );
}

const someone = pick(...WALLETS);
const otherSigners: fc.Arbitrary<NamedChange> = fc.oneof(
  fc
    .array(someone, { maxLength: 3 })
    .map(
      (signers): NamedChange => [
        "other required signers",
        (of) => ({ ...of, requiredSigners: signers.map(({ vkey }) => vkey) }),
      ],
    ),
  fc
    .tuple(someone, fc.array(someone, { maxLength: 2 }))
    .map(
      ([payer, coSigners]): NamedChange => ["others sign", (of) => ({ ...of, payer, coSigners })],
    ),
);

function changeSpentDatum(of: Draft): fc.Arbitrary<NamedChange> {
  const [{ escrow }] = of.spends as [Draft["spends"][number]];
  return changeField(datumData(escrow.datum)).map(
    (data): NamedChange => [
      "another spent datum",
      (old) => ({
        ...old,
        spends: old.spends.map((spend, i) =>
          i === 0 ? { ...spend, escrow: { ...spend.escrow, data } as Spent } : spend,
        ),
      }),
    ],
  );
}

/** Locks the spent escrow by datum hash, with or without the datum in the transaction. */
const lockByHash = (of: Draft): fc.Arbitrary<NamedChange> =>
  fc.boolean().map(
    (hasDatum): NamedChange => [
      "the spent datum by hash",
      (old) => ({
        ...old,
        ...(hasDatum && {
          datums: of.spends.slice(0, 1).map(({ escrow }) => datumData(escrow.datum)),
        }),
        spends: old.spends.map((spend, i) =>
          i === 0 ? { ...spend, escrow: { ...spend.escrow, isByHash: true } as Spent } : spend,
        ),
      }),
    ],
  );

const reordered: fc.Arbitrary<NamedChange> = fc.constant([
  "outputs in another order",
  (of) => ({ ...of, outputs: of.outputs.toReversed() }),
]);

const OPEN = openDeployment("Web3ChainV1").policy;
const minting: fc.Arbitrary<NamedChange> = fc.constant([
  "a token is minted",
  (of) => ({
    ...of,
    scripts: [...of.scripts, OPEN],
    mints: [{ policyId: OPEN.hash, assetName: "aa", quantity: 1n, redeemer: Uint8Array.of(0) }],
  }),
]);

/** Most rules on settlements are about the redeemer. */
const isSettlement = ({ spends: [first] }: Draft) => (first?.redeemer.fields.length ?? 0) > 0;

export const randomChange = (of: Draft): fc.Arbitrary<NamedChange> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant<NamedChange>(["nothing", (same) => same]) },
    { weight: 5, arbitrary: of.outputs.length > 0 ? changeOutput(of) : addOutput(of) },
    { weight: 5, arbitrary: addOutput(of) },
    { weight: 2, arbitrary: changeValidity() },
    { weight: 2, arbitrary: otherSigners },
    { weight: isSettlement(of) ? 12 : 3, arbitrary: changeRedeemer(of) },
    { weight: 3, arbitrary: changeSpentDatum(of) },
    { weight: 1, arbitrary: lockByHash(of) },
    { weight: 1, arbitrary: reordered },
    { weight: 1, arbitrary: minting },
  );
