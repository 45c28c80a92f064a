import type { ProtocolParameters } from "../../src/chain/provider/provider.ts";

/** Preprod's, but for the costs of scripts' steps, which are numbers that can be told apart. */
export const PROTOCOL_PARAMETERS: ProtocolParameters = {
  feePerByte: 44n,
  feeConstant: 155_381n,
  priceMemory: "0.0577",
  priceSteps: "0.0000721",
  pricePerReferenceByte: "15",
  collateralPercent: 150n,
  maxCollateralInputs: 3,
  coinsPerByte: 4310n,
  maxTransactionSize: 16_384,
  maxValueSize: 5_000,
  maxUnits: { memory: 14_000_000n, steps: 10_000_000_000n },
  plutusV3Costs: Array.from({ length: 297 }, (_, i) => BigInt(i)),
};
