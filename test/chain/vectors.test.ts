import { describe, expect, it } from "vitest";
import { parseAddress } from "../../src/chain/address.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";
import VECTORS from "../vectors/chain.json" with { type: "json" };
import { checkSharedVectors } from "./check-shared-vectors.ts";
import { checkDatums, checkIdentifiers, checkRedeemers, checkSlots } from "./check-vectors.ts";

describe("our vectors", () => {
  checkIdentifiers(VECTORS.blockchainIdentifiers, VECTORS.contracts.V1);
  checkDatums(VECTORS.datums, VECTORS.contracts);
  checkRedeemers(VECTORS.redeemers);
  checkSlots(VECTORS.slots);

  it.each(VECTORS.wallets)(
    "the words of $address are its keys' words",
    async ({ mnemonic, address }) => {
      expect((await deriveWalletKeys(mnemonic, "Preprod")).address).toBe(address);
    },
  );

  it.each(VECTORS.addresses)("$bech32 is taken apart", (address) => {
    expect(parseAddress(address.bech32)).toEqual(address);
  });
});

checkSharedVectors();
