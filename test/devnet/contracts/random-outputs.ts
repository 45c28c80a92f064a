/** Random changes of the outputs of a transaction. */
import fc from "fast-check";
import { scriptOf } from "../../../devnet/contracts/scripts.ts";
import { WALLETS } from "../../../devnet/demo/actors/wallets.ts";
import { hexToBytes } from "../../../src/chain/hex.ts";
import type { PlutusData } from "../../../src/chain/plutus/data.ts";
import { type Draft, type DraftOutput, datumData } from "./drafts.ts";
import { BUYER, datumOf, deploymentOf, OWN, STRANGER, withStake } from "./escrows.ts";
import type { Spent } from "./evaluate-draft.ts";
import { changeField, junk, oneIn, pick } from "./random-data.ts";
import { TOKENS } from "./stage.ts";

type Change = (of: Draft) => Draft;
/** A change, and its name in a counterexample. */
export type NamedChange = readonly [name: string, change: Change];

const ALWAYS = scriptOf(hexToBytes("450101002499"));
const COINS = [{ unit: "", amount: 10_000_000n }];

/** The administrators of a transaction's escrows. */
export const boardOf = ({ spends: [first] }: Draft) => (first?.escrow as Spent | undefined)?.board;

const onOutput =
  (i: number, become: (output: DraftOutput) => DraftOutput[]): Change =>
  (of) => ({
    ...of,
    outputs: of.outputs.flatMap((output, n) =>
      n === i % of.outputs.length ? become(output) : [output],
    ),
  });

export function changeOutput(of: Draft): fc.Arbitrary<NamedChange> {
  const one = (name: string, become: (output: DraftOutput) => DraftOutput[]) =>
    fc.nat({ max: 9 }).map((i): NamedChange => [name, onOutput(i, become)]);
  const staked = (output: DraftOutput) => {
    const [{ escrow }] = of.spends as [Draft["spends"][number]];
    const { address } = withStake(deploymentOf(escrow.deployment.type, boardOf(of), OWN));
    return { ...output, address };
  };
  const data = ({ datum, next }: DraftOutput) => datum ?? (next && datumData(next));
  return fc.oneof(
    one("an output is missing", () => []),
    one("an output is repeated", (output) => [output, output]),
    one("an output is at another stake part of the contract", (output) => [staked(output)]),
    one("an output has its datum by hash", (output) => [{ ...output, byHash: true }]),
    one("an output has no datum", ({ datum: _, next: __, ...output }) => [output]),
    one("an output has a script", (output) => [{ ...output, referenceScript: ALWAYS }]),
    pick(...WALLETS).chain(({ address }) =>
      one("an output is somebody else's", (output) => [{ ...output, address }]),
    ),
    pick(...WALLETS).chain(({ address }) =>
      one("an output is divided", (output) => [
        output,
        { ...output, address, funds: [{ unit: "", amount: 1n }] },
      ]),
    ),
    fc.tuple(pick("", TOKENS[0], TOKENS[1]), pick(-1n, 1n, -1_000_000n)).chain(([unit, amount]) =>
      one("an output holds another amount", (output) => {
        const held = output.funds.find((each) => each.unit === unit)?.amount ?? 0n;
        const others = output.funds.filter((each) => each.unit !== unit);
        const sum = held + amount;
        return [{ ...output, funds: sum > 0n ? [...others, { unit, amount: sum }] : others }];
      }),
    ),
    {
      weight: 4,
      arbitrary: fc.nat({ max: of.outputs.length - 1 }).chain((i) => {
        const now = of.outputs[i] && data(of.outputs[i]);
        const arbitrary =
          now && typeof now === "object" && "index" in now ? changeField(now) : junk;
        return arbitrary.map(
          (datum): NamedChange => [
            "an output has another datum",
            onOutput(i, ({ next: _, ...output }) => [{ ...output, datum }]),
          ],
        );
      }),
    },
  );
}

export function addOutput(of: Draft): fc.Arbitrary<NamedChange> {
  const [{ escrow }] = of.spends as [Draft["spends"][number]];
  const { type } = escrow.deployment;
  const plain = deploymentOf(type, boardOf(of), OWN);
  const [here, there] = [plain.address, withStake(plain).address];
  const address = pick(here, here, here, here, there, there, STRANGER.address, BUYER.address);
  const fresh = (referenceSignature?: string) =>
    datumData(
      datumOf(type, { number: 99, ...(referenceSignature && { datum: { referenceSignature } }) }),
    );
  const datum = fc.oneof(
    fc.constant<PlutusData | undefined>(undefined),
    { weight: 2, arbitrary: fc.constant(fresh()) },
    { weight: 2, arbitrary: fc.constant(datumData(escrow.datum)) },
    { weight: 3, arbitrary: pick(15, 15, 16).map((length) => fresh("5a".repeat(length))) },
    { weight: 2, arbitrary: changeField(fresh()) },
    junk,
  );
  return fc
    .tuple(address, datum, oneIn(6), fc.boolean())
    .map(([at, data, hasScript, isFirst]): NamedChange => {
      const output: DraftOutput = {
        role: "other",
        address: at,
        funds: COINS,
        ...(data !== undefined && { datum: data }),
        ...(hasScript && { referenceScript: ALWAYS }),
      };
      return [
        "another output",
        (old) => ({
          ...old,
          outputs: isFirst ? [output, ...old.outputs] : [...old.outputs, output],
        }),
      ];
    });
}
