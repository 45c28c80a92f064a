import { toFacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import {
  createPublicClient,
  createWalletClient,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  http,
  parseAbi,
  publicActions,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { beforeAll, describe, expect, it } from "vitest";
import { call, emptyTables } from "../support/app.ts";
import { api, type Payload, Rail } from "./rail.ts";

/** One payment, the terms it is held against, and what it is spoiled by. */
interface Case {
  payload: Payload;
  requirements: Payload["accepted"];
}

const AMOUNT = "10000";
const OTHER = `0x${"12".repeat(20)}`;

let rail: Rail;
let oracle: ExactEvmScheme;
let base: Record<"eip3009" | "permit2", Case>;
let buyer: Awaited<ReturnType<Rail["buyer"]>>;
let source: Awaited<ReturnType<Rail["source"]>>;

beforeAll(async () => {
  await emptyTables();
  rail = await Rail.create("84532-differential");
  source = await rail.source({ amount: AMOUNT });
  buyer = await rail.buyer();
  base = { eip3009: await fresh("eip3009"), permit2: await fresh("permit2") };
  oracle = await sdkFacilitator();
});

async function fresh(method: "eip3009" | "permit2", by = buyer): Promise<Case> {
  const payload = await rail.payment(by, source, method);
  return { payload, requirements: source.requirements };
}

/** The SDK's own facilitator, with a wallet of its own, on the same node. */
async function sdkFacilitator(): Promise<ExactEvmScheme> {
  const account = privateKeyToAccount(generatePrivateKey());
  await rail.fund(account.address);
  const chain = {
    id: rail.contracts.chainId,
    name: "local",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [rail.url] } },
  };
  const client = createWalletClient({ account, chain, transport: http(rail.url) }).extend(
    publicActions,
  );
  const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never);
  return new ExactEvmScheme(signer, { eip6492AllowedFactories: [rail.contracts.walletFactory] });
}

async function verdicts({ payload, requirements }: Case) {
  const theirs = await oracle
    .verify(payload as never, requirements as never)
    .then(({ isValid, invalidReason }) => ({ isValid, reason: invalidReason ?? null }))
    .catch((error: unknown) => ({
      isValid: false,
      reason: `throws ${String(error).slice(0, 40)}`,
    }));
  const body = { x402Version: 2, paymentPayload: payload, paymentRequirements: requirements };
  const ours = await facilitatorVerify(body);
  return { theirs, ours: { isValid: ours.isValid, reason: ours.invalidReason ?? null } };
}

async function facilitatorVerify(body: unknown) {
  const init = { method: "POST", body: JSON.stringify(body) };
  const answer = await call("/api/v1/x402/facilitator/verify", init);
  return (await answer.json()) as { isValid: boolean; invalidReason?: string };
}

type Spoil = (value: Case) => Case | Promise<Case>;

/** Changes what the payer signed, so that the signature no longer fits. */
const signed =
  (changes: Record<string, unknown>): Spoil =>
  ({ payload, requirements }) => {
    const key = "authorization" in payload.payload ? "authorization" : "permit2Authorization";
    const inner = { ...(payload.payload[key] as object), ...changes };
    return { requirements, payload: { ...payload, payload: { ...payload.payload, [key]: inner } } };
  };
const terms =
  (changes: Record<string, unknown>): Spoil =>
  ({ payload, requirements }) => ({ payload, requirements: { ...requirements, ...changes } });
const agreed =
  (changes: Record<string, unknown>): Spoil =>
  ({ payload, requirements }) => ({
    payload: { ...payload, accepted: { ...payload.accepted, ...changes } },
    requirements,
  });
const signature =
  (change: (hex: string) => string): Spoil =>
  ({ payload, requirements }) => ({
    payload: {
      ...payload,
      payload: { ...payload.payload, signature: change(String(payload.payload.signature)) },
    },
    requirements,
  });
/** A payment that was really signed for other terms than those it is held against. */
const signedFor =
  (method: "eip3009" | "permit2", changes: Record<string, unknown>): Spoil =>
  async ({ requirements }) => {
    const other = { ...source, requirements: { ...source.requirements, ...changes } };
    const payload = await rail.payment(buyer, other, method);
    return { payload: { ...payload, accepted: source.requirements }, requirements };
  };

const now = () => Math.floor(Date.now() / 1000);
const flip = (hex: string) => `${hex.slice(0, 20)}${hex[20] === "0" ? "1" : "0"}${hex.slice(21)}`;
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
  const text = JSON.stringify(value)
    .replaceAll('"payTo":"payTo"', `"payTo":"${source.payTo}"`)
    .replaceAll('"to":"payTo"', `"to":"${source.payTo}"`)
    .replaceAll('"token":"token"', `"token":"${rail.contracts.token}"`);
  return JSON.parse(text) as Case;
}

