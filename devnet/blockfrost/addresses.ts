import { hexToBytes } from "@noble/hashes/utils.js";
import { bech32 } from "@scure/base";
import { type ParsedAddress, parseAddress } from "../../src/chain/address.ts";
import type { Account } from "../ledger/view.ts";
import { inRange, paged } from "./paging.ts";
import {
  BlockfrostError,
  type BlockfrostRequest,
  type Handler,
  notFound,
  param,
} from "./request.ts";
import { amounts, totals, transactionRow, utxoRow } from "./shapes.ts";

export const addressHandlers: Record<string, Handler> = {
  "GET /addresses/{address}": (request) => {
    const address = param(request, "address");
    const { unspent } = account(request);
    const parts = parsed(address);
    const outputs = [...unspent.values()].map(({ output }) => output);
    return {
      address,
      amount: amounts(totals(outputs)),
      stake_address: stakeAddressOf(parts),
      type: "shelley",
      script: parts.payment.kind === "script",
    };
  },

  "GET /addresses/{address}/transactions": (request) =>
    paged(request, inRange(request, account(request).transactions)).map(transactionRow),

  "GET /addresses/{address}/utxos": (request) =>
    paged(request, [...account(request).unspent.values()]).map(utxoRow),

  "GET /addresses/{address}/utxos/{asset}": (request) => {
    const unit = param(request, "asset");
    const holding = [...account(request).unspent.values()].filter(({ output }) =>
      output.amount.some((entry) => entry.unit === unit),
    );
    return paged(request, holding).map(utxoRow);
  },

  "GET /accounts/{stake_address}/addresses/assets": (request) => {
    const stakeAddress = param(request, "stake_address");
    if (bech32.decodeUnsafe(stakeAddress)?.prefix !== "stake_test") {
      throw new BlockfrostError(400, "Invalid or malformed stake address format.");
    }
    const members = [...request.view.addresses].filter(
      ([address]) => stakeAddressOf(parsed(address)) === stakeAddress,
    );
    if (members.length === 0) throw notFound();
    const outputs = members.flatMap(([, { unspent }]) => [...unspent.values()]);
    const held = totals(outputs.map(({ output }) => output));
    return paged(request, amounts(held.filter(({ unit }) => unit !== "lovelace")));
  },
};

/** What is known of the path's address; the real service says 404 for one that was never used. */
function account(request: BlockfrostRequest): Account {
  const address = param(request, "address");
  parsed(address);
  const known = request.view.addresses.get(address);
  if (!known) throw notFound();
  return known;
}

function parsed(address: string): ParsedAddress {
  const parts = parseAddress(address);
  if (parts?.network !== "Preprod") {
    throw new BlockfrostError(400, "Invalid address for this network or malformed address format.");
  }
  return parts;
}

/** CIP-19: the reward address of the stake credential; `null` for an address without one. */
function stakeAddressOf({ stake }: ParsedAddress): string | null {
  if (!stake) return null;
  const header = stake.kind === "key" ? 0xe0 : 0xf0;
  return bech32.encodeFromBytes("stake_test", Uint8Array.of(header, ...hexToBytes(stake.hash)));
}
