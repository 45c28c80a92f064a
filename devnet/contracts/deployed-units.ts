/**
 * What the contracts deployed on public networks use, measured once with two required signatures and
 * one administrator in three places, so that the composition of transactions can be tested with their
 * costs and not just with those of our own programs.
 */
import type { PaymentSourceType } from "../../src/chain/network.ts";

interface Units {
  memory: bigint;
  steps: bigint;
}

const units = (memory: bigint, steps: bigint): Units => ({ memory, steps });

/** Of one spend in a transaction of its own, by action. */
export const DEPLOYED_UNITS = {
  Web3ChainV1: {
    submitResult: units(357_653n, 136_970_767n),
    requestRefund: units(349_238n, 134_605_531n),
    cancelRefund: units(345_223n, 134_025_872n),
    authorizeRefund: units(350_033n, 134_503_534n),
    /** Without a collateral. */
    withdraw: units(306_428n, 110_185_991n),
    withdrawRefund: units(153_893n, 56_509_926n),
    withdrawDisputed: units(206_977n, 74_621_316n),
  },
  Web3ChainV2: {
    submitResult: units(580_528n, 205_494_874n),
    requestRefund: units(550_977n, 195_253_687n),
    authorizeWithdrawal: units(552_473n, 195_317_056n),
    authorizeRefund: units(558_787n, 198_201_344n),
    /** Without a collateral and without return addresses. */
    withdraw: units(381_946n, 126_765_879n),
    withdrawRefund: units(325_277n, 106_111_734n),
    withdrawDisputed: units(756_134n, 425_347_824n),
  },
} as const satisfies Record<PaymentSourceType, Record<string, Units>>;

/**
 * How many spends of Web3ChainV2 fit into one transaction by what they use. Of results and requests as
 * many fit with our contracts, which use about as much; of withdrawals more.
 */
export const DEPLOYED_BATCHES = { submitResult: 6, requestRefund: 6, withdraw: 7 } as const;
