import type { WalletKeys } from "../chain/keys.ts";
import { type ExecutionUnits, type Provider, ProviderError } from "../chain/provider.ts";
import { isPolicyScript, registryAssetName, registryRedeemer } from "../chain/registry-token.ts";
import { slotAt } from "../chain/slots.ts";
import type { Value } from "../chain/value.ts";
import {
  minimumCoin,
  outputName,
  type WalletOutput,
  WalletShort,
  walletOutputs,
} from "../chain/wallet-selection.ts";
import { buildMint, draftMint, type MintPlan } from "../chain/wallet-transaction.ts";
import { registrationLabels } from "./registration-metadata.ts";
import type { Purpose } from "./registration-states.ts";
import type { RegistrationRow } from "./registration-tables.ts";

/** A signed transaction, and what of it the record keeps. */
export interface PreparedTransaction {
  cbor: Uint8Array;
  hash: string;
  /** Native minor units. */
  fee: bigint;
  /** Policy id and asset name, hex. */
  agentIdentifier: string;
  /** Of a minting; see `registration-tables.ts`. */
  seed: string | null;
  /** The first slot in which it is no longer valid. */
  validTo: number;
}

/** The token or its policy is not where a transaction would need it. */
export class NotOnChain extends Error {
  override name = "NotOnChain";
}

/** Slots (seconds) before and after now in which a transaction is valid: room for clocks. */
const VALID_BEFORE = 300;
const VALID_AFTER = 330;
/** Native minor units that go with a token at least. */
const LEAST_FUNDING = 5_000_000n;
/**
 * Native minor units. Twice what the largest transaction with the longest script costs: a fee beyond it
 * comes of wrong protocol parameters, and what is paid too much is lost.
 */
const HIGHEST_FEE = 5_000_000n;
/** What a script may use while the node says what it does use. */
const DRAFT_UNITS: ExecutionUnits = { memory: 7_000_000n, steps: 3_000_000_000n };
const POLICY_ID_LENGTH = 56;

/**
 * Builds and signs the transaction that mints or burns a registration's token.
 *
 * @param now - epoch milliseconds
 * @throws WalletShort, ScriptFailed, TransactionTooLarge, NotOnChain: their message says what can be
 *   done; ProviderError
 */
export async function prepareTransaction(
  provider: Provider,
  row: RegistrationRow,
  purpose: Purpose,
  keys: WalletKeys,
  now: number,
): Promise<PreparedTransaction> {
  const [utxos, parameters, scriptCbor, tip] = await Promise.all([
    provider.addressUtxos(keys.address),
    provider.protocolParameters(),
    provider.scriptCbor(row.policyId),
    provider.latestBlock(),
  ]);
  if (scriptCbor === null || !isPolicyScript(row.policyId, scriptCbor))
    throw new NotOnChain(
      `the chain does not show the Plutus V3 script of the policy ${row.policyId}: check policyId of the payment source`,
    );
  const outputs = walletOutputs(utxos);
  const token =
    purpose === "Registration" ? newToken(row, keys, outputs) : heldToken(row, keys, outputs);
  const { mustSpend, assetName, seed } = token;
  const agentIdentifier = row.policyId + assetName;
  // Whichever clock is ahead, the transaction is valid by both.
  const wallSlot = slotAt(row.network, now);
  const validTo = Math.max(tip.slot, wallSlot) + VALID_AFTER;
  const validity = { from: Math.min(tip.slot, wallSlot) - VALID_BEFORE, to: validTo };

  const plan: MintPlan = {
    keys,
    outputs,
    mustSpend: [mustSpend],
    mint: {
      policyId: row.policyId,
      assetName,
      quantity: purpose === "Registration" ? 1n : -1n,
      redeemer: registryRedeemer(row.sourceType, purpose === "Registration" ? "mint" : "burn"),
      scriptCbor,
    },
    payments: [],
    metadata: registrationLabels(row, purpose, assetName),
    validity,
    parameters,
  };
  if (purpose === "Registration") {
    const address = row.recipient?.address ?? keys.address;
    const value: Value = new Map([[agentIdentifier, 1n]]);
    const asked = BigInt(row.sendFunding ?? 0n);
    const least = minimumCoin(address, value, parameters);
    value.set(
      "",
      [asked, least, LEAST_FUNDING].reduce((a, b) => (a > b ? a : b)),
    );
    plan.payments = [{ address, value }];
  }
  const used = await provider.evaluate(draftMint(plan, DRAFT_UNITS));
  const { cbor, hash, fee } = buildMint(plan, withReserve(used.get("mint:0") ?? DRAFT_UNITS));
  if (fee > HIGHEST_FEE)
    throw new ProviderError(
      `provider: by its protocol parameters the fee would be ${fee} minor units of the native coin`,
      { permanent: true },
    );
  return { cbor, hash, fee, agentIdentifier, seed, validTo };
}

interface TokenInput {
  mustSpend: WalletOutput;
  assetName: string;
  seed: string | null;
}

/** The name of a new token follows from an output: that of an earlier try, while it is unspent. */
function newToken(row: RegistrationRow, keys: WalletKeys, outputs: WalletOutput[]): TokenInput {
  const seed = outputs.find((output) => outputName(output) === row.seed) ?? largest(outputs);
  if (!seed)
    throw new WalletShort(
      `the wallet is empty: send 10000000 minor units of the native coin to ${keys.address}, then try again`,
    );
  const assetName = registryAssetName(row.sourceType, seed);
  return { mustSpend: seed, assetName, seed: outputName(seed) };
}

function heldToken(row: RegistrationRow, keys: WalletKeys, outputs: WalletOutput[]): TokenInput {
  const unit = row.agentIdentifier ?? "";
  const mustSpend = outputs.find(({ value }) => value.has(unit));
  if (!mustSpend)
    throw new NotOnChain(
      `the wallet ${keys.address} does not hold the token ${unit}: bring it there, or leave the agent registered`,
    );
  return { mustSpend, assetName: unit.slice(POLICY_ID_LENGTH), seed: null };
}

/** One without tokens before any with them. */
function largest(outputs: readonly WalletOutput[]): WalletOutput | undefined {
  const coin = ({ value }: WalletOutput) => value.get("") ?? 0n;
  return outputs.toSorted((a, b) => {
    if (a.value.size > 1 !== b.value.size > 1) return a.value.size > 1 ? 1 : -1;
    return coin(a) > coin(b) ? -1 : 1;
  })[0];
}

/** The fee and the change differ from the draft's, so a script may use a little more. */
function withReserve({ memory, steps }: ExecutionUnits): ExecutionUnits {
  return { memory: memory + memory / 10n, steps: steps + steps / 10n };
}
