import type { Hex } from "viem";
import { beforeAll, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { VERSIONS, type Version } from "../version-1.ts";
import { settle } from "../x402-fixture.ts";
import {
  AMOUNT,
  agreed,
  type Case,
  flip,
  Judges,
  now,
  OTHER,
  type Spoil,
  signature,
  signed,
  terms,
} from "./differential.ts";
import { walletOf, withDeployment } from "./smart-wallet.ts";

type Method = "eip3009" | "permit2";

let judges: Judges;
let base: Record<Method, Case>;

beforeAll(async () => {
  await emptyTables();
  judges = await Judges.open("84532-differential");
  base = { eip3009: await judges.fresh("eip3009"), permit2: await judges.fresh("permit2") };
});

/** A payment that was really signed for other terms than those it is held against. */
const signedFor =
  (method: Method, changes: Record<string, unknown>): Spoil =>
  (value) =>
    judges.signedFor(method, changes)(value);

const highS = (hex: string) => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = (order - BigInt(`0x${hex.slice(66, 130)}`)).toString(16).padStart(64, "0");
  return `${hex.slice(0, 66)}${s}${hex.slice(130) === "1b" ? "1c" : "1b"}`;
};

/** Mutations that both methods know. */
const COMMON: [string, Spoil][] = [
  ["nothing", (value) => value],
  ["another scheme accepted", agreed({ scheme: "upto" })],
  ["another network accepted", agreed({ network: "eip155:1" })],
  ["an amount above", terms({ amount: "10001" })],
  ["an amount below", terms({ amount: "9999" })],
  ["another payee", terms({ payTo: OTHER })],
  ["another token", terms({ asset: OTHER })],
  ["another token accepted", agreed({ asset: OTHER })],
  ["another amount accepted", agreed({ amount: "1" })],
  ["another payee accepted", agreed({ payTo: OTHER })],
  ["another timeout accepted", agreed({ maxTimeoutSeconds: 1 })],
  ["a signer who is not the payer", signed({ from: OTHER })],
  ["a flipped bit of the signature", signature(flip)],
  ["a signature cut short", signature((hex) => hex.slice(0, -2))],
  ["a signature made longer", signature((hex) => `${hex}00`)],
  ["no signature at all", signature(() => "0x")],
  ["a signature of zeros", signature(() => `0x${"00".repeat(65)}`)],
  ["a signature with v of 29", signature((hex) => `${hex.slice(0, -2)}1d`)],
  ["a signature in upper case", signature((hex) => `0x${hex.slice(2).toUpperCase()}`)],
];

const EIP3009: [string, Spoil][] = [
  ...COMMON,
  ["no domain", terms({ extra: {} })],
  ["no domain name", terms({ extra: { version: "1" } })],
  ["no domain version", terms({ extra: { name: "Test Dollar" } })],
  ["a wrong domain name", terms({ extra: { name: "Other Dollar", version: "1" } })],
  ["a wrong domain version", terms({ extra: { name: "Test Dollar", version: "2" } })],
  ["a changed payee", signed({ to: OTHER })],
  ["a changed value", signed({ value: "10001" })],
  ["a changed nonce", signed({ nonce: `0x${"ab".repeat(32)}` })],
  ["a changed begin", signed({ validAfter: "1" })],
  ["a changed end", signed({ validBefore: String(now() + 1000) })],
  ["a signature for another payee", signedFor("eip3009", { payTo: OTHER })],
  ["a signature for more", signedFor("eip3009", { amount: "10001" })],
  ["a signature for less", signedFor("eip3009", { amount: "9999" })],
  ["a signature that ends at once", signedFor("eip3009", { maxTimeoutSeconds: 3 })],
  ["a signature for another token", signedFor("eip3009", { asset: OTHER })],
  ["a signature for another chain", signedFor("eip3009", { network: "eip155:1" })],
  ["zeros before the value", signed({ value: "0010000" })],
  ["the larger of the two values of s", signature(highS)],
];

