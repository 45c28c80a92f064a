import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { decodeEscrowDatum, type EscrowDatum } from "../../chain/escrow-datum.ts";
import { identifierOfDatum } from "../../chain/identifier.ts";
import type { Funds } from "../../chain/network.ts";
import type { ChainTransaction } from "../../chain/transaction/decode.ts";
import { outputName } from "../../chain/transaction/plan.ts";
import { log } from "../../log.ts";
import type { LiveOutput, StoredFunds } from "../record.ts";
import type { EarlierTransaction, EscrowOutput, EscrowSource } from "./source.ts";

/**
 * The outputs of a transaction at the contract that carry an escrow datum. Anyone can pay to the
 * contract with any datum: what does not read as an escrow is logged and left out.
 */
export function escrowOutputs(source: EscrowSource, tx: ChainTransaction): EscrowOutput[] {
  return tx.outputs.flatMap((output, index) => {
    if (output.address !== source.contractAddress) return [];
    const decoded = decode(source, output.datum);
    if (decoded.ok) {
      const { datum } = decoded;
      return [{ index, datum, output, ...identify(source, datum) }];
    }
    log("info", "sync.output_skipped", { tx: tx.hash, index, reason: decoded.reason });
    return [];
  });
}

/**
 * The datums of the outputs at the contract that a transaction spends, by outpoint (`hash#index`);
 * null where one does not read as an escrow.
 */
export async function spentDatums(
  source: EscrowSource,
  { tx, spent }: Pick<EarlierTransaction, "tx" | "spent">,
): Promise<Map<string, EscrowDatum | null>> {
  const datums = new Map<string, EscrowDatum | null>();
  // The ledger lets nothing of a contract be spent without a redeemer.
  for (const { inputIndex } of tx.spendRedeemers) {
    const input = tx.inputs[inputIndex];
    const output = input ? await spent(input) : null;
    if (!input || output?.address !== source.contractAddress) continue;
    const decoded = decode(source, output.datum);
    datums.set(outputName(input), decoded.ok ? decoded.datum : null);
  }
  return datums;
}

/** The blockchain identifier of an escrow, and its hash, by which records are looked up. */
export function identify(
  source: EscrowSource,
  datum: EscrowDatum,
): { identifier: string; identifierHash: string } {
  const identifier = identifierOfDatum(datum, source.contractAddress);
  return { identifier, identifierHash: hashOf(identifier) };
}

/** SHA-256 of a blockchain identifier, hex. */
export function hashOf(identifier: string): string {
  return bytesToHex(sha256(new TextEncoder().encode(identifier)));
}

/** An output as a record keeps it while it holds the funds. */
export function liveOutput(
  txHash: string,
  { index, output }: Pick<EscrowOutput, "index" | "output">,
): LiveOutput | null {
  if (output.datum === null) return null;
  return {
    utxo: `${txHash}#${index}`,
    value: output.funds.map(storedFunds),
    datum: output.datum,
  };
}

export function storedFunds({ unit, amount }: Funds): StoredFunds {
  return { unit, amount: String(amount) };
}

/** The reverse of `storedFunds`. */
export function fundsOf({ unit, amount }: StoredFunds): Funds {
  return { unit, amount: BigInt(amount) };
}

function decode(
  { type, network, contractAddress }: EscrowSource,
  datum: string | null,
): ReturnType<typeof decodeEscrowDatum> {
  return datum === null
    ? { ok: false, reason: "no inline datum" }
    : decodeEscrowDatum(datum, { version: type, network, contractAddress });
}
