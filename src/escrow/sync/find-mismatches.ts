import type { EscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import type { Funds } from "../../chain/network.ts";
import { sumToValue } from "../../chain/transaction/value.ts";
import { type EscrowRecord, fundsOf } from "../model/escrow-record.ts";
import { computeMinimumDeposit } from "../model/minimum-deposit.ts";
import type { EscrowOutput } from "./escrow-source.ts";

/** What is compared, as it was agreed and as the lock has it. */
type Comparison = [what: string, agreed: string | null, locked: string | null];

/**
 * In what a lock is not what was agreed; nothing: it fits. The contract compares none of it. What the
 * seller has signed is compared all the same: only a quote of our own says what was agreed.
 */
export function findMismatches(
  { side, terms }: Pick<EscrowRecord, "side" | "terms">,
  { datum, output }: Pick<EscrowOutput, "datum" | "output">,
): string[] {
  const compared: Comparison[] = [
    ["the seller", terms.seller, datum.seller],
    ["the agent", terms.agentIdentifier, datum.agentIdentifier ?? ""],
    ["the input's hash", terms.inputHash, datum.inputHash],
    ["the pay-by time", terms.payByTime, String(datum.payByTime)],
    ["the submit-result time", terms.submitResultTime, String(datum.submitResultTime)],
    ["the unlock time", terms.unlockTime, String(datum.unlockTime)],
    [
      "the dispute's unlock time",
      terms.externalDisputeUnlockTime,
      String(datum.externalDisputeUnlockTime),
    ],
    ...compareReturnAddresses({ side, terms }, datum),
  ];
  // A quote does not name its buyer.
  if (terms.buyer !== null) compared.push(["the buyer", terms.buyer, datum.buyer]);
  return [
    ...compared.filter(([, one, other]) => one !== other).map(([what]) => `${what} differs`),
    ...findFundMismatches(terms.funds.map(fundsOf), output.funds, datum.collateralReturn),
    ...(side === "payment" ? findCollateralMismatches({ datum, output }) : []),
  ];
}

/**
 * A contract of Web3ChainV1 takes its fee from all locked funds, the collateral included. The
 * collateral returns to the buyer in full, so the seller pays the fee. A large collateral can cost
 * the whole price.
 */
function findCollateralMismatches({
  datum,
  output,
}: Pick<EscrowOutput, "datum" | "output">): string[] {
  if (datum.version === "Web3ChainV2") return [];
  const tokens = output.funds.filter(({ unit }) => unit !== "").length;
  // No lock needs more than its output's deposit. Twice the deposit allows for services that count differently.
  const most = 2n * computeMinimumDeposit(datum, tokens);
  if (datum.collateralReturn <= most) return [];
  return [
    `the collateral is ${datum.collateralReturn}, on which the seller would pay the contract's fee: at most ${most} is allowed`,
  ];
}

/** Web3ChainV1 has no return addresses; a quote does not name the buyer's, and a purchase need not. */
function compareReturnAddresses(
  { side, terms }: Pick<EscrowRecord, "side" | "terms">,
  datum: EscrowDatum,
): Comparison[] {
  if (datum.version === "Web3ChainV1") return [];
  const { sellerReturnAddress, buyerReturnAddress } = datum;
  const compared: Comparison[] = [
    ["the seller's return address", terms.sellerReturnAddress, sellerReturnAddress],
  ];
  if (side === "purchase" && terms.buyerReturnAddress !== null)
    compared.push(["the buyer's return address", terms.buyerReturnAddress, buyerReturnAddress]);
  return compared;
}

/**
 * How an output's funds differ from the agreed funds. Without the collateral it must hold at least
 * the agreed native coin. It must hold exactly the agreed tokens, and no others.
 *
 * @param collateral - native minor units, from its datum
 */
export function findFundMismatches(agreed: Funds[], held: Funds[], collateral: bigint): string[] {
  const [all, locked] = [sumToValue(agreed), sumToValue(held)];
  return [...new Set(["", ...all.keys(), ...locked.keys()])].flatMap((unit) => {
    const [wanted, found] = [all.get(unit) ?? 0n, locked.get(unit) ?? 0n];
    if (unit !== "")
      return found === wanted ? [] : [`${found} of ${unit} are locked instead of ${wanted}`];
    const free = found - collateral;
    return free >= wanted ? [] : [`${free} of the native coin are locked instead of ${wanted}`];
  });
}
