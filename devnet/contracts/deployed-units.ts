/**
 * The units of the contracts that are deployed on public networks, measured with two required
 * signatures and one administrator in three places. Our own programs must cost as much, to a tenth
 * (test/devnet/contracts/units.test.ts), so that the local chain refuses the batches that a node
 * refuses.
 */
import type { DatumState } from "../../src/chain/contracts/escrow-datum.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";

/** A transaction that does one act to one or several escrows. */
export interface Shape {
  /** Number of escrows. Default 1. */
  count?: number;
  /** The state before the act. Default: the usual one. */
  state?: DatumState;
  /** Native minor units on top of the price. */
  collateral?: bigint;
  /** The number of policies with one name, and of names of one policy, in each escrow. */
  policies?: number;
  names?: number;
  /** Both parties have return addresses. */
  returns?: boolean;
}

/** A transaction, and the memory and steps of all its spends together. */
export type DeployedUnits = readonly [shape: Shape, memory: number, steps: number];

/** `redeemer2` takes a request back on Web3ChainV1, and authorizes a withdrawal on Web3ChainV2. */
type Act =
  | "submitResult"
  | "requestRefund"
  | "redeemer2"
  | "authorizeRefund"
  | "withdraw"
  | "withdrawRefund"
  | "withdrawDisputed";
type Table = Readonly<Record<Act, readonly DeployedUnits[]>>;

const V1: Table = {
  submitResult: [
    [{}, 362_147, 139_643_294],
    [{ state: "RefundRequested" }, 364_152, 141_227_322],
    [{ policies: 20 }, 362_147, 151_646_054],
    [{ names: 30 }, 362_147, 150_609_452],
  ],
  requestRefund: [
    [{}, 353_732, 137_278_058],
    [{ policies: 20 }, 353_732, 149_280_818],
    [{ names: 30 }, 353_732, 148_244_216],
  ],
  redeemer2: [
    [{}, 349_717, 136_698_399],
    [{ policies: 20 }, 349_717, 148_701_159],
    [{ names: 30 }, 349_717, 147_664_557],
  ],
  authorizeRefund: [
    [{}, 354_527, 137_176_061],
    [{ policies: 20 }, 354_527, 149_178_821],
    [{ names: 30 }, 354_527, 148_142_219],
  ],
  withdraw: [
    [{}, 339_938, 125_214_998],
    [{ collateral: 2_000_000n }, 420_766, 157_315_476],
    [{ policies: 1 }, 397_169, 142_512_407],
    [{ policies: 3 }, 548_477, 187_921_151],
    [{ policies: 20 }, 3_818_138, 1_156_045_158],
    [{ names: 30 }, 3_631_394, 1_123_955_306],
    [{ policies: 43 }, 13_891_517, 4_123_995_311],
    [{ policies: 44 }, 14_476_874, 4_296_292_326],
    [{ policies: 45 }, 15_074_513, 4_472_193_983],
    [{ names: 45 }, 6_929_849, 2_119_972_931],
    [{ names: 60 }, 11_336_654, 3_448_973_456],
  ],
  withdrawRefund: [
    [{}, 158_387, 59_183_403],
    [{ policies: 20 }, 158_387, 59_183_403],
    [{ names: 30 }, 158_387, 59_183_403],
  ],
  withdrawDisputed: [
    [{}, 211_471, 77_294_793],
    [{ policies: 20 }, 211_471, 77_294_793],
    [{ names: 30 }, 211_471, 77_294_793],
  ],
};

