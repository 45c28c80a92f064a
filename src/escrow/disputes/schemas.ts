import { z } from "zod";
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
import { funds, givenUnit, network } from "../../http/openapi/ledger.ts";
import { text } from "../../http/parameters.ts";
import { escrowKind, givenIdentifier, IDENTIFIER } from "../schemas/names.ts";
import { PROPOSAL_STATES } from "./tables.ts";

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
    `What the ${whose} gets. With the other part it is all that is locked, the collateral included.`,
  );

export const proposalBody = z.object({
  network,
  blockchainIdentifier: givenIdentifier,
  BuyerFunds: part("buyer"),
  SellerFunds: part("seller"),
});

export const signatureBody = z.object({
  network,
  proposalId: described(text(), "The proposal that is signed.", "01m80ye14arhma0jvpxvf6nc73"),
  signature: described(
    text(7500),
    "COSE_Sign1 over the proposal's message, or over its blake2b-224, as wallets make it (CIP-30, CIP-8); hex.",
    "845846a2012767616464726573735839",
  ),
  key: described(text(2500), "The COSE_Key that comes with it, hex.", "a401010327200621"),
});

export const shownProposal = named(
  "DisputeProposal",
  "How a dispute is to be settled, and who agreed.",
  z.object({
    id: recordId("the proposal"),
    createdAt: timestamp("When it was made."),
    updatedAt: timestamp("When it was last changed."),
    state: described(
      named(
        "DisputeProposalState",
        "How far a proposal is. `Collecting`: administrators have to sign. `SettleRequested`: enough have. `Replaced`: another one was made.",
        z.enum(PROPOSAL_STATES),
      ),
      "How far it is.",
      "Collecting",
    ),
    message: hexText(56, "What each administrator signs: these 28 bytes.", VKEY),
    BuyerFunds: described(funds, "What the buyer gets."),
    SellerFunds: described(funds, "What the seller gets."),
    Administrators: described(
      z.array(answerText("A payment key hash.", VKEY)),
      "The contract's administrators, as often as each counts.",
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

export const shownDispute = named(
  "Dispute",
  "A disputed payment or purchase.",
  z.object({
    id: recordId("the payment or purchase"),
    kind: described(escrowKind, "Which of the two it is.", "Payment"),
    network,
    paymentSourceId: recordId("its payment source"),
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
    Proposal: described(shownProposal.nullable(), "The proposal that stands; null: none does."),
  }),
);
