import {
  computeNextAssetName,
  computeRegistryAssetName,
  encodeRegistryRedeemer,
  isPolicyScript,
  isSameToken,
} from "../chain/contracts/registry-token.ts";
import type { ProtocolParameters, Provider } from "../chain/provider/provider.ts";
import { computeMinimumCoin } from "../chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type PlannedOutput,
  type WalletOutput,
} from "../chain/transaction/transaction-plan.ts";
import type { Value } from "../chain/transaction/value.ts";
import { POLICY_ID_LENGTH } from "../chain/unit.ts";
import type { WalletKeys } from "../chain/wallet-keys.ts";
import { TaskError } from "../task-error.ts";
import type { BuildContext, TransactionPart } from "../wallets/queue/feature.ts";
import { buildRegistrationLabels } from "./registration-labels.ts";
import { MIN_FUNDING } from "./registration-profile.ts";
import type { RegistrationPurpose } from "./states.ts";
import type { RegistrationRow } from "./tables.ts";

/** The token or its policy is not where a transaction needs it. */
export class NotOnChainError extends TaskError {
  override name = "NotOnChainError";
}

/** The chain does not know the token: its mint was rolled back. */
export class NotMintedError extends NotOnChainError {
  override name = "NotMintedError";
}

/** What a registration keeps of its transaction, beside the transaction itself. */
export type RegistrationDetail = {
  purpose: RegistrationPurpose;
  /** Policy id and asset name, hex. */
  agentIdentifier: string;
  /** Of an update: the identifier of the token that it burns. */
  replaced: string | null;
  /** Of a mint; see `tables.ts`. */
  seed: string | null;
};

const ACTIONS = { Registration: "mint", Update: "update", Deregistration: "burn" } as const;

/**
 * The part of a transaction that mints or burns a registration's token.
 *
 * @throws NotOnChainError, NotMintedError: their message says how to fix it; ProviderError
 */
export async function buildRegistrationPart(
  row: RegistrationRow,
  purpose: RegistrationPurpose,
  { keys, placementOutput, outputs, parameters, provider }: BuildContext,
): Promise<TransactionPart> {
  const { policyId, sourceType } = row;
  const scriptCbor = await provider.scriptCbor(policyId);
  if (scriptCbor === null || !isPolicyScript(policyId, scriptCbor))
    throw new NotOnChainError(
      `the chain does not show the Plutus V3 script of the policy ${policyId}: check policyId of the payment source`,
    );
  const isMint = purpose === "Registration";
  const held = isMint ? null : await findTokenOutput(provider, row, keys, outputs);
  // A try that replaces another spends the same output of the outward chain, and gives the same name.
  const name = held ? held.assetName : computeRegistryAssetName(sourceType, placementOutput);
  const assetName = purpose === "Update" ? computeNextAssetName(name) : name;
  const agentIdentifier = policyId + assetName;
  const detail: RegistrationDetail = {
    purpose,
    agentIdentifier,
    replaced: purpose === "Update" ? policyId + name : null,
    seed: isMint ? formatOutputReference(placementOutput) : null,
  };
  const isKept = purpose !== "Deregistration";
  return {
    spends: held ? [held.output] : [],
    scriptInputs: [],
    mints: [
      {
        script: { from: "witness", hash: policyId, cbor: scriptCbor },
        tokens: new Map([
          ...(held ? ([[name, -1n]] as const) : []),
          ...(isKept ? ([[assetName, 1n]] as const) : []),
        ]),
        redeemer: encodeRegistryRedeemer(sourceType, ACTIONS[purpose]),
      },
    ],
    outputs: isKept ? [buildTokenOutput(row, keys, agentIdentifier, parameters)] : [],
    metadata: buildRegistrationLabels(row, purpose, assetName),
    detail,
  };
}

/** Where a new token goes, with what is asked to go with it. */
function buildTokenOutput(
  { recipient, sendFunding }: RegistrationRow,
  keys: WalletKeys,
  agentIdentifier: string,
  parameters: ProtocolParameters,
): PlannedOutput {
  const address = recipient?.address ?? keys.address;
  const value: Value = new Map([[agentIdentifier, 1n]]);
  const amounts = [BigInt(sendFunding ?? 0n), computeMinimumCoin({ address, value }, parameters)];
  value.set(
    "",
    amounts.reduce((a, b) => (a > b ? a : b), MIN_FUNDING),
  );
  return { address, value };
}

async function findTokenOutput(
  provider: Provider,
  row: RegistrationRow,
  keys: WalletKeys,
  outputs: readonly WalletOutput[],
): Promise<{ output: WalletOutput; assetName: string }> {
  const unit = row.agentIdentifier ?? "";
  // After a rollback of an update, the wallet holds the former version.
  for (const output of outputs)
    for (const version of output.value.keys())
      if (isSameToken(row.sourceType, version, unit))
        return { output, assetName: version.slice(POLICY_ID_LENGTH) };
  if ((await provider.assetMint(unit)) === null)
    throw new NotMintedError(
      `the chain does not show the token ${unit}: its registration was undone`,
    );
  throw new NotOnChainError(
    `the wallet ${keys.address} does not hold the token ${unit}: send the token there, or leave the agent registered`,
  );
}

/**
 * The identifier of the token that the tries of a mint or an update make. That of a mint follows from
 * the output that it spends; null: none was made.
 */
export function computeMintedIdentifier(
  { policyId, sourceType, seed, agentIdentifier }: RegistrationRow,
  purpose: RegistrationPurpose,
): string | null {
  if (purpose === "Update")
    return policyId + computeNextAssetName((agentIdentifier ?? "").slice(POLICY_ID_LENGTH));
  const [txHash = "", index] = seed?.split("#") ?? [];
  if (index === undefined) return null;
  return policyId + computeRegistryAssetName(sourceType, { txHash, index: Number(index) });
}
