import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { formatAddress, parseAddress } from "../../../src/chain/address.ts";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { storedSources } from "../../support/sources/api.ts";
import { ContractFixture } from "../../support/sources/contract-fixture.ts";

let fixture: ContractFixture;

beforeAll(async () => {
  fixture = await ContractFixture.open();
});

beforeEach(emptyTables);

async function expectNothingStored(): Promise<void> {
  expect(await storedSources()).toBe("[[],[],[],[],[]]");
}

/** An address with parts of an actor's. */
function addressWith(name: string, parts: "script" | "no stake key" | "stake script"): string {
  const parsed = parseAddress(fixture.wallet(name).address);
  if (!parsed) throw new Error("an actor has an address");
  const { network, payment, stake } = parsed;
  if (parts === "script")
    return formatAddress({ network, payment: { ...payment, kind: "script" }, stake });
  if (parts === "no stake key") return formatAddress({ network, payment, stake: null });
  return formatAddress({ network, payment, stake: stake && { ...stake, kind: "script" } });
}

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
const MAINNET = "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzerspjrlsz";

describe("POST /payment-source-extended without a contract 400", () => {
  it.each<[typeof V1 | typeof V2, string, () => object, string]>([
    [
      V1,
      "an address without a policy",
      () => ({ smartContractAddress: fixture.api.contract().address }),
      "policyId: is required with smartContractAddress",
    ],
    [
      V1,
      "a policy without an address",
      () => ({ policyId: fixture.api.contract().policyId }),
      "smartContractAddress: is required with policyId",
    ],
    [
      V1,
      "two admins",
      () => ({ AdminWallets: fixture.admins("admin", "seller-0") }),
      "AdminWallets: must have 3 items on Web3ChainV1 without a smartContractAddress",
    ],
    [
      V1,
      "four admins",
      () => ({ AdminWallets: fixture.admins("admin", "seller-0", "seller-1", "seller-2") }),
      "AdminWallets: must have 3 items on Web3ChainV1 without a smartContractAddress",
    ],
    [
      V1,
      "no fee receiver",
      () => ({ FeeReceiverNetworkWallet: null }),
      "FeeReceiverNetworkWallet: is required on Web3ChainV1 without a smartContractAddress",
    ],
    [
      V1,
      "one signature",
      () => ({ requiredAdminSignatures: 1 }),
      "requiredAdminSignatures: must be 2 or null on Web3ChainV1 without a smartContractAddress",
    ],
    [
      V1,
      "three signatures",
      () => ({ requiredAdminSignatures: 3 }),
      "requiredAdminSignatures: must be 2 or null on Web3ChainV1 without a smartContractAddress",
    ],
    [V1, "no rate", () => ({ feeRatePermille: undefined }), "feeRatePermille: is required"],
    [
      V1,
      "a receiver without a stake key",
      () => ({ FeeReceiverNetworkWallet: { walletAddress: addressWith("admin", "no stake key") } }),
      "FeeReceiverNetworkWallet.walletAddress: must have a payment key and a stake key",
    ],
    [
      V1,
      "a receiver with a script for a stake key",
      () => ({ FeeReceiverNetworkWallet: { walletAddress: addressWith("admin", "stake script") } }),
      "FeeReceiverNetworkWallet.walletAddress: must have a payment key and a stake key",
    ],
    [
      V1,
      "a contract as receiver",
      () => ({ FeeReceiverNetworkWallet: { walletAddress: addressWith("admin", "script") } }),
      "FeeReceiverNetworkWallet.walletAddress: must have a payment key and a stake key",
    ],
    [
      V1,
      "a receiver of another network",
      () => ({ FeeReceiverNetworkWallet: { walletAddress: MAINNET } }),
      "FeeReceiverNetworkWallet.walletAddress: must be an address on Preprod",
    ],
    [
      V2,
      "a rate",
      () => ({ feeRatePermille: 1 }),
      "feeRatePermille: must be 0 on Web3ChainV2 without a smartContractAddress",
    ],
    [
      V2,
      "a fee receiver",
      () => ({ FeeReceiverNetworkWallet: { walletAddress: fixture.wallet("admin").address } }),
      "FeeReceiverNetworkWallet: must be null on Web3ChainV2 without a smartContractAddress",
    ],
    [
      V2,
      "no number of signatures",
      () => ({ requiredAdminSignatures: null }),
      "requiredAdminSignatures: is required on Web3ChainV2 without a smartContractAddress",
    ],
    [
      V2,
      "more signatures than admins",
      () => ({ requiredAdminSignatures: 4 }),
      "requiredAdminSignatures: must be at most the number of AdminWallets",
    ],
    [
      V2,
      "a contract as admin",
      () => ({
        AdminWallets: [
          ...fixture.admins("admin"),
          { walletAddress: addressWith("seller-0", "script") },
        ],
      }),
      "AdminWallets[1].walletAddress: must have a payment key",
    ],
    [
      V2,
      "an admin of another network",
      () => ({ AdminWallets: [...fixture.admins("admin"), { walletAddress: MAINNET }] }),
      "AdminWallets[1].walletAddress: must be an address on Preprod",
    ],
    [
      V2,
      "several mistakes",
      () => ({ feeRatePermille: 1, requiredAdminSignatures: null }),
      "feeRatePermille: must be 0 on Web3ChainV2 without a smartContractAddress; requiredAdminSignatures: is required on Web3ChainV2 without a smartContractAddress",
    ],
    [
      V2,
      "a transaction to begin after, of a contract that has none",
      () => ({ lastIdentifierChecked: fixture.api.lockHash }),
      "lastIdentifierChecked: must be the hash of a transaction of this contract",
    ],
  ])("%s with %s", async (type, _, overrides, message) => {
    expect(await fixture.derive(type, overrides())).toMatchObject({ status: 400, message });
    await expectNothingStored();
  });
});

