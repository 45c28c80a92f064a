/** What others do at the contract: with a party's key in another program, or with none of them. */
import { formatAddress } from "../../../src/chain/address.ts";
import type { WalletKeys } from "../../../src/chain/keys.ts";
import { slotAt, timeOfSlot } from "../../../src/chain/slots.ts";
import { buildTransaction } from "../../../src/chain/transaction/build.ts";
import { payFrom } from "../../../src/chain/transaction/selection.ts";
import { readEscrow, StepImpossible } from "../../../src/escrow/actions/escrow.ts";
import { lockPart, type Purchase } from "../../../src/escrow/actions/lock-part.ts";
import { ruleOf } from "../../../src/escrow/actions/rules.ts";
import { stepPart } from "../../../src/escrow/actions/step-part.ts";
import type { Step } from "../../../src/escrow/wanted.ts";
import type { SourceRow } from "../../../src/sources/record.ts";
import { compose } from "../../../src/wallets/spending/making/compose.ts";
import type { TransactionPart } from "../../../src/wallets/work.ts";
import { PROTOCOL_PARAMETERS as parameters } from "../../support/protocol-parameters.ts";
import type { ModelLedger } from "../ledger.ts";
import type { Output } from "../rules.ts";
import { BUYER, PARTIES, STRANGER, scriptOf } from "./terms.ts";

const VALID_MS = 300_000;

/** Another address of the buyer's key, which the service's wallet does not look at. */
const BUYER_ELSEWHERE: WalletKeys = {
  ...BUYER,
  address: formatAddress({
    network: "Preprod",
    payment: { kind: "key", hash: BUYER.vkey },
    stake: { kind: "key", hash: "57".repeat(28) },
  }),
};

/** What the strangers have. */
export const STRANGERS_FUNDS = [STRANGER, BUYER_ELSEWHERE].flatMap(({ address }, n) =>
  Array.from({ length: 4 }, (_, i): readonly [string, Output] => [
    `${(9000 + 10 * n + i).toString(16).padStart(64, "0")}#0`,
    { address, value: new Map([["", 200_000_000n]]) },
  ]),
);

/**
 * A step of an escrow that a party takes by hand, if the contract allows it now.
 *
 * @param name - of the escrow's output
 */
export function stepByHand(
  ledger: ModelLedger,
  source: SourceRow,
  name: string,
  step: Step,
  resultHash: string,
): void {
  const output = ledger.tip.unspent.get(name);
  const rule = ruleOf(step, source.type);
  if (!output?.datum || !rule) return;
  const { type: sourceType, network, contractAddress } = source;
  const value = [...output.value].map(([unit, amount]) => ({ unit, amount: String(amount) }));
  const live = { utxo: name, value, datum: output.datum };
  const party = PARTIES[rule.by];
  const validity = validityAt(ledger);
  try {
    const part = stepPart(
      readEscrow(live, { sourceType, network, contractAddress }),
      { step, resultHash },
      {
        contract: { ...source, address: contractAddress },
        script: scriptOf(source.type),
        wallet: party,
        payoutAddress: null,
        validTo: timeOfSlot("Preprod", validity.to),
        parameters,
      },
    );
    forge(ledger, part, STRANGER, party);
  } catch (error) {
    if (!(error instanceof StepImpossible)) throw error;
  }
}

/**
 * A lock of a purchase that the service did not make: by the buyer's own hand, or by somebody else's in the
 * buyer's name.
 *
 * @param more - native minor units that it holds beyond the price: none, or fewer
 */
export function lockByHand(
  ledger: ModelLedger,
  purchase: Purchase,
  isBuyers: boolean,
  more: bigint,
): void {
  const part = lockPart(purchase, BUYER, parameters);
  const outputs = part.outputs.map((one) => ({
    ...one,
    value: new Map([["", (one.value.get("") ?? 0n) + more]]),
  }));
  const payer = isBuyers ? BUYER_ELSEWHERE : STRANGER;
  forge(ledger, { ...part, outputs }, payer, payer);
}

function validityAt(ledger: ModelLedger) {
  const slot = slotAt("Preprod", ledger.now);
  return { from: slot, to: slot + VALID_MS / 1000 };
}

/** Puts a part into a block that a wallet pays for. */
function forge(
  ledger: ModelLedger,
  part: TransactionPart,
  payer: WalletKeys,
  signer: WalletKeys,
): void {
  const outputs = ledger.unspentAt(payer.address).map(([name, { value }]) => {
    const [txHash = "", index] = name.split("#");
    return { txHash, index: Number(index), value };
  });
  const [line] = outputs;
  if (!line) return;
  const purse = { address: payer.address, line, outputs, collateral: null };
  const frame = { validity: validityAt(ledger), parameters, signer: signer.vkey };
  const { plan, wallet } = compose([part], purse, frame);
  const keys = payer === signer ? [payer] : [payer, signer];
  ledger.forge(buildTransaction(plan, payFrom(wallet, plan), keys).cbor);
}
