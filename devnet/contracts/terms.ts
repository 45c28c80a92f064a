/** The parameters of the local chain's contracts. */
import type { EscrowParameters } from "../../src/chain/plutus/contract-parameters.ts";
import { ADMIN } from "../demo/actors/wallets.ts";

/** Milliseconds from the end of a transaction's validity until its actor may act again. */
export const COOLDOWN_MS = 420_000;
/** Of everything that is locked, on a withdrawal from Web3ChainV1. */
export const FEE_PERMILLE = 50;

const SHARED = {
  requiredAdminSignatures: 2,
  adminVkeys: [ADMIN.vkey, ADMIN.vkey, ADMIN.vkey],
  cooldownTime: COOLDOWN_MS,
};

export const TERMS = {
  Web3ChainV1: {
    ...SHARED,
    type: "Web3ChainV1",
    fee: { receiver: ADMIN.address, permille: FEE_PERMILLE },
  },
  Web3ChainV2: { ...SHARED, type: "Web3ChainV2", fee: null },
} as const satisfies Record<EscrowParameters["type"], EscrowParameters>;
