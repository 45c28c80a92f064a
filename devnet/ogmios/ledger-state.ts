/** What Ogmios 6 tells of its node's ledger (`queryLedgerState`). */
import { z } from "zod";
import { protocolParameters } from "../blockfrost/parameters.ts";
import type { Chain } from "../ledger/chain.ts";
import { type LedgerOutput, type LedgerScript, POLICY_ID_LENGTH } from "../ledger/transaction.ts";
import type { LedgerView } from "../ledger/view.ts";

const QUERY = z.object({
  outputReferences: z.array(
    z.object({ transaction: z.object({ id: z.string() }), index: z.int().min(0) }),
  ),
});

/** The unspent ones of some outputs. By address, the real service walks its whole set. */
export function listUnspentOutputs(view: LedgerView, params: object) {
  return QUERY.parse(params).outputReferences.flatMap(({ transaction, index }) => {
    const placed = view.output({ txHash: transaction.id, index });
    return placed?.consumedBy === null ? [{ transaction, index, ...toOutput(placed.output) }] : [];
  });
}

function toOutput({ address, amount, inlineDatum, dataHash, referenceScript }: LedgerOutput) {
  const datum = inlineDatum === null ? dataHash && { datumHash: dataHash } : { datum: inlineDatum };
  return {
    ...{ address, value: toValue(amount) },
    ...datum,
    ...(referenceScript && { script: toScript(referenceScript) }),
  };
}

function toValue(amount: LedgerOutput["amount"]) {
  const value: Record<string, Record<string, number>> = {};
  for (const { unit, quantity } of amount) {
    const [policy, name] =
      unit === "lovelace"
        ? ["ada", unit]
        : [unit.slice(0, POLICY_ID_LENGTH), unit.slice(POLICY_ID_LENGTH)];
    value[policy] = { ...value[policy], [name]: Number(quantity) };
  }
  return value;
}

function toScript({ type, cbor }: LedgerScript) {
  const hex = Buffer.from(cbor).toString("hex");
  return type === "timelock"
    ? { language: "native", json: { clause: "any", from: [] }, cbor: hex }
    : { language: type.replace("plutusV", "plutus:v"), cbor: hex };
}

/** The provider's parameters under the names of Ogmios, prices as ratios. */
export function describeParameters(chain: Chain, view: LedgerView) {
  const found = protocolParameters(view, chain.limits);
  const lovelace = (amount: string | number) => ({ ada: { lovelace: Number(amount) } });
  const bytes = (count: string | number) => ({ bytes: Number(count) });
  const { PlutusV1, PlutusV2, PlutusV3 } = found.cost_models_raw;
  return {
    minFeeCoefficient: found.min_fee_a,
    minFeeConstant: lovelace(found.min_fee_b),
    minFeeReferenceScripts: {
      ...{ range: 25_600, multiplier: 1.2 },
      base: found.min_fee_ref_script_cost_per_byte,
    },
    minUtxoDepositCoefficient: Number(found.coins_per_utxo_size),
    minUtxoDepositConstant: lovelace(0),
    maxBlockBodySize: bytes(found.max_block_size),
    maxBlockHeaderSize: bytes(found.max_block_header_size),
    maxTransactionSize: bytes(found.max_tx_size),
    maxValueSize: bytes(found.max_val_size),
    stakeCredentialDeposit: lovelace(found.key_deposit),
    stakePoolDeposit: lovelace(found.pool_deposit),
    stakePoolRetirementEpochBound: found.e_max,
    stakePoolPledgeInfluence: "3/10",
    minStakePoolCost: lovelace(found.min_pool_cost),
    desiredNumberOfStakePools: found.n_opt,
    monetaryExpansion: "3/1000",
    treasuryExpansion: "1/5",
    collateralPercentage: found.collateral_percent,
    maxCollateralInputs: found.max_collateral_inputs,
    plutusCostModels: { "plutus:v1": PlutusV1, "plutus:v2": PlutusV2, "plutus:v3": PlutusV3 },
    scriptExecutionPrices: { memory: "577/10000", cpu: "721/10000000" },
    maxExecutionUnitsPerTransaction: {
      memory: Number(found.max_tx_ex_mem),
      cpu: Number(found.max_tx_ex_steps),
    },
    maxExecutionUnitsPerBlock: {
      memory: Number(found.max_block_ex_mem),
      cpu: Number(found.max_block_ex_steps),
    },
    version: { major: found.protocol_major_ver, minor: found.protocol_minor_ver },
  };
}
