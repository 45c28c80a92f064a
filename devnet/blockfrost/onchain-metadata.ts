import { POLICY_ID_LENGTH } from "../ledger/transaction.ts";
import type { AssetAccount, LedgerView } from "../ledger/view.ts";

const CIP25_LABEL = "721";

/**
 * CIP-25: what label 721 of the last minting says of the asset. Version 1 names assets by their
 * UTF-8 text, version 2 by their hex (here `0x…`, as metadata bytes are shown).
 */
export function onchainMetadata(view: LedgerView, unit: string, asset: AssetAccount) {
  const minting = asset.mints.findLast(({ quantity }) => quantity > 0n);
  const metadata = minting && view.transactions.get(minting.txHash)?.tx.metadata;
  const document = metadata?.find(({ label }) => label === CIP25_LABEL)?.json;
  const policy = unit.slice(0, POLICY_ID_LENGTH);
  const name = unit.slice(POLICY_ID_LENGTH);
  const byText = member(member(document, policy), Buffer.from(name, "hex").toString("utf8"));
  const byHex = member(member(document, policy), name);
  const byBytes = member(member(document, `0x${policy}`), `0x${name}`);
  const [found, standard] =
    byBytes !== undefined ? [byBytes, "CIP25v2"] : [byText ?? byHex, "CIP25v1"];
  const isObject = typeof found === "object" && found !== null;
  return {
    onchain_metadata: isObject ? found : null,
    onchain_metadata_standard: isObject ? standard : null,
    onchain_metadata_extra: null,
  };
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