describe.each([
  ["eip3009" as const, EIP3009],
  ["permit2" as const, PERMIT2],
])("%s: the SDK's facilitator and ours agree on", (method, mutations) => {
  it.each(mutations)("%s", async (_, spoil) => {
    const { theirs, ours } = await verdicts(resolved(await spoil(base[method])));
    expect(ours).toEqual(theirs);
  });

  it("a payer without tokens", async () => {
    const { theirs, ours } = await verdicts(await fresh(method, await rail.buyer(1n)));
    expect(ours).toEqual(theirs);
  });

  it("an authorization that was used", async () => {
    const used = await fresh(method);
    await api("/x402/settle", {
      supportedPaymentSourceId: source.id,
      paymentPayload: used.payload,
    });
    const { theirs, ours } = await verdicts(used);
    expect(ours).toEqual(theirs);
  });

  it.each([
    ["a signature by its owner", true],
    ["a signature by somebody else", false],
  ])("a deployed contract wallet with %s", async (_, byOwner) => {
    const { theirs, ours } = await verdicts(await ofWallet(method, "deployed", byOwner));
    expect(ours).toEqual(theirs);
    expect(ours.isValid).toBe(byOwner);
  });
});

describe("eip3009: the SDK's facilitator and ours agree on", () => {
  it("a wallet that is not deployed yet, of a factory that is allowed", async () => {
    const { theirs, ours } = await verdicts(await ofWallet("eip3009", "counterfactual", true));
    expect(ours).toEqual(theirs);
    expect(ours.isValid).toBe(true);
  });

  it("a wallet that is not deployed yet, signed by somebody else", async () => {
    const { theirs, ours } = await verdicts(await ofWallet("eip3009", "counterfactual", false));
    expect(ours).toEqual(theirs);
  });

  it("a wallet that is not deployed yet, of a factory that is not allowed", async () => {
    const { theirs, ours } = await verdicts(await ofWallet("eip3009", "stranger", true));
    expect(ours).toEqual(theirs);
    expect(ours.reason).toBe("eip6492_factory_not_allowed");
  });

  it("a token without EIP-3009", async () => {
    const asset = rail.contracts.walletFactory.toLowerCase();
    const other = { ...source, requirements: { ...source.requirements, asset } };
    const payload = await rail.payment(buyer, other);
    const { theirs, ours } = await verdicts({ payload, requirements: other.requirements });
    expect(ours).toEqual(theirs);
  });
});

const factoryAbi = parseAbi([
  "function addressOf(address owner) view returns (address)",
  "function deploy(address owner) returns (address)",
]);

/** A payment of a wallet that is a contract. */
async function ofWallet(
  method: "eip3009" | "permit2",
  kind: "deployed" | "counterfactual" | "stranger",
  byOwner: boolean,
): Promise<Case> {
  const owner = await rail.buyer();
  const client = createPublicClient({ transport: http(rail.url) });
  const address = rail.contracts.walletFactory;
  const call = { address, abi: factoryAbi, args: [owner.address] as const };
  const wallet = await client.readContract({ ...call, functionName: "addressOf" });
  await rail.mint(rail.contracts.token, wallet, 1_000_000n);
  const deploy = encodeFunctionData({ ...call, functionName: "deploy" });
  if (kind === "deployed") await rail.transact(owner.address, address, deploy);
  if (method === "permit2") await rail.approvePermit2(wallet);
  const signer = byOwner ? owner : await rail.buyer();
  const payload = await rail.payment(signer, source, method, wallet);
  if (kind === "deployed") return { payload, requirements: source.requirements };
  const factory = kind === "stranger" ? (OTHER as Hex) : address;
  const wrapped = encodeAbiParameters(
    [{ type: "address" }, { type: "bytes" }, { type: "bytes" }],
    [factory, deploy, payload.payload.signature as Hex],
  );
  const magic = "6492".repeat(16);
  return {
    payload: { ...payload, payload: { ...payload.payload, signature: `${wrapped}${magic}` } },
    requirements: source.requirements,
  };
}

/**
 * Where the SDK throws, which reaches a resource server as an HTTP error without a reason, ours
 * answers with one. And where it would accept what the chain may not, or the other way about.
 */
describe("ours differs from the SDK's, on purpose, where", () => {
  it.each<[string, string, Spoil]>([
    ["a value is no number", "invalid_payload", signed({ value: "ten" })],
    ["a nonce is no 32 bytes", "invalid_payload", signed({ nonce: "0x12" })],
    ["a payer is no address", "invalid_payload", signed({ from: "0x12" })],
    ["an amount is no number", "invalid_payment_requirements", terms({ amount: "ten" })],
    ["an amount is a fraction", "invalid_payment_requirements", terms({ amount: "1.5" })],
    ["a token is no address", "invalid_payment_requirements", terms({ asset: "0x12" })],
    ["a payee is no address", "invalid_payment_requirements", terms({ payTo: "0x12" })],
    [
      "a payee is the zero address",
      "invalid_payment_requirements",
      terms({ payTo: `0x${"0".repeat(40)}` }),
    ],
    ["the scheme is another", "unsupported_scheme", terms({ scheme: "upto" })],
    ["the chain is no EVM chain", "invalid_network", terms({ network: "solana:mainnet" })],
    [
      "a payload has neither authorization",
      "invalid_payload",
      ({ requirements, payload }) => ({
        requirements,
        payload: { ...payload, payload: { signature: "0x12" } },
      }),
    ],
    [
      "a version is another",
      "invalid_x402_version",
      ({ requirements, payload }) => ({ requirements, payload: { ...payload, x402Version: 1 } }),
    ],
  ])("%s: %s", async (_, reason, spoil) => {
    const { ours, theirs } = await verdicts(await spoil(base.eip3009));
    expect(ours).toEqual({ isValid: false, reason });
    expect(theirs).not.toEqual(ours);
  });
});
