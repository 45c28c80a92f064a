import { utf8ToBytes } from "@noble/hashes/utils.js";
import { expect } from "vitest";
import { ADMIN, STRANGER } from "../../../devnet/demo/actors/wallets.ts";
import { formatAddress, parseAddress } from "../../../src/chain/address.ts";
import { signCoseSign1 } from "../../../src/chain/cose.ts";
import type { WalletKeys } from "../../../src/chain/wallet-keys.ts";
import type { DisputeFixture } from "../../support/escrow/dispute-fixture.ts";
import { HOUR } from "../../support/escrow/quote-fixture.ts";
import { FORGED_FORMS, WALLET_FORMS } from "../../support/wallet-signatures.ts";

type Form = (typeof WALLET_FORMS)[number][1];
type Overrides = { keys?: WalletKeys; form?: Form } & Record<string, unknown>;

/** Asks whether an administrator wants to see a job's data. */
export function reveal(
  { fixture, blockchainIdentifier }: DisputeFixture,
  { keys = ADMIN.keys, form = (message, sign) => sign(message), ...overrides }: Overrides = {},
) {
  const validUntil = Date.now() + HOUR;
  const text = `{"action":"RevealData","blockchainIdentifier":"${blockchainIdentifier}","validUntil":${validUntil}}`;
  return fixture.ask("POST", "/signature/verify/reveal-data", {
    ...{ action: "RevealData", blockchainIdentifier, validUntil, walletAddress: ADMIN.address },
    ...form(utf8ToBytes(text), (payload) => signCoseSign1(payload, keys)),
    ...overrides,
  });
}

/** Expects that of a disputed job an administrator's payment key is believed, and nothing else. */
export async function expectRevealOnlyToAdministrators(disputed: DisputeFixture): Promise<void> {
  const valid = { status: 200, data: { isValid: true, problem: null } };
  expect(await reveal(disputed)).toMatchObject(valid);
  const moved = withStakeOf(ADMIN.address, STRANGER.address);
  expect(await reveal(disputed, { walletAddress: moved })).toMatchObject(valid);
  for (const [name, form] of WALLET_FORMS)
    expect(await reveal(disputed, { form }), name).toMatchObject(valid);
  for (const [name, form] of FORGED_FORMS)
    expect(await reveal(disputed, { form }), name).toMatchObject({ data: { isValid: false } });
  const unproven: [overrides: Overrides, problem: string][] = [
    [{ keys: STRANGER.keys }, "payment key"],
    [{ validUntil: Date.now() + 1000 }, "does not cover"],
    [{ signature: "84" }, "COSE_Sign1"],
    [{ signature: signCoseSign1(utf8ToBytes("no"), ADMIN.keys).signature }, "does not cover"],
  ];
  for (const [overrides, problem] of unproven)
    expect(await reveal(disputed, overrides)).toMatchObject({
      status: 200,
      data: { isValid: false, problem: expect.stringContaining(problem) },
    });
  const refused: [overrides: Overrides, message: string][] = [
    [{ walletAddress: STRANGER.address }, "walletAddress"],
    // A stranger's payment key with an administrator's stake key is a stranger's.
    [{ walletAddress: withStakeOf(STRANGER.address, ADMIN.address) }, "walletAddress"],
    [{ validUntil: Date.now() - 1 }, "expired"],
    [{ validUntil: Date.now() + 3 * HOUR }, "two hours"],
  ];
  for (const [overrides, message] of refused)
    expect(await reveal(disputed, overrides)).toMatchObject({
      status: 400,
      message: expect.stringContaining(message),
    });
}

/** The payment part of an address with the stake part of another one. */
function withStakeOf(address: string, other: string): string {
  const [mine, theirs] = [parseAddress(address), parseAddress(other)];
  if (!mine || !theirs?.stake) throw new Error("not base addresses");
  return formatAddress({ network: mine.network, payment: mine.payment, stake: theirs.stake });
}
