/** On what the parties of the model's escrows agree. */
import { signIdentifier } from "../../../src/chain/contracts/blockchain-identifier.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import {
  type EscrowRecord,
  mapTimes,
  type StoredFunds,
} from "../../../src/escrow/model/escrow-record.ts";
import { BEGINS, elsewhere, MINUTE, SELLER, SOURCES } from "./terms.ts";

/** What a seller has signed, and when the escrow of it is over at the latest. */
export interface Quote {
  blockchainIdentifier: string;
  terms: EscrowRecord["terms"];
  /** Epoch milliseconds. */
  payBy: number;
  end: number;
}

/** Units of two policies: with a name, without one, and with the longest. */
export const GOLD = `${"a0".repeat(28)}676f6c64`;
export const UNNAMED = "a0".repeat(28);
export const LONG = `${"b1".repeat(28)}${"6c".repeat(32)}`;

/** Minutes from the beginning to pay-by, submit-result, unlock and external dispute unlock. */
const TIMES = [
  [20, 60, 100, 140],
  [60, 180, 400, 700],
  [12, 40, 52, 60],
] as const;

interface Offer {
  price: Record<string, bigint>;
  /** Where the money goes, as the datum of Web3ChainV2 has it. */
  returns?: { seller?: string; buyer?: string };
  /** Whether the parties agree on that on Web3ChainV1, too, whose datum does not say it. */
  isAgreed?: boolean;
}

/** Quotes that storyActions choose from: there are two shelves, and this many on each. */
export const SHELF = 3;

const OFFERS: readonly Offer[] = [
  { price: { "": 10_000_000n } },
  { price: { "": 1_500_000n }, returns: { seller: elsewhere("5e"), buyer: elsewhere("b0") } },
  { price: { "": 3_000_000n } },
  // The second shelf. What is locked of the native coin here is its deposit, which goes back to the buyer.
  {
    price: { [GOLD]: 41n },
    returns: { seller: elsewhere("5f"), buyer: elsewhere("b1") },
    isAgreed: true,
  },
  { price: { "": 3_000_000n, [GOLD]: 7n, [UNNAMED]: 1n } },
  {
    price: { "": 12_000_000n, [LONG]: 1_000_000_007n },
    returns: { buyer: elsewhere("b2") },
    isAgreed: true,
  },
];

function quoteOf(type: PaymentSourceType, { price, returns, isAgreed }: Offer, i: number): Quote {
  const { contractAddress } = SOURCES[type];
  const [payBy, submit, unlock, dispute] = TIMES[i % SHELF] ?? TIMES[0];
  const at = (minutes: number) => BEGINS + minutes * MINUTE;
  const times = {
    payByTime: at(payBy),
    submitResultTime: at(submit),
    unlockTime: at(unlock),
    externalDisputeUnlockTime: at(dispute),
  };
  const agreed = type === "Web3ChainV2" || isAgreed ? returns : undefined;
  const shared = {
    inputHash: "ab".repeat(32),
    agentIdentifier: "ca".repeat(32),
    seller: SELLER.address,
    sellerReturnAddress: agreed?.seller ?? null,
  };
  const terms = {
    ...shared,
    version: type,
    sellerNonce: `0${i + 1}`.repeat(32),
    buyerNonce: `0${i + 1}`.repeat(13),
    ...mapTimes(times, BigInt),
  };
  const context = { contractAddress, requestedFunds: null };
  const { blockchainIdentifier } = signIdentifier(terms, context, SELLER);
  return {
    blockchainIdentifier,
    terms: {
      ...shared,
      ...mapTimes(times, String),
      isRequested: true,
      pricingType: "Fixed",
      collateralReturn: null,
      buyer: null,
      buyerVkey: null,
      sellerVkey: SELLER.vkey,
      buyerReturnAddress: agreed?.buyer ?? null,
      funds: Object.entries(price).map(
        ([unit, amount]): StoredFunds => ({ unit, amount: String(amount) }),
      ),
    },
    payBy: times.payByTime,
    end: times.externalDisputeUnlockTime,
  };
}

/** The quotes of a story, which may be asked for each once: both shelves. */
export const QUOTES: Record<PaymentSourceType, Quote[]> = {
  Web3ChainV1: OFFERS.map((offer, i) => quoteOf("Web3ChainV1", offer, i)),
  Web3ChainV2: OFFERS.map((offer, i) => quoteOf("Web3ChainV2", offer, i)),
};