describe("POST /payment-source-extended without a contract 409", () => {
  it.each([
    ["LOOPBACK_ORIGINS", { CONTRACT_TEMPLATES: "" }],
    ["CONTRACT_TEMPLATES", { LOOPBACK_ORIGINS: "" }],
    ["CHAIN_CLOCK", { LOOPBACK_ORIGINS: "", CONTRACT_TEMPLATES: "", CHAIN_CLOCK: "tip" }],
  ])("on Mainnet while %s is set", async (variable, bindings) => {
    const answer = await fixture.derive(V2, { network: "Mainnet" }, { env: bindings });
    expect(answer).toMatchObject({
      status: 409,
      message: `network: must not be Mainnet while ${variable} is set`,
    });
    await expectNothingStored();
  });
});

describe("POST /payment-source-extended without a contract 502", () => {
  beforeEach(() => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    return async () => {
      vi.restoreAllMocks();
      await fixture.api.chain.faults();
      await expectNothingStored();
    };
  });

  it.each([V1, V2] as const)("when the chain does not have the script: %s", async (type) => {
    const chain = await TestChain.create();
    const answer = await fixture.derive(type, {}, { env: { BLOCKFROST_URL_PREPROD: chain.url } });
    expect(answer.status).toBe(502);
    expect(answer.message).toBe(
      `The chain provider lacks the script ${fixture.templates[type].escrow} for the contract. Send smartContractAddress and policyId.`,
    );
  });

  it("when the chain does not have the policy's script", async () => {
    const { policy } = fixture.templates.Web3ChainV1;
    await fixture.api.chain.faults({ match: `/scripts/${policy}`, status: 404 });
    const { status, message } = await fixture.derive(V1);
    expect(status).toBe(502);
    expect(message).toContain(`lacks the script ${policy}`);
  });

  it.each([
    ["another contract's", () => fixture.shown(fixture.templates.Web3ChainV1.escrow)],
    ["nothing", async () => ""],
    ["bytes that are no script", async () => "ff"],
    [
      "one that is cut off",
      async () => (await fixture.shown(fixture.templates.Web3ChainV2.escrow)).slice(2),
    ],
    ["a megabyte", async () => "5a".repeat(1_000_000)],
  ])("when the provider shows %s for it", async (_, shown) => {
    const { escrow } = fixture.templates.Web3ChainV2;
    const body = JSON.stringify({ cbor: await shown() });
    await fixture.api.chain.faults({ match: `/scripts/${escrow}/cbor`, status: 200, body });
    expect(await fixture.derive(V2)).toMatchObject({
      status: 502,
      message: `The chain provider returned another script than ${escrow}`,
    });
  });

  it.each([
    ["of the other generation", () => fixture.templates.Web3ChainV1.escrow],
    ["of a policy", () => fixture.templates.Web3ChainV1.policy],
    ["without parameters", () => fixture.api.contract(V2).policyId],
  ])("when the script is one %s", async (_, script) => {
    const escrow = script();
    const { policy } = fixture.templates.Web3ChainV2;
    const bindings = { CONTRACT_TEMPLATES: JSON.stringify({ Web3ChainV2: { escrow, policy } }) };
    const { status, message } = await fixture.derive(V2, {}, { env: bindings });
    expect(status).toBe(502);
    expect(message).toMatch(
      new RegExp(`^The service cannot derive a contract from the script ${escrow}: .`),
    );
  });

  it.each([
    ["fails", { status: 500 }, 502],
    ["has no calls left today", { status: 402 }, 503],
  ])("or what fits when the provider %s", async (_, fault, status) => {
    const { escrow } = fixture.templates.Web3ChainV2;
    await fixture.api.chain.faults({ match: `/scripts/${escrow}`, ...fault });
    // A separate key, since the service does not ask a provider that is out of calls again.
    const config = { rpcProviderApiKey: `key-${fault.status}`, rpcProvider: "Blockfrost" };
    const answer = await fixture.derive(V2, { PaymentSourceConfig: config });
    expect(answer.status).toBe(status);
    expect(answer.message).toContain("The chain provider");
  });
});
