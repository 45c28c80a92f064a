import { utf8ToBytes } from "@noble/hashes/utils.js";
import { ADMIN, STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import { signCoseSign1 } from "../../../src/chain/cose.ts";
import { hexToBytes } from "../../../src/chain/hex.ts";
import { native } from "../../support/escrow/dispute-fixture.ts";
import { HOUR } from "../../support/escrow/quote-fixture.ts";
import { makeOrder, NONCE, RESULT } from "../deployment/escrows.ts";
import type { Resources } from "../resources.ts";
import { type Probe, type Probes, probeWith } from "./probe.ts";

type Side = "payment" | "purchase";

const idOf = (side: Side) => (side === "payment" ? "lockedPaymentId" : "lockedPurchaseId");

function probeDiff(side: Side): Probe[] {
  return probeWith(
    ({ network }) => ({ network, limit: 100, includeHistory: true }),
    ({ network, contractAddress }) => ({ network, filterSmartContractAddress: contractAddress }),
    (resources) => ({ network: resources.network, cursorId: resources[idOf(side)] }),
  );
}

function probeList(side: Side): Probe[] {
  return probeWith(
    ({ network }) => ({ network, limit: 100 }),
    (resources) => ({ network: resources.network, id: resources[idOf(side)] }),
    ({ network, lockedIdentifier }) => ({ network, blockchainIdentifier: lockedIdentifier }),
    ({ network, agentIdentifier }) => ({ network, filterAgentIdentifier: agentIdentifier }),
    ({ network, sellerVkey, buyerVkey }) => ({
      network,
      filterWalletVkey: side === "payment" ? sellerVkey : buyerVkey,
    }),
    (resources) => ({ network: resources.network, searchQuery: resources[idOf(side)] }),
  );
}

const revealTo = (isRevealed: (body: string) => boolean): Pick<Probe, "reveals"> => ({
  reveals: { audience: "wallets", isRevealed },
});

function probeCount(): Probe[] {
  const isRevealed = (body: string) => JSON.parse(body).data.total > 0;
  return [{ fields: ({ network }) => ({ network }), ...revealTo(isRevealed) }];
}

function probeResolve(): Probe[] {
  return probeWith(
    ({ network, lockedIdentifier }) => ({ network, blockchainIdentifier: lockedIdentifier }),
    ({ network, lockedIdentifier, boughtIdentifier }) => ({
      network,
      blockchainIdentifiers: [lockedIdentifier, boughtIdentifier],
    }),
  );
}

function probeSums(total: string): Probe[] {
  const isRevealed = (body: string) => JSON.parse(body).data[total].Units.length > 0;
  return [
    {
      fields: ({ network, agentIdentifier }) => ({
        network,
        agentIdentifier,
        startDate: "2025-09-01",
      }),
      ...revealTo(isRevealed),
    },
  ];
}

const probeStep = (name: keyof Resources, more: object = {}) =>
  probeWith((resources) => ({
    network: resources.network,
    blockchainIdentifier: resources[name],
    ...more,
  }));

const makeRevealRequest = ({ disputedIdentifier: blockchainIdentifier }: Resources) => {
  const validUntil = Date.now() + HOUR;
  const text = `{"action":"RevealData","blockchainIdentifier":"${blockchainIdentifier}","validUntil":${validUntil}}`;
  return {
    ...{ action: "RevealData", blockchainIdentifier, validUntil, walletAddress: ADMIN.address },
    ...signCoseSign1(utf8ToBytes(text), ADMIN.keys),
  };
};

/** Requests about payments, purchases and disputes. */
export const ESCROW_PROBES: Probes = {
  "GET /payment/diff/onchain-state-or-result": probeDiff("payment"),
  "GET /payment/diff/next-action": probeDiff("payment"),
  "GET /payment/diff": probeDiff("payment"),
  "GET /payment": probeList("payment"),
  "GET /payment/csv": probeList("payment"),
  "GET /payment/count": probeCount(),
  "POST /payment/resolve-blockchain-identifier": probeResolve(),
  "POST /payment/income": probeSums("TotalIncome"),
  "GET /purchase/diff/onchain-state-or-result": probeDiff("purchase"),
  "GET /purchase/diff/next-action": probeDiff("purchase"),
  "GET /purchase/diff": probeDiff("purchase"),
  "GET /purchase": probeList("purchase"),
  "GET /purchase/csv": probeList("purchase"),
  "GET /purchase/count": probeCount(),
  "POST /purchase/resolve-blockchain-identifier": probeResolve(),
  "POST /purchase/spending": probeSums("TotalPending"),
  "POST /payment": probeWith(({ network, agentIdentifier }, { escrows }) => ({
    network,
    agentIdentifier,
    inputHash: "9f".repeat(32),
    identifierFromPurchaser: NONCE,
    payByTime: new Date(Number(escrows.quoted.payByTime)).toISOString(),
    submitResultTime: new Date(Number(escrows.quoted.submitResultTime)).toISOString(),
    supportedPaymentSourceIndex: 0,
  })),
  "POST /payment/x402": [
    {
      fields: ({ network, quotedIdentifier }) => ({
        network,
        blockchainIdentifier: quotedIdentifier,
        buyerAddress: STRANGER.address,
      }),
      ...revealTo((body) => body.includes("unsignedTxCbor")),
    },
  ],
  "POST /purchase": [
    ...probeWith((resources, { escrows }) => ({
      ...makeOrder(escrows.quoted),
      blockchainIdentifier: resources.quotedIdentifier,
    })),
    {
      fields: (resources, { escrows }) => ({
        ...makeOrder(escrows.bought),
        blockchainIdentifier: resources.boughtIdentifier,
      }),
      status: 409,
    },
  ],
  "POST /purchase/verify": probeWith((resources, { escrows }) => ({
    ...makeOrder(escrows.quoted),
    blockchainIdentifier: resources.quotedIdentifier,
  })),
  "POST /purchase/cancel": probeStep("boughtIdentifier"),
  "POST /payment/submit-result": probeStep("lockedIdentifier", { submitResultHash: RESULT }),
  "POST /payment/authorize-refund": probeStep("disputedIdentifier"),
  "POST /payment/withdraw": probeStep("payableIdentifier"),
  "POST /purchase/request-refund": probeStep("lockedIdentifier"),
  "POST /purchase/withdraw-refund": probeStep("refundableIdentifier"),
  "POST /purchase/cancel-refund-request": probeStep("disputedIdentifier"),
  "POST /payment/error-state-recovery": probeWith((resources) => ({
    network: resources.network,
    blockchainIdentifier: resources.failedIdentifier,
    updatedAt: resources.failedPaymentAt,
  })),
  "POST /purchase/error-state-recovery": probeWith((resources) => ({
    network: resources.network,
    blockchainIdentifier: resources.failedIdentifier,
    updatedAt: resources.failedPurchaseAt,
  })),
  "POST /payment/retry": probeStep("failedIdentifier"),
  "POST /purchase/retry": probeStep("failedIdentifier"),
  "GET /task": probeWith(({ network }) => ({ network, limit: 100 })),
  "GET /dispute": probeWith(({ network }) => ({ network, limit: 100 })),
  "POST /dispute/proposal": probeWith(({ network, disputedIdentifier }) => ({
    network,
    blockchainIdentifier: disputedIdentifier,
    BuyerFunds: [],
    SellerFunds: native(10_000_000n),
  })),
  "DELETE /dispute/proposal": probeWith(({ network, proposalId }) => ({ network, proposalId })),
  "POST /dispute/signature": probeWith(({ network, proposalId }, { proposal }) => ({
    network,
    proposalId,
    ...signCoseSign1(hexToBytes(proposal.message), ADMIN.keys),
  })),
  "POST /signature/verify/reveal-data": [
    { fields: makeRevealRequest, ...revealTo((body) => body.includes('"isValid":true')) },
  ],
};
