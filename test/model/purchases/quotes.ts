/** What the model's buyers buy: a payment source, its purchasing wallets, and quotes for its agent. */

import { BUYERS, SELLERS } from "../../../devnet/demo/actors/wallets.ts";
import { signIdentifier } from "../../../src/chain/contracts/blockchain-identifier.ts";
import { deriveWalletKeys } from "../../../src/chain/wallet-keys.ts";
import { mapTimes } from "../../../src/escrow/model/escrow-record.ts";
import type { AcceptedQuote } from "../../../src/escrow/purchases/accept-quote.ts";
import type { SourceRow } from "../../../src/sources/source-row.ts";
import type { WalletRow } from "../../../src/wallets/managed/tables.ts";
import VECTORS from "../../vectors/chain.json" with { type: "json" };

export const BEGINS = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
/** Quotes of a story. */
export const QUOTES = 24;
const POLICY = "ab".repeat(28);
const AGENT = `${POLICY}${"cd".repeat(32)}`;
const BUYER_NONCE = "0123456789abcdef0123";
const SELLER = await deriveWalletKeys(SELLERS[0].mnemonic, "Preprod");

/** Nobody's provider is asked, and nothing is opened that is sealed. */
export const SOURCE: SourceRow = {
  id: "source",
  network: "Preprod",
  type: "Web3ChainV2",
  contractAddress: VECTORS.contracts.V2,
  policyId: POLICY,
  adminWallets: "[]",
  feeRatePermille: 50,
  feeReceiverAddress: null,
  requiredAdminSignatures: null,
  cooldownTime: 600_000,
  rpcProvider: "Blockfrost",
  rpcProviders: null,
  rpcProviderApiKey: "",
  drives: "all",
  autoWithdrawPayments: null,
  autoWithdrawRefunds: null,
  createdById: "key-0",
  createdAt: BEGINS,
  updatedAt: BEGINS,
  deletedAt: null,
};

/** The wallets that buy. */
export const PAYERS = await Promise.all(
  BUYERS.slice(0, 3).map(async ({ mnemonic }, i) => {
    const keys = await deriveWalletKeys(mnemonic, "Preprod");
    const row: WalletRow = {
      id: `wallet-${i}`,
      sourceId: SOURCE.id,
      network: "Preprod",
      role: "Purchasing",
      vkey: keys.vkey,
      address: keys.address,
      mnemonic: "",
      note: "",
      collectionAddress: null,
      drives: "all",
      createdById: "key-0",
      createdAt: BEGINS,
      deletedAt: null,
    };
    return { row, keys };
  }),
);

/** What an accepted quote holds, whoever buys. */
export type Quote = Omit<AcceptedQuote, "identifier" | "terms" | "wallets" | "automatedWallets">;

/** Every third is to be paid within twenty minutes, the others within six hours. */
export const ALL_QUOTES: readonly Quote[] = Array.from({ length: QUOTES }, (_, i) => quoteOf(i));

/** By then every purchase is locked, or over; epoch milliseconds. */
export const ALL_OVER = BEGINS + 7 * HOUR;

function quoteOf(i: number): Quote {
  const payByTime = BEGINS + (i % 3 === 0 ? HOUR / 3 : 6 * HOUR);
  const times = {
    payByTime,
    submitResultTime: BEGINS + 48 * HOUR,
    unlockTime: BEGINS + 54 * HOUR,
    externalDisputeUnlockTime: BEGINS + 60 * HOUR,
  };
  const inputHash = i.toString(16).padStart(64, "0");
  const terms = {
    version: SOURCE.type,
    inputHash,
    agentIdentifier: AGENT,
    buyerNonce: BUYER_NONCE,
    sellerNonce: (i + 1).toString(16).padStart(64, "0"),
    ...mapTimes(times, BigInt),
    seller: SELLER.address,
    sellerReturnAddress: null,
  };
  const { contractAddress } = SOURCE;
  const context = { contractAddress, requestedFunds: null, supportedPaymentSourceIndex: 0 };
  const { blockchainIdentifier } = signIdentifier(terms, context, SELLER);
  return {
    body: {
      network: "Preprod",
      agentIdentifier: AGENT,
      inputHash,
      identifierFromPurchaser: BUYER_NONCE,
      blockchainIdentifier,
      sellerVkey: SELLER.vkey,
      ...mapTimes(times, String),
      Amounts: null,
      smartContractAddress: "",
      buyerReturnAddress: null,
      sellerReturnAddress: null,
      supportedPaymentSourceIndex: 0,
      metadata: null,
    } as unknown as Quote["body"],
    source: SOURCE,
    holder: { address: SELLER.address, vkey: SELLER.vkey },
    agentName: "Agent",
    times,
    price: { pricingType: "Fixed", funds: [{ unit: "", amount: String(priceOf(i)) }] },
    buyerReturnAddress: null,
    sellerReturnAddress: null,
    warnings: [],
  };
}

/** Minor units. */
function priceOf(i: number): bigint {
  return BigInt(5 + (i % 4) * 5) * 1_000_000n;
}
