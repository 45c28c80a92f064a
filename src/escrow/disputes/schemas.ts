import * as z from "zod";
import {
  answerText,
  CONTRACT_ADDRESS,
  described,
  hexText,
  named,
  recordId,
  TX_HASH,
  timestamp,
  WALLET_ADDRESS,
} from "../../http/openapi/fields.ts";
import { funds, givenUnit, network, paymentSourceType } from "../../http/openapi/ledger.ts";
import { text } from "../../http/openapi/parameters.ts";
import { escrowKind, givenIdentifier, IDENTIFIER } from "../queries/next-schemas.ts";
import { PROPOSAL_STATES } from "./tables.ts";
import { REVEAL_ACTION } from "./verify-reveal.ts";

const VKEY = "c98139eca804a346806b3962b27320501b33ee669519da38d1b794b3";

/** What a party gets. An escrow of more units than a transaction holds cannot be. */
const part = (whose: string) =>
  described(
    z
      .array(
        z.object({
          amount: described(
            z
              .string()
              .regex(/^(?:0|[1-9]\d*)$/, "must be a whole number of minor units")
              .max(25),
            "Minor units of `unit`.",
            "6000000",
          ),
          unit: givenUnit,
        }),
      )
      .max(100),
    `What the ${whose} gets. With the other part it is all that is locked, the collateral included. Where a contract of Web3ChainV2 pays both parties at one address, one of them gets all.`,
  );

export const proposalBody = z.object({
  network,
  blockchainIdentifier: givenIdentifier,
  BuyerFunds: part("buyer"),
  SellerFunds: part("seller"),
  Signers: described(
    z
      .array(z.string().regex(/^[0-9a-f]{56}$/, "must be 56 hexadecimal digits in lower case"))
      .min(1)
      .max(50)
      .optional(),
    "Web3ChainV1 alone: payment key hashes of the administrators who sign. The transaction names them, and is valid with all of their signatures only. Omitted: the first of the contract's administrators, as many as are enough.",
    [VKEY],
  ),
});

export const signatureBody = z.object({
  network,
  proposalId: described(text(), "The proposal that is signed.", "01m80ye14arhma0jvpxvf6nc73"),
  signature: described(
    text(33_000),
    "What the administrator's wallet answered, hex. Web3ChainV2: `signData` (CIP-30, CIP-8) of the proposal's `message`, or of its blake2b-224: a COSE_Sign1. Web3ChainV1: `signTx` (CIP-30) of its `unsignedTxCbor` as a part: a witness set; the signed transaction will do as well.",
    "845846a2012767616464726573735839",
  ),
  key: described(
    text(2500).optional(),
    "The COSE_Key that comes with a COSE_Sign1, hex; Web3ChainV2.",
    "a401010327200621",
  ),
});

export const withdrawalBody = z.object({
  network,
  proposalId: described(text(), "The proposal to take back.", "01m80ye14arhma0jvpxvf6nc73"),
});

export const proposalResponse = named(
  "DisputeProposal",
  "How a dispute is to be settled, and who agreed.",
  z.object({
    id: recordId("the proposal"),
    createdAt: timestamp("When it was made."),
    updatedAt: timestamp("When it was last changed."),
    state: described(
      named(
        "DisputeProposalState",
        "How far a proposal is. `Collecting`: administrators have to sign. `SettleRequested`: enough have. `SettleInitiated`: its transaction was sent. `Replaced`: another one was made. `Withdrawn`: an Admin took it back. `Expired`: its transaction (Web3ChainV1) was not signed, or not in a block, in time. The last three, and `Failed`, are over.",
        z.enum(PROPOSAL_STATES),
      ),
      "How far it is.",
      "Collecting",
    ),
    message: answerText(
      "What each administrator signs, hex. Web3ChainV2: these 28 bytes. Web3ChainV1: the hash of the transaction, which a wallet shows.",
      VKEY,
    ),
    unsignedTxCbor: described(
      z.string().nullable(),
      "Web3ChainV1, while signatures are missing: the transaction for administrators to sign, CBOR in hex; null otherwise.",
      "84a500d90102",
    ),
    expiresAt: described(
      z.string().nullable(),
      "Web3ChainV1: until when that can be in a block, in Unix milliseconds; null: there is no end.",
      "1795461445000",
    ),
    BuyerFunds: described(funds, "What the buyer gets."),
    SellerFunds: described(funds, "What the seller gets."),
    Administrators: described(
      z.array(answerText("A payment key hash.", VKEY)),
      "Who can sign: the contract's administrators, as often as each counts; on Web3ChainV1 those whom the transaction names.",
    ),
    SignedBy: described(z.array(answerText("A payment key hash.", VKEY)), "Those who have signed."),
    requiredSignatures: described(z.int().min(1), "How many have to agree.", 2),
    missingSignatures: described(z.int().min(0), "How many still have to.", 1),
    settleFrom: answerText(
      "From when the contract allows it, in Unix milliseconds.",
      "1795375045147",
    ),
    txHash: described(
      hexText(64, "", TX_HASH).nullable(),
      "The transaction that settles it; null before.",
      TX_HASH,
    ),
    error: described(
      z.string().nullable(),
      "Why it failed, or what it waits for; null otherwise.",
      "waits for the chain provider",
    ),
  }),
);

export const disputeResponse = named(
  "Dispute",
  "A disputed payment or purchase.",
  z.object({
    id: recordId("the payment or purchase"),
    kind: described(escrowKind, "Which of the two it is.", "Payment"),
    network,
    paymentSourceId: recordId("its payment source"),
    paymentSourceType,
    blockchainIdentifier: answerText("Names the escrow.", IDENTIFIER),
    sellerAddress: answerText("Where the seller's part goes.", WALLET_ADDRESS),
    buyerAddress: described(
      z.string().nullable(),
      "Where the buyer's part goes; null: it is not known.",
      CONTRACT_ADDRESS,
    ),
    resultHash: answerText("Hash of the result, in hex.", TX_HASH),
    settleFrom: answerText(
      "From when administrators can settle it, in Unix milliseconds.",
      "1795375045147",
    ),
    Funds: described(funds, "All that is locked, the collateral included."),
    Proposal: described(
      proposalResponse.nullable(),
      "The newest proposal, also one that failed or expired; null: there is none, or it was withdrawn.",
    ),
  }),
);

export const revealBody = z.object({
  action: described(z.literal(REVEAL_ACTION), "What is signed for.", REVEAL_ACTION),
  blockchainIdentifier: givenIdentifier,
  validUntil: described(
    z.int().min(0),
    "Until when the signature counts, epoch milliseconds; at most two hours ahead.",
    1795331845398,
  ),
  walletAddress: described(text(), "The administrator's address.", WALLET_ADDRESS),
  signature: described(
    text(7500),
    "COSE_Sign1 over the message, or over its blake2b-224 (CIP-30, CIP-8), hex.",
    "845846a2012767616464726573735839",
  ),
  key: described(text(2500), "The COSE_Key that comes with it, hex.", "a401010327200621"),
});

export const revealResponse = z.object({
  isValid: described(z.boolean(), "Whether the administrator signed it.", true),
  problem: described(
    z.string().nullable(),
    "What is wrong with the signature; null: nothing.",
    "the signature does not fit the key",
  ),
});
