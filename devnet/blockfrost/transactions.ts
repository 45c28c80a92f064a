import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { parseAddress } from "../../src/chain/address.ts";
import { blake2b256 } from "../blake2b.ts";
import {
  type LedgerRedeemer,
  type LedgerTransaction,
  type OutputReference,
  outputKey,
  POLICY_ID_LENGTH,
} from "../ledger/transaction.ts";
import type { LedgerView, PlacedOutput, PlacedTransaction } from "../ledger/view.ts";
import { executionFee } from "./parameters.ts";
import {
  BlockfrostError,
  type BlockfrostRequest,
  type Handler,
  notFound,
  param,
} from "./request.ts";
import { amounts, outputFields, totals } from "./shapes.ts";

export const transactionHandlers: Record<string, Handler> = {
  "GET /txs/{hash}": (request) => {
    const { tx, block, index } = placed(request);
    return {
      hash: tx.hash,
      block: block.hash,
      block_height: block.height,
      block_time: block.time,
      slot: block.slot,
      index,
      output_amount: amounts(totals(tx.produced.map(({ output }) => output))),
      fees: String(feePaid(request.view, tx)),
      deposit: "0",
      size: tx.cbor.length,
      invalid_before: tx.validFrom === null ? null : String(tx.validFrom),
      invalid_hereafter: tx.validTo === null ? null : String(tx.validTo),
      utxo_count: tx.spent.length + tx.produced.length,
      withdrawal_count: 0,
      mir_cert_count: 0,
      delegation_count: 0,
      stake_cert_count: 0,
      pool_update_count: 0,
      pool_retire_count: 0,
      asset_mint_or_burn_count: tx.mint.length,
      redeemer_count: tx.redeemers.length,
      valid_contract: tx.isValid,
      treasury_donation: "0",
    };
  },

  "GET /txs/{hash}/utxos": (request) => {
    const { view } = request;
    const { tx } = placed(request);
    const input = (
      reference: OutputReference,
      kind: { collateral: boolean; reference: boolean },
    ) => {
      const { txHash, index, output } = outputAt(view, reference);
      return { ...outputFields(output), tx_hash: txHash, output_index: index, ...kind };
    };
    const returned = tx.collateralReturn && {
      index: tx.outputs.length,
      output: tx.collateralReturn,
      collateral: true,
    };
    const outputs = tx.outputs.map((output, index) => ({ index, output, collateral: false }));
    return {
      hash: tx.hash,
      inputs: [
        ...tx.inputs.map((ref) => input(ref, { collateral: false, reference: false })),
        ...tx.collateral.map((ref) => input(ref, { collateral: true, reference: false })),
        ...tx.referenceInputs.map((ref) => input(ref, { collateral: false, reference: true })),
      ],
      outputs: [...(tx.isValid ? outputs : []), ...(returned ? [returned] : [])].map(
        ({ index, output, collateral }) => ({
          ...outputFields(output),
          output_index: index,
          collateral,
          consumed_by_tx: view.output({ txHash: tx.hash, index })?.consumedBy ?? null,
        }),
      ),
    };
  },

  "GET /txs/{hash}/cbor": (request) => ({ cbor: bytesToHex(placed(request).tx.cbor) }),

  "GET /txs/{hash}/metadata": (request) =>
    placed(request).tx.metadata.map(({ label, json }) => ({ label, json_metadata: json })),

  "GET /txs/{hash}/metadata/cbor": (request) =>
    placed(request).tx.metadata.map(({ label, cbor }) => ({
      label,
      // The deprecated field carries the bytes in the textual form of a database, `\x` and hex.
      cbor_metadata: `\\x${cbor}`,
      metadata: cbor,
    })),

  "GET /txs/{hash}/redeemers": (request) => {
    const { tx } = placed(request);
    return redeemerRows(request.view, tx);
  },

  "GET /txs/{hash}/required_signers": (request) =>
    placed(request).tx.requiredSigners.map((hash) => ({ witness_hash: hash })),
};

/** The redeemers of a transaction, each with the script that it is for. */
export function redeemerRows(view: LedgerView, tx: LedgerTransaction) {
  return tx.redeemers.map((redeemer) => {
    const hash = bytesToHex(blake2b256(hexToBytes(redeemer.data)));
    return {
      tx_index: redeemer.index,
      purpose: redeemer.purpose,
      script_hash: scriptOf(view, tx, redeemer),
      redeemer_data_hash: hash,
      datum_hash: hash,
      unit_mem: String(redeemer.memory),
      unit_steps: String(redeemer.steps),
      fee: String(executionFee(redeemer.memory, redeemer.steps)),
    };
  });
}

function placed(request: BlockfrostRequest): PlacedTransaction {
  const hash = param(request, "hash");
  if (!/^[0-9a-f]{64}$/.test(hash)) {
    throw new BlockfrostError(400, "Missing or malformed transaction hash.");
  }
  const found = request.view.transactions.get(hash);
  if (!found) throw notFound();
  return found;
}

/** An output that a transaction of the view names: it must be there. */
function outputAt(view: LedgerView, reference: OutputReference): PlacedOutput {
  const found = view.output(reference);
  if (!found) throw new Error(`Output ${outputKey(reference)} is missing from the view`);
  return found;
}

/** The fee; when phase 2 failed, the collateral that was lost in its place. */
function feePaid(view: LedgerView, tx: LedgerTransaction): bigint {
  if (tx.isValid) return tx.fee;
  const [lost] = totals(tx.collateral.map((reference) => outputAt(view, reference).output));
  const [returned] = totals(tx.collateralReturn ? [tx.collateralReturn] : []);
  return (lost?.quantity ?? 0n) - (returned?.quantity ?? 0n);
}

/** The script that a redeemer is for: it counts through sorted inputs, or sorted policies. */
function scriptOf(view: LedgerView, tx: LedgerTransaction, { purpose, index }: LedgerRedeemer) {
  if (purpose === "mint") {
    const policies = new Set(tx.mint.map(({ unit }) => unit.slice(0, POLICY_ID_LENGTH)));
    const policy = [...policies].sort()[index];
    if (!policy) throw new Error(`No policy for redeemer mint:${index}`);
    return policy;
  }
  const sorted = tx.inputs.toSorted(
    (a, b) => (a.txHash < b.txHash ? -1 : a.txHash > b.txHash ? 1 : 0) || a.index - b.index,
  );
  const input = sorted[index];
  const payment = input && parseAddress(outputAt(view, input).output.address)?.payment;
  if (payment?.kind !== "script") throw new Error(`No script for redeemer spend:${index}`);
  return payment.hash;
}
