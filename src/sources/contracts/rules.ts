import type { PaymentSourceType } from "../../chain/network.ts";

/** The parts of a request that determine its contract. */
export interface ContractFields {
  paymentSourceType: PaymentSourceType;
  smartContractAddress?: string | undefined;
  policyId?: string | undefined;
  AdminWallets: readonly unknown[];
  feeRatePermille: number;
  FeeReceiverNetworkWallet: object | null;
  requiredAdminSignatures: number | null;
}

type ContractRule = readonly [
  field: keyof ContractFields,
  holds: (body: ContractFields) => boolean,
  problem: string,
];

/** The parameters that each generation's contract allows. */
const CONTRACT_RULES: Record<PaymentSourceType, readonly ContractRule[]> = {
  Web3ChainV1: [
    ["AdminWallets", ({ AdminWallets }) => AdminWallets.length === 3, "must have 3 items"],
    ["FeeReceiverNetworkWallet", (body) => body.FeeReceiverNetworkWallet !== null, "is required"],
    [
      "requiredAdminSignatures",
      (body) => [null, 2].includes(body.requiredAdminSignatures),
      "must be 2 or null",
    ],
  ],
  Web3ChainV2: [
    ["feeRatePermille", ({ feeRatePermille }) => feeRatePermille === 0, "must be 0"],
    ["FeeReceiverNetworkWallet", (body) => body.FeeReceiverNetworkWallet === null, "must be null"],
    ["requiredAdminSignatures", (body) => body.requiredAdminSignatures !== null, "is required"],
  ],
};

/**
 * Why a request neither names a contract, by address and policy, nor has the parameters of one that
 * could be derived. Empty when it does.
 */
export function findContractProblems(
  body: ContractFields,
): { field: keyof ContractFields; problem: string }[] {
  const { paymentSourceType: type, smartContractAddress, policyId } = body;
  if (smartContractAddress !== undefined && policyId !== undefined) return [];
  if (smartContractAddress !== undefined)
    return [{ field: "policyId", problem: "is required with smartContractAddress" }];
  if (policyId !== undefined)
    return [{ field: "smartContractAddress", problem: "is required with policyId" }];
  return CONTRACT_RULES[type]
    .filter(([, holds]) => !holds(body))
    .map(([field, , problem]) => ({
      field,
      problem: `${problem} on ${type} without a smartContractAddress`,
    }));
}
