/** Canonical addresses of contracts, the same on every chain. */

export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
/** The spender of x402 `exact` payments via Permit2. */
export const PERMIT2_PROXY = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
/** The spender of x402 `upto` payments. */
export const UPTO_PROXY = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";
export const MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11";
/** The oracle of the fee that a rollup of the OP Stack charges for the chain below. */
export const L1_FEE_ORACLE = "0x420000000000000000000000000000000000000F";
