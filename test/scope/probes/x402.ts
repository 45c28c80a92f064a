import { order, terms } from "../../x402/pay/paying.ts";
import type { Deployment } from "../deployment/open-deployment.ts";
import { type Probe, type Probes, probeWith } from "./probe.ts";

const SOURCE = {
  url: "https://api.example.com/other",
  amount: "10000",
  payTo: "0x209693bc6afc0c5328ba36faf03c514ef312287c",
};

/** A payment of the owner's source: each request has another. */
const paying = (index: number): Probe["fields"] => {
  return ({ x402SourceId }, { x402 }) => ({
    supportedPaymentSourceId: x402SourceId,
    paymentPayload: x402.payments[index],
  });
};

/** The same for the plain facilitator, which knows no sources. */
const plain = (index: number): Probe["fields"] => {
  return (_, { x402 }: Deployment) => ({
    x402Version: 2,
    paymentPayload: x402.payments[index],
    paymentRequirements: x402.source.requirements,
  });
};

const isValid = (body: string) => body.includes('"isValid":true');

/** The catalog is everybody's. */
const CATALOG = {
  audience: "public",
  isRevealed: (body: string) => body.includes('"x402Version":2'),
} as const;

/** A count on the owner's chain, where others have nothing. */
function counting(): Probe[] {
  const isRevealed = (body: string) => /"total":[1-9]/.test(body);
  return [
    {
      fields: ({ caip2 }) => ({ caip2Network: caip2 }),
      reveals: { audience: "owner", isRevealed },
    },
  ];
}

/** Requests about the x402 x402. */
export const X402_PROBES: Probes = {
  "POST /x402/settle": probeWith(paying(0)),
  "POST /x402/verify": probeWith(paying(1)),
  "GET /x402/payments": probeWith(
    () => ({}),
    ({ caip2 }) => ({ caip2Network: caip2 }),
  ),
  "GET /x402/payments/count": counting(),
  "POST /x402/payments/reconcile": [
    {
      fields: ({ attemptId }) => ({ attemptId, expected: "Settled" }),
      reveals: { audience: "admin", isRevealed: (body) => body.includes("nothing is open") },
      status: 409,
    },
  ],
  "GET /x402/settlements": probeWith(() => ({})),
  "GET /x402/settlements/count": counting(),
  "GET /x402/totals": [
    {
      fields: ({ caip2 }) => ({ caip2Network: caip2 }),
      reveals: { audience: "admin", isRevealed: (body) => body.includes('"incomeCount":1') },
    },
  ],
  "GET /x402/payment-sources": probeWith(() => ({})),
  "POST /x402/payment-sources": probeWith(
    ({ caip2 }) => ({ caip2Network: caip2, ...SOURCE }),
    ({ caip2, agentRegistrationId }) => ({
      ...{ caip2Network: caip2, ...SOURCE },
      registryRequestId: agentRegistrationId,
    }),
  ),
  "PATCH /x402/payment-sources": probeWith(({ x402SourceId }) => ({
    ...{ id: x402SourceId, discovery: null },
  })),
  "GET /x402/networks": probeWith(() => ({})),
  "POST /x402/networks": probeWith(({ caip2 }) => ({ caip2Id: caip2, displayName: "changed" })),
  "GET /x402/networks/available": probeWith(() => ({})),
  "GET /x402/wallets": probeWith(
    () => ({}),
    ({ caip2 }) => ({ caip2Network: caip2 }),
  ),
  "GET /x402/wallets/balances": probeWith(
    () => ({}),
    ({ evmWalletId }) => ({ id: evmWalletId }),
  ),
  "GET /x402/wallets/count": counting(),
  "PATCH /x402/wallets": probeWith(({ evmWalletId }) => ({ id: evmWalletId, note: "changed" })),
  "DELETE /x402/wallets": probeWith(({ evmWalletId }) => ({ id: evmWalletId })),
  "POST /x402/wallets": probeWith(({ caip2 }) => ({ caip2Network: caip2, type: "Selling" })),
  "GET /x402/low-balance": probeWith(() => ({})),
  "POST /x402/low-balance": probeWith(({ evmWalletId }) => ({
    ...{ evmWalletId, asset: "native", threshold: "5" },
  })),
  "PATCH /x402/low-balance": probeWith(({ evmRuleId }) => ({ id: evmRuleId, enabled: false })),
  "DELETE /x402/low-balance": probeWith(({ evmRuleId }) => ({ id: evmRuleId })),
  "POST /x402/pay": probeWith(({ evmWalletId }, { x402 }) => {
    return { ...order({ id: evmWalletId }, [terms(x402.x402)]) };
  }),
  "GET /x402/budgets": probeWith(() => ({})),
  "POST /x402/budgets": probeWith(({ ownerId, evmWalletId }, { x402 }) => ({
    ...{ apiKeyId: ownerId, evmWalletId, asset: x402.x402.contracts.token, remainingAmount: "5" },
  })),
  "GET /x402/facilitator/supported": probeWith(() => ({})),
  "POST /x402/facilitator/verify": [
    { fields: plain(2), reveals: { audience: "chain", isRevealed: isValid } },
  ],
  "POST /x402/facilitator/settle": [{ fields: plain(3) }],
  "GET /x402/facilitator/discovery/resources": [{ fields: () => ({}), reveals: CATALOG }],
  "GET /x402/facilitator/discovery/search": [
    { fields: () => ({ query: "forecast" }), reveals: CATALOG },
  ],
};
