import { POLICY_ID_LENGTH } from "../ledger/transaction.ts";
import type { AssetAccount } from "../ledger/view.ts";
import { assetFingerprint } from "./fingerprint.ts";
import { onchainMetadata } from "./onchain-metadata.ts";
import { inRange, paged } from "./paging.ts";
import {
  BlockfrostError,
  type BlockfrostRequest,
  type Handler,
  notFound,
  param,
} from "./request.ts";
import { transactionRow } from "./shapes.ts";

export const assetHandlers: Record<string, Handler> = {
  "GET /assets/policy/{policy_id}": (request) => {
    const policy = param(request, "policy_id");
    if (!/^[0-9a-f]{56}$/.test(policy)) {
      throw new BlockfrostError(400, "Invalid or malformed policy format.");
    }
    const assets = [...request.view.assets].filter(([unit]) => unit.startsWith(policy));
    if (assets.length === 0) throw notFound();
    return paged(
      request,
      assets.map(([unit, asset]) => ({ asset: unit, quantity: String(supply(asset)) })),
    );
  },

  "GET /assets/{asset}": (request) => {
    const { unit, asset } = assetOf(request);
    const [first] = asset.mints;
    if (!first) throw new Error(`Asset ${unit} exists but was never minted`);
    return {
      asset: unit,
      policy_id: unit.slice(0, POLICY_ID_LENGTH),
      asset_name: unit.slice(POLICY_ID_LENGTH) || null,
      fingerprint: assetFingerprint(unit),
      quantity: String(supply(asset)),
      initial_mint_tx_hash: first.txHash,
      mint_or_burn_count: asset.mints.length,
      ...onchainMetadata(request.view, unit, asset),
      metadata: null,
    };
  },

  "GET /assets/{asset}/history": (request) =>
    paged(
      request,
      assetOf(request).asset.mints.map(({ txHash, quantity }) => ({
        tx_hash: txHash,
        action: quantity > 0n ? "minted" : "burned",
        amount: String(quantity > 0n ? quantity : -quantity),
      })),
    ),

  "GET /assets/{asset}/addresses": (request) => {
    const { unit, asset } = assetOf(request);
    const holders = new Map<string, bigint>();
    for (const { output } of asset.unspent.values()) {
      const held = output.amount.find((entry) => entry.unit === unit)?.quantity ?? 0n;
      holders.set(output.address, (holders.get(output.address) ?? 0n) + held);
    }
    return paged(
      request,
      [...holders].map(([address, quantity]) => ({ address, quantity: String(quantity) })),
    );
  },

  "GET /assets/{asset}/transactions": (request) =>
    paged(request, inRange(request, assetOf(request).asset.transactions)).map(transactionRow),
};

function assetOf(request: BlockfrostRequest): { unit: string; asset: AssetAccount } {
  const unit = param(request, "asset");
  if (!/^[0-9a-f]{56}(?:[0-9a-f]{2}){0,32}$/.test(unit)) {
    throw new BlockfrostError(400, "Invalid or malformed asset format.");
  }
  const asset = request.view.assets.get(unit);
  if (!asset) throw notFound();
  return { unit, asset };
}

function supply({ mints }: AssetAccount): bigint {
  return mints.reduce((sum, { quantity }) => sum + quantity, 0n);
}