const PERMIT2: [string, Spoil][] = [
  ...COMMON,
  ["another spender", signed({ spender: OTHER })],
  ["another witness", signed({ witness: { to: OTHER, validAfter: "0" } })],
  ["a begin in the future", signed({ witness: { to: "payTo", validAfter: "99999999999" } })],
  ["an end in the past", signed({ deadline: "1" })],
  ["an end that comes too soon", signed({ deadline: String(now() + 3) })],
  ["a changed nonce", signed({ nonce: "7" })],
  ["a changed amount", signed({ permitted: { token: "token", amount: "10001" } })],
  ["a changed token", signed({ permitted: { token: OTHER, amount: AMOUNT } })],
  ["a signature for another payee", signedFor("permit2", { payTo: OTHER })],
  ["a signature for more", signedFor("permit2", { amount: "10001" })],
  ["a signature that ends at once", signedFor("permit2", { maxTimeoutSeconds: 3 })],
  ["a signature for another chain", signedFor("permit2", { network: "eip155:1" })],
];

/** Names in a mutation that stand for what only the running test knows. */
function resolved(value: Case): Case {
  const { x402, source } = judges;
  const text = JSON.stringify(value)
    .replaceAll('"payTo":"payTo"', `"payTo":"${source.payTo}"`)
    .replaceAll('"to":"payTo"', `"to":"${source.payTo}"`)
    .replaceAll('"token":"token"', `"token":"${x402.contracts.token}"`);
  return JSON.parse(text) as Case;
}

/** Both judges say the same, and what that is. */
async function verdictOfBoth(value: Case, version: Version = 2) {
  const { theirs, ours } = await judges.verdicts(value, version);
  expect(ours).toEqual(theirs);
  return ours;
}

/** A payment of a contract wallet, signed by its owner or by a stranger. */
async function ofWallet(method: Method, isDeployed: boolean, byOwner: boolean, factory?: Hex) {
  const { x402, source } = judges;
  const owner = await x402.buyer();
  const wallet = await walletOf(x402, owner);
  if (isDeployed) await x402.transact(owner.address, wallet.factory, wallet.deployment);
  if (method === "permit2") await x402.approvePermit2(wallet.address);
  const signer = byOwner ? owner : await x402.buyer();
  const payment = await x402.payment(signer, source, method, wallet.address);
  const deployment = { ...wallet, ...(factory && { factory }) };
  const payload = isDeployed ? payment : withDeployment(payment, deployment);
  return { payload, requirements: source.requirements };
}

describe.each([
  ["eip3009" as const, 2 as const, EIP3009],
  ["permit2" as const, 2 as const, PERMIT2],
  ["eip3009" as const, 1 as const, EIP3009],
])("%s in version %i: the SDK's facilitator and ours agree on", (method, version, mutations) => {
  it.each(mutations)("%s", async (_, spoil) => {
    await verdictOfBoth(resolved(await spoil(base[method])), version);
  });

  it("a payer without tokens", async () => {
    const poor = await judges.x402.buyer(1n);
    const value = await judges.fresh(method, poor);
    expect(await verdictOfBoth(value, version)).toMatchObject({ isValid: false });
  });

  it("an authorization that was used", async () => {
    const used = await judges.fresh(method);
    expect((await settle(judges.source, used.payload)).data.settleResponse.success).toBe(true);
    expect(await verdictOfBoth(used, version)).toMatchObject({ isValid: false });
  });

  it.each([
    ["a signature by its owner", true],
    ["a signature by somebody else", false],
  ])("a deployed contract wallet with %s", async (_, byOwner) => {
    const { isValid } = await verdictOfBoth(await ofWallet(method, true, byOwner), version);
    expect(isValid).toBe(byOwner);
  });
});

describe.each(VERSIONS)(
  "eip3009 in version %i: the SDK's facilitator and ours agree on",
  (version) => {
    it.each([
      ["", true],
      [", signed by somebody else", false],
    ])("a wallet that is not deployed yet, of a factory that is allowed%s", async (_, byOwner) => {
      const { isValid } = await verdictOfBoth(await ofWallet("eip3009", false, byOwner), version);
      expect(isValid).toBe(byOwner);
    });

    it("a wallet that is not deployed yet, of a factory that is not allowed", async () => {
      const value = await ofWallet("eip3009", false, true, OTHER);
      expect(await verdictOfBoth(value, version)).toEqual({
        isValid: false,
        reason: "eip6492_factory_not_allowed",
      });
    });

    it("a token without EIP-3009", async () => {
      const { x402, source, buyer } = judges;
      const asset = x402.contracts.walletFactory.toLowerCase();
      const requirements = { ...source.requirements, asset };
      const payload = await x402.payment(buyer, { ...source, requirements });
      const verdict = await verdictOfBoth({ payload, requirements }, version);
      expect(verdict).toMatchObject({ isValid: false });
    });
  },
);
