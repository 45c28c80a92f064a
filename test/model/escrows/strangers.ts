/** What others do at the contract: with a party's key in another program, or with none of them. */
import { formatAddress } from "../../../src/chain/address.ts";
import { decodeEscrowDatum, encodeEscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { type CoseSignature, signCoseSign1 } from "../../../src/chain/cose.ts";
import { slotAt, timeOfSlot } from "../../../src/chain/slots.ts";
import { buildTransaction } from "../../../src/chain/transaction/build-transaction.ts";
import { createInputSelector } from "../../../src/chain/transaction/select-inputs.ts";
import type { WalletKeys } from "../../../src/chain/wallet-keys.ts";
import type { Database } from "../../../src/db/client.ts";
import { buildSettlementPart } from "../../../src/escrow/disputes/build-settlement-part.ts";
import {
  type AdminSignature,
  buildSettlementMessage,
  readSignature,
} from "../../../src/escrow/disputes/settlement-message.ts";
import { raiseToMinimumCoin } from "../../../src/escrow/model/build-payouts.ts";
import type { StoredFunds } from "../../../src/escrow/model/escrow-record.ts";
import type { Step } from "../../../src/escrow/model/intent.ts";
import { readEscrow, StepImpossibleError } from "../../../src/escrow/model/read-escrow.ts";
import type { SettlementSplit } from "../../../src/escrow/model/split.ts";
import { ruleOf } from "../../../src/escrow/model/step-rules.ts";
import { buildStepPart } from "../../../src/escrow/steps/build-step-part.ts";
import { buildLockPart, type Purchase } from "../../../src/escrow/terms/build-lock-part.ts";
import type { SourceRow } from "../../../src/sources/source-row.ts";
import type { TransactionPart } from "../../../src/wallets/queue/feature.ts";
import { composeTransaction } from "../../../src/wallets/spending/building/compose-transaction.ts";
import { readOpenTransactions } from "../../../src/wallets/spending/store/transactions.ts";
import { PROTOCOL_PARAMETERS as parameters } from "../../support/protocol-parameters.ts";
import type { ModelLedger } from "../ledger.ts";
import type { Output } from "../rules.ts";
import type { Change } from "./odd-locks.ts";
import { ADMINISTRATORS, BUYER, PARTIES, STRANGER, scriptOf } from "./terms.ts";

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
  const party = PARTIES[rule.signer];
  const validity = validityAt(ledger);
  try {
    const part = buildStepPart(
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
    forge(ledger, part, STRANGER, [party]);
  } catch (error) {
    if (!(error instanceof StepImpossibleError)) throw error;
  }
}

/**
 * Locks a purchase without the service, from the buyer's wallet or in the buyer's name.
 *
 * @param change - how the lock differs from the agreed terms
 */
export function lockByHand(
  ledger: ModelLedger,
  source: SourceRow,
  purchase: Purchase,
  isBuyers: boolean,
  change: Change,
): void {
  const part = buildLockPart(purchase, BUYER, parameters);
  const outputs = part.outputs.map(({ address, value, datum: cbor = new Uint8Array() }) => {
    const agreed = decodeEscrowDatum(cbor, {
      version: source.type,
      network: source.network,
      contractAddress: address,
    });
    if (!agreed.ok) throw new Error(agreed.reason);
    const changed = change({ datum: agreed.datum, value });
    const datum = encodeEscrowDatum(changed.datum);
    return raiseToMinimumCoin({ address, value: changed.value, datum }, parameters);
  });
  const payer = isBuyers ? BUYER_ELSEWHERE : STRANGER;
  const tokens = new Map(outputs.flatMap(({ value }) => [...value]));
  tokens.delete("");
  if (tokens.size > 0) ledger.fund(payer.address, tokens.set("", 5_000_000n));
  forge(ledger, { ...part, outputs }, payer, [payer]);
}

/**
 * Settles a dispute without the service, if the contract allows it now.
 *
 * @param name - of the escrow's output
 * @param quarters - the buyer's share of its funds
 */
export async function settleByHand(
  ledger: ModelLedger,
  source: SourceRow,
  name: string,
  quarters: number,
): Promise<void> {
  const output = ledger.tip.unspent.get(name);
  if (!output?.datum) return;
  const value = [...output.value].map(([unit, amount]) => ({ unit, amount: String(amount) }));
  const split = splitOf(value, quarters);
  const [txHash = "", index] = name.split("#");
  const agreeing = ADMINISTRATORS.slice(0, 2);
  const message = buildSettlementMessage({ txHash, index: Number(index) }, split);
  const signatures = agreeing.map((keys) => signedBy(message, signCoseSign1(message, keys)));
  const script = scriptOf(source.type);
  const cbor = script.from === "witness" ? script.cbor : "";
  const part = await buildSettlementPart(
    { source, output: { utxo: name, value, datum: output.datum }, split, signatures },
    { scriptCbor: async () => cbor },
    parameters,
  );
  forge(ledger, part, STRANGER, source.type === "Web3ChainV1" ? agreeing : [STRANGER]);
}

function signedBy(message: Uint8Array, cose: CoseSignature): AdminSignature {
  const read = readSignature(message, cose);
  if ("problem" in read) throw new Error(read.problem);
  return read;
}

/** What the parties get when the buyer gets so many quarters of what is locked. */
export function splitOf(value: readonly StoredFunds[], quarters: number): SettlementSplit {
  const buyer = value.map(({ unit, amount }) => ({
    unit,
    amount: String((BigInt(amount) * BigInt(quarters % 5)) / 4n),
  }));
  const seller = value.map(({ unit, amount }, i) => ({
    unit,
    amount: String(BigInt(amount) - BigInt(buyer[i]?.amount ?? 0)),
  }));
  const paying = (funds: StoredFunds[]) => funds.filter(({ amount }) => amount !== "0");
  return { buyer: paying(buyer), seller: paying(seller) };
}

/** Somebody puts one of a wallet's transactions into a block whose producer finds its script failing. */
export async function failScript(
  ledger: ModelLedger,
  db: Database,
  { vkey }: WalletKeys,
  n: number,
): Promise<void> {
  const open = (await readOpenTransactions(db, "Preprod", vkey)).filter(
    (one) => one.collateral !== null,
  );
  const one = open[n % Math.max(open.length, 1)];
  if (!one?.collateral) return;
  const { inputs, returned } = one.collateral;
  const others = open.filter(({ collateral }) =>
    collateral?.inputs.some((input) => inputs.includes(input)),
  );
  ledger.failScript(
    one.hash,
    inputs,
    returned,
    others.map(({ hash }) => hash),
  );
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
  signers: readonly WalletKeys[],
): void {
  const outputs = ledger.unspentAt(payer.address).map(([name, { value }]) => {
    const [txHash = "", index] = name.split("#");
    return { txHash, index: Number(index), value };
  });
  const [placementOutput] = outputs;
  if (!placementOutput) return;
  const funding = { address: payer.address, placementOutput, outputs, collateral: null };
  const frame = { validity: validityAt(ledger), parameters, signer: payer.vkey };
  const { plan, wallet } = composeTransaction([part], funding, frame);
  const named = { ...plan, requiredSigners: signers.map(({ vkey }) => vkey) };
  const keys = [...new Set([payer, ...signers])];
  ledger.forge(buildTransaction(named, createInputSelector(wallet, named), keys).cbor);
}
