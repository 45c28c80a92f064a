import { beforeAll, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { facilitate } from "../facilitator.ts";
import { signUpto, UPTO_PROXY } from "../sign-upto.ts";
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
} from "../verify/differential.ts";
import { walletOf } from "../verify/smart-wallet.ts";

const EXACT_PROXY = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";

let judges: Judges;
let base: Case;

beforeAll(async () => {
  await emptyTables();
  judges = await Judges.open("84532-upto-differential");
  base = await judges.freshUpto();
});

/** Changes what the payer signed as the witness. */
const witness =
  (changes: Record<string, unknown>): Spoil =>
  (value) => {
    const permit = value.payload.payload.permit2Authorization as { witness: object };
    return signed({ witness: { ...permit.witness, ...changes } })(value);
  };

/** A payment that was really signed for other terms than those it is held against. */
const signedFor =
  (changes: Record<string, unknown>): Spoil =>
  async ({ payload, requirements }) => {
    const other = { ...requirements, ...changes };
    const signedOther = await signUpto(judges.buyer.key, other);
    return { payload: { ...payload, payload: signedOther }, requirements };
  };

const without =
  (...names: string[]): Spoil =>
  (value) =>
    signed(Object.fromEntries(names.map((name) => [name, undefined])))(value);

const MUTATIONS: [string, Spoil][] = [
  ["nothing", (value) => value],
  ["exact accepted", agreed({ scheme: "exact" })],
  ["another scheme accepted", agreed({ scheme: "other" })],
  ["another network accepted", agreed({ network: "eip155:1" })],
  ["a maximum above", terms({ amount: "10001" })],
  ["a maximum below", terms({ amount: "9999" })],
  ["another payee", terms({ payTo: OTHER })],
  ["another token", terms({ asset: OTHER })],
  ["another token accepted", agreed({ asset: OTHER })],
  ["another amount accepted", agreed({ amount: "1" })],
  ["another payee accepted", agreed({ payTo: OTHER })],
  ["another timeout accepted", agreed({ maxTimeoutSeconds: 1 })],
  ["no extra", terms({ extra: {} })],
  ["a signer who is not the payer", signed({ from: OTHER })],
  ["a flipped bit of the signature", signature(flip)],
  ["a signature cut short", signature((hex) => hex.slice(0, -2))],
  ["a signature made longer", signature((hex) => `${hex}00`)],
  ["no signature at all", signature(() => "0x")],
  ["a signature of zeros", signature(() => `0x${"00".repeat(65)}`)],
  ["a signature with v of 29", signature((hex) => `${hex.slice(0, -2)}1d`)],
  ["a signature in upper case", signature((hex) => `0x${hex.slice(2).toUpperCase()}`)],
  ["the spender of exact", signed({ spender: EXACT_PROXY })],
  ["another spender", signed({ spender: OTHER })],
  ["a spender in lower case", signed({ spender: UPTO_PROXY.toLowerCase() })],
  ["another payee signed", witness({ to: OTHER })],
  ["another facilitator", witness({ facilitator: OTHER })],
  ["the zero address as facilitator", witness({ facilitator: `0x${"0".repeat(40)}` })],
  [
    "a facilitator that is another, really signed",
    signedFor({ extra: { facilitatorAddress: OTHER } }),
  ],
  ["a begin in the future", witness({ validAfter: "99999999999" })],
  ["a begin in the past", witness({ validAfter: "1" })],
  ["an end in the past", signed({ deadline: "1" })],
  ["an end that comes too soon", signed({ deadline: String(now() + 3) })],
  ["a later end", signed({ deadline: String(now() + 1000) })],
  ["a changed nonce", signed({ nonce: "7" })],
  ["a changed amount", signed({ permitted: { token: OTHER, amount: "10001" } })],
  ["a changed token", signed({ permitted: { token: OTHER, amount: AMOUNT } })],
  ["a signature for another payee", signedFor({ payTo: OTHER })],
  ["a signature for more", signedFor({ amount: "10001" })],
  ["a signature for less", signedFor({ amount: "9999" })],
  ["a signature that ends at once", signedFor({ maxTimeoutSeconds: 3 })],
  ["a signature for another token", signedFor({ asset: OTHER })],
  ["a signature for another chain", signedFor({ network: "eip155:1" })],
  ["no payer", without("from")],
  ["no spender", without("spender")],
  ["no nonce", without("nonce")],
  ["no end", without("deadline")],
  ["nothing permitted", without("permitted")],
  ["no witness", without("witness")],
  ["no facilitator", witness({ facilitator: undefined })],
  ["no payee signed", witness({ to: undefined })],
  ["no begin", witness({ validAfter: undefined })],
  ["a number as nonce", signed({ nonce: 7 })],
  ["a number as facilitator", witness({ facilitator: 7 })],
  [
    "no signature field",
    ({ payload, requirements }) => {
      const { signature: _, ...inner } = payload.payload;
      return { payload: { ...payload, payload: inner }, requirements };
    },
  ],
  [
    "an empty payload",
    ({ payload, requirements }) => ({ payload: { ...payload, payload: {} }, requirements }),
  ],
  [
    "a nonce in hex",
    (value) => {
      const { nonce } = value.payload.payload.permit2Authorization as { nonce: string };
      return signed({ nonce: `0x${BigInt(nonce).toString(16)}` })(value);
    },
  ],
];

