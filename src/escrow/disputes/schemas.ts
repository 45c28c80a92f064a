import * as z from "zod";
import { funds, network, paymentSourceType, requestUnit } from "../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_CONTRACT_ADDRESS,
  EXAMPLE_TX_HASH,
  EXAMPLE_WALLET_ADDRESS,
  hexField,
  idField,
  named,
  textField,
  timestampField,
} from "../../http/openapi/fields.ts";
import { textParameter } from "../../http/openapi/parameters.ts";
import {
  agentFields,
  EXAMPLE_BLOCKCHAIN_IDENTIFIER,
  escrowKind,
  requestBlockchainIdentifier,
} from "../queries/next-step-schemas.ts";
import { PROPOSAL_STATES } from "./tables.ts";

const REVEAL_ACTION = "RevealData";
const EXAMPLE_VKEY = "c98139eca804a346806b3962b27320501b33ee669519da38d1b794b3";

const EXAMPLE_PROPOSAL_ID = "01m80ye14arhma0jvpxvf6nc73";

const vkeyList = z.array(textField("A payment key hash.", EXAMPLE_VKEY));
const settleFrom = textField(
  "Earliest time to settle the dispute, in Unix milliseconds.",
  "1795375045147",
);

/** What a party gets. An escrow of more units than a transaction holds cannot be. */
const partyFunds = (whose: string) =>
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
          unit: requestUnit,
        }),
      )
      .max(100),
    `What the ${whose} gets. Both parts must sum to all locked funds, including the collateral. If a Web3ChainV2 contract pays both parties at one address, one of them must get everything.`,
  );

export const proposalBody = z.object({
  network,
  blockchainIdentifier: requestBlockchainIdentifier,
  BuyerFunds: partyFunds("buyer"),
  SellerFunds: partyFunds("seller"),
  Signers: described(
    z
      .array(z.string().regex(/^[0-9a-f]{56}$/, "must be 56 hexadecimal digits in lower case"))
      .min(1)
      .max(50)
      .optional(),
    "Web3ChainV1 only: payment key hashes of the administrators who sign. The transaction needs all their signatures. Omitted: the contract's first administrators, as many as must sign.",
    [EXAMPLE_VKEY],
  ),
});
export type ProposalRequest = z.output<typeof proposalBody>;

export const signatureBody = z.object({
  network,
  proposalId: described(textParameter(), "Id of the signed proposal.", EXAMPLE_PROPOSAL_ID),
  signature: described(
    textParameter(33_000),
    "Signature of the administrator's wallet, in hex. Web3ChainV2: the COSE_Sign1 from `signData` (CIP-30, CIP-8) of the proposal's `message` or its blake2b-224. Web3ChainV1: the witness set from a partial `signTx` (CIP-30) of `unsignedTxCbor`, or the signed transaction.",
    "845846a2012767616464726573735839",
  ),
  key: described(
    textParameter(2500).optional(),
    "Web3ChainV2: the COSE_Key of the COSE_Sign1, in hex.",
    "a401010327200621",
  ),
});
export type SignatureRequest = z.output<typeof signatureBody>;

export const withdrawalBody = z.object({
  network,
  proposalId: described(textParameter(), "Id of the proposal to withdraw.", EXAMPLE_PROPOSAL_ID),
});
export type WithdrawalRequest = z.output<typeof withdrawalBody>;

