import { decodeBlockchainIdentifier } from "../../chain/contracts/blockchain-identifier.ts";
import {
  type EscrowDatum,
  encodeEscrowDatum,
  SELLER_NONCE_LENGTH,
} from "../../chain/contracts/escrow-datum.ts";
import type { ProtocolParameters } from "../../chain/provider/provider.ts";
import { computeMinimumCoin } from "../../chain/transaction/select-inputs.ts";
import { sumToValue, type Value } from "../../chain/transaction/value.ts";
import type { TransactionPart } from "../../wallets/queue/feature.ts";
import { type EscrowRecord, fundsOf, mapTimes } from "../model/escrow-record.ts";
import { StepImpossibleError } from "../model/read-escrow.ts";
import { buildQuoteDatum } from "./build-quote-datum.ts";
import { computeCollateral } from "./estimate-costs.ts";

/** What is locked, and where. */
export type Purchase = Pick<
  EscrowRecord,
  "sourceType" | "contractAddress" | "blockchainIdentifier" | "terms"
>;

/** Who locks. */
export interface Buyer {
  address: string;
  /** Payment key hash, hex. */
  vkey: string;
}

/** What a lock takes out of a wallet: the price, and the collateral that it needs on top. */
export interface LockedFunds {
  value: Value;
  /** Native minor units that go back to the buyer at the end. */
  collateralReturn: bigint;
}

/**
 * Locks a purchase's funds as was agreed. No script runs, so nothing but this code looks at the datum.
 *
 * @throws StepImpossibleError when the identifier cannot be read
 */
export function buildLockPart(
  purchase: Purchase,
  buyer: Buyer,
  parameters: ProtocolParameters,
): TransactionPart {
  const { contractAddress: address } = purchase;
  const datum = buildLockDatum(purchase, buyer);
  const { value, collateralReturn } = computeFundsOfDatum(purchase, datum, parameters);
  return {
    spends: [],
    scriptInputs: [],
    mints: [],
    outputs: [{ address, value, datum: encodeEscrowDatum({ ...datum, collateralReturn }) }],
    metadata: new Map(),
    exclusiveNames: [`reference signature ${datum.referenceSignature}`],
    detail: { step: "FundsLocking", collateralReturn: String(collateralReturn) },
  };
}

/** What a lock of a purchase takes. @throws StepImpossibleError */
export function computeLockedFunds(
  purchase: Purchase,
  buyer: Buyer,
  parameters: ProtocolParameters,
): LockedFunds {
  return computeFundsOfDatum(purchase, buildLockDatum(purchase, buyer), parameters);
}

/** The datum of a lock, without the collateral. */
function buildLockDatum(
  { sourceType, blockchainIdentifier, terms }: Purchase,
  buyer: Buyer,
): EscrowDatum {
  const identifier = decodeBlockchainIdentifier(blockchainIdentifier);
  if (identifier === null)
    throw new StepImpossibleError("the blockchain identifier cannot be read");
  const { sellerId, buyerNonce, agentIdentifier, signature, key } = identifier;
  const isV1 = sourceType === "Web3ChainV1";
  const { seller, sellerVkey, inputHash } = terms;
  return buildQuoteDatum(
    {
      ...{ version: sourceType, buyerNonce, agentIdentifier, inputHash, seller },
      ...mapTimes(terms, BigInt),
      sellerNonce: sellerId.slice(0, SELLER_NONCE_LENGTH),
      sellerReturnAddress: isV1 ? null : terms.sellerReturnAddress,
    },
    { signature, key, sellerVkey },
    { ...buyer, returnAddress: isV1 ? null : terms.buyerReturnAddress },
  );
}

/** Bytes of a result, which is a SHA-256 hash. */
const RESULT_BYTES = 32;

/** Native minor units beyond any deposit, so that they are encoded in as many bytes. */
const LARGE_COIN_AMOUNT = 1_000_000_000n;

/**
 * The price, and what the output needs to exist with any datum that later steps can give it.
 * Otherwise the party that takes the next step would have to add the difference.
 */
function computeFundsOfDatum(
  { contractAddress: address, terms }: Purchase,
  datum: EscrowDatum,
  parameters: ProtocolParameters,
): LockedFunds {
  const value = sumToValue(terms.funds.map(fundsOf));
  const price = value.get("") ?? 0n;
  const largest = encodeEscrowDatum({
    ...datum,
    resultHash: "00".repeat(RESULT_BYTES),
    collateralReturn: LARGE_COIN_AMOUNT,
    sellerCooldownTime: datum.externalDisputeUnlockTime,
    buyerCooldownTime: datum.externalDisputeUnlockTime,
  });
  const most = { address, value: new Map([...value, ["", LARGE_COIN_AMOUNT]]), datum: largest };
  const collateralReturn = computeCollateral(price, computeMinimumCoin(most, parameters));
  value.set("", price + collateralReturn);
  return { value, collateralReturn };
}
