import * as z from "zod";
import { network } from "../http/openapi/chain-fields.ts";
import {
  areSameFunds,
  type Funds,
  funds,
  type Purchase,
  toPurchaseResult,
  trustFunds,
} from "./purchase-result.ts";
import { defineTool } from "./tool.ts";
import {
  hasFormat,
  ToolError,
  trustFormatted,
  trustLiteral,
  wrapUntrusted,
} from "./tool-result.ts";

const RESOLVE_PATH = "/purchase/resolve-blockchain-identifier";
const purchaseFields = {
  network,
  blockchainIdentifier: z
    .string()
    .min(1)
    .max(8000)
    .describe("The purchase's, as quote_job and purchase_job answer it."),
};

export const showPurchaseStatusTool = defineTool({
  name: "purchase_status",
  title: "Status of a purchase",
  description:
    "Shows the state of a purchase, its meaning and the cost. Moves no money. Chains take minutes: call this tool at most every 30 seconds.",
  access: "User",
  hints: { isReadOnly: true, isOpenWorld: false },
  input: z.object(purchaseFields),
  run: async ({ service }, body) =>
    toPurchaseResult(await service.callApi<Purchase>("POST", RESOLVE_PATH, body)),
});

export const requestRefundTool = defineTool({
  name: "request_refund",
  title: "Request a refund",
  description:
    "Requests a refund, until shortly before unlockTime. Without a result, the money returns after submitResultTime. With a result, the request begins a dispute with the seller. `confirmedAmount` must be the price that purchase_status shows; otherwise, nothing is requested.",
  access: "+PAY",
  hints: { isReadOnly: false, isOpenWorld: true },
  input: z.object({
    ...purchaseFields,
    confirmedAmount: funds.describe("The price of the purchase."),
  }),
  async run({ service }, { network, blockchainIdentifier, confirmedAmount }) {
    const body = { network, blockchainIdentifier };
    const { PaidFunds } = await service.callApi<Purchase>("POST", RESOLVE_PATH, body);
    if (!areSameFunds(PaidFunds, confirmedAmount))
      throw new ToolError(
        trustLiteral(
          "Nothing was requested, because the price differs from confirmedAmount. Call purchase_status for the price.",
        ),
        { price: PaidFunds, confirmedAmount },
      );
    const updated = await service.callApi<Purchase>("POST", "/purchase/request-refund", body);
    return { requested: trustFunds(PaidFunds), purchase: toPurchaseResult(updated) };
  },
});

interface KeyStatus {
  canPay: boolean;
  networkLimit: string[];
  maxUsageCredits: number;
  accumulatedUsageCredits: number;
  spendingLimits: (Funds[number] & { network: string })[] | null;
  RemainingUsageCredits: Funds;
}

interface SpendingTotal {
  Units: { unit: string; gross: string; networkFee: string }[];
}
interface SpendingTotals {
  TotalSpend: SpendingTotal;
  TotalRefunded: SpendingTotal;
  TotalPending: SpendingTotal;
}

const toAmounts = ({ Units }: SpendingTotal) =>
  Units.map(({ unit, gross, networkFee }) => ({
    ...(hasFormat("hex", unit) ? { unit: trustFormatted("hex", unit) } : wrapUntrusted({ unit })),
    amount: trustFormatted("digits", gross),
    networkFee: trustFormatted("digits", networkFee),
  }));

export const showSpendingTool = defineTool({
  name: "spending",
  title: "Spending and limits of the API key",
  description:
    "Shows, for each network, the costs, refunds, locked funds and network fees of the purchases that the API key may see. Also shows the key's limits, their rest and its charged calls. A purchase counts against the limit from its request. Moves no money.",
  access: "User",
  hints: { isReadOnly: true, isOpenWorld: false },
  input: z.object({}),
  async run({ service, caller }) {
    const key = await service.callApi<KeyStatus>("GET", "/api-key-status");
    const { spendingLimits } = key;
    // Clients of other services see what is left of x402 budgets there too, in units of EVM chains.
    const left = key.RemainingUsageCredits.filter(({ unit }) => hasFormat("hex", unit));
    const isLimited = caller.permission !== "Admin" && spendingLimits !== null;
    const readTotals = async (name: string) => {
      const body = { agentIdentifier: null, network: name };
      const sums = await service.callApi<SpendingTotals>("POST", "/purchase/spending", body);
      const { TotalSpend, TotalRefunded, TotalPending } = sums;
      const spent = toAmounts(TotalSpend);
      return {
        network: trustFormatted("network", name),
        spent,
        cameBack: toAmounts(TotalRefunded),
        locked: toAmounts(TotalPending),
      };
    };
    const cardanoNetworks = key.networkLimit.filter((name) => network.safeParse(name).success);
    return {
      mayBuy: key.canPay,
      networks: key.networkLimit.map((name) => trustFormatted("network", name)),
      purchases: await Promise.all(cardanoNetworks.map(readTotals)),
      spending: isLimited
        ? { limits: trustFunds(spendingLimits), left: trustFunds(left) }
        : trustLiteral("The key has no spending limit."),
      calls: {
        used: key.accumulatedUsageCredits,
        atMost: caller.isUsageLimited ? key.maxUsageCredits : null,
      },
    };
  },
});