export const proposalResponse = named(
  "DisputeProposal",
  "A proposed settlement, with its signatures.",
  z.object({
    id: idField("the proposal"),
    createdAt: timestampField("Time of creation."),
    updatedAt: timestampField("Time of the last change."),
    state: described(
      named(
        "DisputeProposalState",
        "State of a proposal. `Collecting`: administrators must sign. `SettleRequested`: enough have signed. `SettleInitiated`: its transaction was sent. `Replaced`: by another proposal. `Withdrawn`: by an Admin. `Expired`: the Web3ChainV1 transaction was not signed, or not in a block, in time. The last three and `Failed` are final.",
        z.enum(PROPOSAL_STATES),
      ),
      "State of the proposal.",
      "Collecting",
    ),
    message: textField(
      "What each administrator signs, in hex. Web3ChainV2: these 28 bytes. Web3ChainV1: the transaction hash, which a wallet shows.",
      EXAMPLE_VKEY,
    ),
    unsignedTxCbor: described(
      z.string().nullable(),
      "Web3ChainV1, while signatures are missing: the transaction to sign, as CBOR in hex. Otherwise null.",
      "84a500d90102",
    ),
    expiresAt: described(
      z.string().nullable(),
      "Web3ChainV1: latest time for the transaction's block, in Unix milliseconds. Null: no limit.",
      "1795461445000",
    ),
    BuyerFunds: described(funds, "What the buyer gets."),
    SellerFunds: described(funds, "What the seller gets."),
    Administrators: described(
      vkeyList,
      "Administrators who can sign, each as often as it counts. Web3ChainV1: those in the transaction.",
    ),
    SignedBy: described(vkeyList, "Administrators who have signed."),
    requiredSignatures: described(z.int().min(1), "Number of required signatures.", 2),
    missingSignatures: described(z.int().min(0), "Number of missing signatures.", 1),
    settleFrom,
    txHash: described(
      hexField(64, "", EXAMPLE_TX_HASH).nullable(),
      "Hash of the settling transaction. Null: none yet.",
      EXAMPLE_TX_HASH,
    ),
    error: described(
      z.string().nullable(),
      "Why the settlement failed, or what it waits for. Null: neither.",
      "waits for the chain provider",
    ),
  }),
);

export const disputeResponse = named(
  "Dispute",
  "A disputed payment or purchase.",
  z.object({
    id: idField("the payment or purchase"),
    kind: described(escrowKind, "Kind of the record.", "Payment"),
    network,
    paymentSourceId: idField("the payment source"),
    paymentSourceType,
    blockchainIdentifier: textField(
      "Identifier of the escrow on the chain.",
      EXAMPLE_BLOCKCHAIN_IDENTIFIER,
    ),
    ...agentFields,
    sellerAddress: textField("Address that receives the seller's part.", EXAMPLE_WALLET_ADDRESS),
    buyerAddress: described(
      z.string().nullable(),
      "Address that receives the buyer's part. Null: unknown.",
      EXAMPLE_CONTRACT_ADDRESS,
    ),
    resultHash: textField("Hash of the result, in hex.", EXAMPLE_TX_HASH),
    settleFrom,
    Funds: described(funds, "All locked funds, including the collateral."),
    Proposal: described(
      proposalResponse.nullable(),
      "Newest proposal, even if it failed or expired. Null: none, or withdrawn.",
    ),
  }),
);

export const revealBody = z.object({
  action: described(z.literal(REVEAL_ACTION), "The signed action.", REVEAL_ACTION),
  blockchainIdentifier: requestBlockchainIdentifier,
  validUntil: described(
    z.int().min(0),
    "Time until which the signature is valid, in Unix milliseconds; at most two hours ahead.",
    1795331845398,
  ),
  walletAddress: described(
    textParameter(),
    "Address of the administrator.",
    EXAMPLE_WALLET_ADDRESS,
  ),
  signature: described(
    textParameter(7500),
    "COSE_Sign1 of the message, or of its blake2b-224 (CIP-30, CIP-8), in hex.",
    "845846a2012767616464726573735839",
  ),
  key: described(textParameter(2500), "COSE_Key of the signature, in hex.", "a401010327200621"),
});
export type RevealRequest = z.output<typeof revealBody>;

export const revealResponse = z.object({
  isValid: described(z.boolean(), "Whether the administrator signed the message.", true),
  problem: described(
    z.string().nullable(),
    "Problem of the signature. Null: none.",
    "the signature does not fit the key",
  ),
});