/** What a field may have in place of its text. */
const OTHER_TYPES = { null: null, "an object": {}, "a list": ["1"] };

/** Each field of what the payer signs, with another value. */
const replaceEach = (what: string, value: unknown): [string, Spoil][] => [
  ...["from", "spender", "nonce", "deadline"].map((name): [string, Spoil] => [
    `${what} as ${name}`,
    signed({ [name]: value }),
  ]),
  ...["to", "facilitator", "validAfter"].map((name): [string, Spoil] => [
    `${what} as ${name} of the witness`,
    witness({ [name]: value }),
  ]),
];

const RETYPED = Object.entries(OTHER_TYPES).flatMap(([what, value]): [string, Spoil][] => [
  ...replaceEach(what, value),
  [`${what} as permitted`, signed({ permitted: value })],
  [`${what} as the witness`, signed({ witness: value })],
]);

async function verdictOfBoth(value: Case) {
  const { theirs, ours } = await judges.verdicts(value);
  expect(ours).toEqual(theirs);
  return ours;
}

describe("upto: the SDK's facilitator and ours agree on", () => {
  it.each([...MUTATIONS, ...RETYPED])("%s", async (_, spoil) => {
    await verdictOfBoth(await spoil(base));
  });

  it("a payment that nothing is wrong with", async () => {
    expect(await verdictOfBoth(base)).toEqual({ isValid: true, reason: null });
  });

  it("a payer without tokens", async () => {
    const value = await judges.freshUpto(await judges.x402.buyer(1n));
    const reason = "permit2_insufficient_balance";
    expect(await verdictOfBoth(value)).toEqual({ isValid: false, reason });
  });

  it("an authorization that was used", async () => {
    const used = await judges.freshUpto();
    const charge = { ...used.requirements, amount: "1" };
    expect((await facilitate("settle", used.payload, charge)).body.success).toBe(true);
    const reason = "permit2_simulation_failed";
    expect(await verdictOfBoth(used)).toEqual({ isValid: false, reason });
  });

  it.each([
    ["a signature by its owner", true],
    ["a signature by somebody else", false],
  ])("a deployed contract wallet with %s", async (_, byOwner) => {
    const { x402, uptoSource } = judges;
    const owner = await x402.buyer();
    const wallet = await walletOf(x402, owner);
    await x402.transact(owner.address, wallet.factory, wallet.deployment);
    await x402.approvePermit2(wallet.address);
    const signer = byOwner ? owner : await x402.buyer();
    const payload = await x402.payment(signer, uptoSource, "permit2", wallet.address);
    await x402.mint(x402.contracts.token, wallet.address, 10_000n);
    const { isValid } = await verdictOfBoth({ payload, requirements: uptoSource.requirements });
    expect(isValid).toBe(byOwner);
  });
});

describe("upto: ours differs from the SDK's, on purpose, where", () => {
  it.each<[string, string, Spoil]>([
    ["a nonce is no number", "invalid_payload", signed({ nonce: "ten" })],
    ["a payer is no address", "invalid_payload", signed({ from: "0x12" })],
    ["a facilitator is no address", "invalid_payload", witness({ facilitator: "0x12" })],
    ["a maximum is 0", "invalid_payment_requirements", terms({ amount: "0" })],
    ["an amount is no number", "invalid_payment_requirements", terms({ amount: "ten" })],
    ["a payee is no address", "invalid_payment_requirements", terms({ payTo: "0x12" })],
    ...replaceEach("an empty text", "").map(([what, spoil]): [string, string, Spoil] => [
      `there is ${what}`,
      "invalid_payload",
      spoil,
    ]),
  ])("%s: %s", async (_, reason, spoil) => {
    const { ours, theirs } = await judges.verdicts(await spoil(base));
    expect(ours).toEqual({ isValid: false, reason });
    expect(theirs).not.toEqual(ours);
  });
});
