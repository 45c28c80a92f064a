import { epochAt } from "../ledger/blocks.ts";
import COST_MODELS from "../ledger/cost-models.json" with { type: "json" };
import type { Limits } from "../ledger/limits.ts";
import type { LedgerView } from "../ledger/view.ts";
import type { Handler } from "./request.ts";

/**
 * Protocol parameters of the emulator. They must be its own to the digit: a transaction's script
 * data hash covers the cost models, and its fee follows from the rest. What a chain may lower comes
 * from its limits.
 */
const LEDGER_PARAMETERS = {
  min_fee_a: 44,
  min_fee_b: 155381,
  max_block_header_size: 1100,
  key_deposit: "2000000",
  pool_deposit: "500000000",
  e_max: 18,
  n_opt: 500,
  a0: 0.3,
  rho: 0.003,
  tau: 0.2,
  decentralisation_param: 0,
  extra_entropy: null,
  protocol_major_ver: 10,
  protocol_minor_ver: 0,
  min_utxo: "4310",
  min_pool_cost: "170000000",
  price_mem: 0.0577,
  price_step: 0.0000721,
  max_val_size: "5000",
  collateral_percent: 150,
  max_collateral_inputs: 3,
  coins_per_utxo_size: "4310",
  coins_per_utxo_word: "4310",
  pvt_motion_no_confidence: null,
  pvt_committee_normal: null,
  pvt_committee_no_confidence: null,
  pvt_hard_fork_initiation: null,
  dvt_motion_no_confidence: null,
  dvt_committee_normal: null,
  dvt_committee_no_confidence: null,
  dvt_update_to_constitution: null,
  dvt_hard_fork_initiation: null,
  dvt_p_p_network_group: null,
  dvt_p_p_economic_group: null,
  dvt_p_p_technical_group: null,
  dvt_p_p_gov_group: null,
  dvt_treasury_withdrawal: null,
  committee_min_size: null,
  committee_max_term_length: null,
  gov_action_lifetime: null,
  gov_action_deposit: "100000000000",
  drep_deposit: "500000000",
  drep_activity: null,
  pvtpp_security_group: null,
  pvt_p_p_security_group: null,
  min_fee_ref_script_cost_per_byte: 15,
} as const;

const [PLUTUS_V1, PLUTUS_V2, PLUTUS_V3] = COST_MODELS;

/** Preprod's, but for its age. */
const GENESIS = {
  active_slots_coefficient: 0.05,
  update_quorum: 5,
  max_lovelace_supply: "45000000000000000",
  network_magic: 1,
  epoch_length: 432000,
  system_start: 1654041600,
  slots_per_kes_period: 129600,
  slot_length: 1,
  max_kes_evolutions: 62,
  security_param: 2160,
};

export const parameterHandlers: Record<string, Handler> = {
  "GET /genesis": () => GENESIS,
  "GET /epochs/latest/parameters": ({ view, chain }) => protocolParameters(view, chain.limits),
};

export function protocolParameters(view: LedgerView, limits: Limits) {
  return {
    epoch: epochAt(view.tip.slot).epoch,
    ...LEDGER_PARAMETERS,
    max_tx_size: limits.transactionSize,
    max_tx_ex_mem: String(limits.transactionMemory),
    max_tx_ex_steps: String(limits.transactionSteps),
    max_block_size: limits.blockSize,
    max_block_ex_mem: String(limits.blockMemory),
    max_block_ex_steps: String(limits.blockSteps),
    nonce: view.blocks[0]?.hash ?? "",
    // The real answer names each cost; its order alone matters, and the raw lists carry that.
    cost_models: {},
    cost_models_raw: { PlutusV1: PLUTUS_V1, PlutusV2: PLUTUS_V2, PlutusV3: PLUTUS_V3 },
  };
}

/** Fee for running a script, lovelace: the prices are fractions of 10^-4 and 10^-7. */
export function executionFee(memory: bigint, steps: bigint): bigint {
  const tenMillionths = memory * 577_000n + steps * 721n;
  return (tenMillionths + 9_999_999n) / 10_000_000n;
}