const V2: Table = {
  submitResult: [
    [{}, 584_422, 208_071_401],
    [{ state: "RefundRequested" }, 590_236, 213_694_083],
    [{ count: 2 }, 1_790_711, 623_943_952],
    [{ count: 3 }, 3_650_037, 1_255_918_017],
    [{ count: 4 }, 6_193_570, 2_112_293_960],
    [{ count: 6 }, 13_457_937, 4_531_452_936],
    [{ count: 7 }, 18_241_111, 6_110_836_697],
    [{ count: 9 }, 30_265_290, 10_050_714_585],
    [{ count: 12 }, 54_913_686, 18_037_812_792],
    [{ count: 5, policies: 1, returns: true }, 12_366_880, 4_158_792_105],
    [{ policies: 20, returns: true }, 700_998, 259_036_567],
    [{ names: 30, returns: true }, 700_998, 257_999_965],
  ],
  requestRefund: [
    [{}, 554_871, 197_830_214],
    [{ count: 2 }, 1_733_413, 604_006_342],
    [{ count: 3 }, 3_566_796, 1_226_828_748],
    [{ count: 4 }, 6_086_190, 2_074_597_796],
    [{ count: 6 }, 13_307_691, 4_478_177_274],
    [{ count: 7 }, 18_072_138, 6_050_588_432],
    [{ count: 9 }, 30_064_275, 9_978_155_406],
    [{ count: 12 }, 54_678_138, 17_950_872_972],
    [{ count: 5, policies: 1, returns: true }, 12_237_165, 4_113_033_810],
    [{ policies: 20, returns: true }, 671_447, 248_795_380],
    [{ names: 30, returns: true }, 671_447, 247_758_778],
  ],
  redeemer2: [
    [{}, 556_367, 197_893_583],
    [{ count: 2 }, 1_745_425, 606_856_900],
    [{ count: 3 }, 3_598_344, 1_235_190_315],
    [{ count: 4 }, 6_146_294, 2_091_194_192],
    [{ count: 6 }, 13_451_967, 4_519_414_788],
    [{ count: 7 }, 18_272_030, 6_108_232_235],
    [{ count: 9 }, 30_402_459, 10_076_783_247],
    [{ count: 12 }, 55_291_410, 18_131_405_520],
    [{ count: 5, policies: 1, returns: true }, 12_334_845, 4_140_588_855],
    [{ policies: 20, returns: true }, 672_943, 248_858_749],
    [{ names: 30, returns: true }, 672_943, 247_822_147],
  ],
  authorizeRefund: [
    [{}, 562_681, 200_777_871],
    [{ count: 2 }, 1_759_857, 613_170_240],
    [{ count: 3 }, 3_622_698, 1_245_477_471],
    [{ count: 4 }, 6_182_374, 2_105_999_928],
    [{ count: 6 }, 13_516_911, 4_544_891_976],
    [{ count: 7 }, 18_354_112, 6_139_862_295],
    [{ count: 9 }, 30_524_229, 10_122_353_343],
    [{ count: 12 }, 55_486_242, 18_201_971_400],
    [{ count: 5, policies: 1, returns: true }, 12_384_455, 4_160_457_935],
    [{ policies: 20, returns: true }, 679_257, 251_743_037],
    [{ names: 30, returns: true }, 679_257, 250_706_435],
  ],
  withdraw: [
    [{}, 385_840, 129_343_356],
    [{ collateral: 2_000_000n }, 437_616, 149_819_556],
    [{ policies: 1, returns: true }, 641_854, 208_605_986],
    [{ state: "WithdrawAuthorized" }, 382_657, 127_088_553],
    [{ count: 2 }, 1_190_186, 396_201_883],
    [{ count: 3 }, 2_428_623, 804_725_763],
    [{ count: 4 }, 4_116_736, 1_359_065_178],
    [{ count: 6 }, 8_904_330, 2_921_791_341],
    [{ count: 7 }, 12_034_981, 3_938_478_453],
    [{ count: 9 }, 19_847_916, 6_463_251_648],
    [{ count: 12 }, 35_680_176, 11_541_161_598],
    [{ count: 5, policies: 1, returns: true }, 9_466_700, 3_120_213_460],
    [{ policies: 20, returns: true }, 4_746_139, 1_396_882_953],
    [{ names: 30, returns: true }, 1_155_502, 367_744_141],
    [{ count: 7, collateral: 2_000_000n }, 13_497_477, 4_617_715_557],
  ],
  withdrawRefund: [
    [{}, 329_171, 108_689_211],
    [{ count: 2 }, 1_032_450, 337_192_015],
    [{ count: 3 }, 2_125_422, 689_658_594],
    [{ count: 4 }, 3_623_672, 1_170_239_130],
    [{ count: 6 }, 7_898_346, 2_532_342_801],
    [{ count: 7 }, 10_705_940, 3_422_166_300],
    [{ count: 9 }, 17_739_567, 5_640_107_535],
    [{ count: 12 }, 32_069_880, 10_125_007_710],
    [{ count: 5, policies: 1, returns: true }, 8_587_025, 2_794_466_380],
    [{ policies: 20, returns: true }, 2_987_884, 887_160_408],
    [{ names: 30, returns: true }, 1_071_147, 339_380_801],
  ],
  withdrawDisputed: [
    [{}, 770_786, 431_138_939],
    [{ count: 2 }, 2_102_060, 1_063_567_211],
    [{ count: 3 }, 4_009_407, 1_901_434_998],
    [{ count: 4 }, 6_508_412, 2_948_892_482],
    [{ count: 5, policies: 1, returns: true }, 11_921_080, 4_948_164_365],
    [{ policies: 20, returns: true }, 3_917_626, 1_438_748_109],
    [{ names: 30, returns: true }, 1_814_003, 841_913_779],
  ],
};

export const DEPLOYED_UNITS: Readonly<Record<PaymentSourceType, Table>> = {
  Web3ChainV1: V1,
  Web3ChainV2: V2,
};

/** The most spends of Web3ChainV2 whose units fit into one transaction. */
export const DEPLOYED_BATCHES = { submitResult: 6, requestRefund: 6, withdraw: 7 } as const;
