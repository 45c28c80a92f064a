import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { TestChain } from "../support/chain.ts";
import { count, SourceApi, storedSources } from "../support/sources/api.ts";

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(async () => {
  api.woken.length = 0;
  await emptyTables();
});

const UNKNOWN_HASH = "ab".repeat(32);

describe("POST /payment-source-extended refuses", () => {
  const mainnetAddress = "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzerspjrlsz";

  it.each<[string, () => object, number, string]>([
    [
      "an address of a wallet as contract",
      () => ({ smartContractAddress: api.wallet("buyer-0").address }),
      400,
      "smartContractAddress: must be a contract's address on Preprod",
    ],
    [
      "text as contract",
      () => ({ smartContractAddress: "contract" }),
      400,
      "smartContractAddress: must be a contract's address on Preprod",
    ],
    [
      "a contract of another network",
      () => ({ network: "Mainnet" }),
      400,
      "smartContractAddress: must be a contract's address on Mainnet",
    ],
    [
      "an admin wallet of another network",
      () => ({ AdminWallets: [{ walletAddress: mainnetAddress }] }),
      400,
      "AdminWallets[0].walletAddress: must be an address on Preprod",
    ],
    [
      "a fee receiver of another network",
      () => ({ FeeReceiverNetworkWallet: { walletAddress: mainnetAddress } }),
      400,
      "FeeReceiverNetworkWallet.walletAddress: must be an address on Preprod",
    ],
    [
      "a collection address of another network",
      () => ({
        SellingWallets: [
          { walletMnemonic: api.wallet("seller-0").mnemonic, collectionAddress: mainnetAddress },
        ],
      }),
      400,
      "SellingWallets[0].collectionAddress: must be an address on Preprod",
    ],
    [
      "more signatures than admins",
      () => ({ requiredAdminSignatures: 2 }),
      400,
      "requiredAdminSignatures: must be at most the number of AdminWallets",
    ],
    [
      "a transaction that is not known",
      () => ({ lastIdentifierChecked: UNKNOWN_HASH }),
      400,
      "lastIdentifierChecked: must be the hash of a transaction of this contract",
    ],
    [
      "a transaction that is no hash",
      () => ({ lastIdentifierChecked: "../health" }),
      400,
      "lastIdentifierChecked: must be the hash of a transaction of this contract",
    ],
    [
      "a key that the provider refuses",
      () => ({ PaymentSourceConfig: { rpcProviderApiKey: "bad", rpcProvider: "Blockfrost" } }),
      400,
      "PaymentSourceConfig.rpcProviderApiKey: the provider refuses this key on this network",
    ],
    [
      "a key that no header can carry",
      () => ({ PaymentSourceConfig: { rpcProviderApiKey: "a\nb", rpcProvider: "Blockfrost" } }),
      400,
      "PaymentSourceConfig.rpcProviderApiKey: must be printable ASCII without spaces",
    ],
    [
      "one wallet in two roles",
      () => ({
        ...api.purchasing(),
        ...api.selling(),
        PurchasingWallets: [{ walletMnemonic: api.wallet("seller-0").mnemonic }],
      }),
      409,
      "SellingWallets[0]: is the same wallet as PurchasingWallets[0]",
    ],
  ])("%s", async (_, overrides, status, message) => {
    expect(await api.create(overrides())).toMatchObject({ status, message });
    expect(await storedSources()).toBe("[[],[],[],[],[]]");
  });

  it("a wrong mnemonic by its position, never repeating a word", async () => {
    const words = api.wallet("buyer-0").mnemonic.split(" ");
    words[4] = "supersecretword";
    const { status, message } = await api.create({
      PurchasingWallets: [{ walletMnemonic: words.join(" ") }],
    });
    expect(status).toBe(400);
    expect(message).toMatch(/^PurchasingWallets\[0\]\.walletMnemonic: word 5 /);
    for (const word of words) expect(message?.split(/[^a-z]+/)).not.toContain(word);
  });

  it("a contract that is a payment source already", async () => {
    await api.create();
    expect(await api.create()).toMatchObject({
      status: 409,
      message: "smartContractAddress: a payment source already has this contract",
    });
    expect(await count("audit")).toBe(1);
  });

  it("a wallet that another source manages, by its place in the request", async () => {
    await api.create({ ...api.purchasing(), ...api.selling() });
    const other = api.contract("Web3ChainV2");
    const { status, message } = await api.create({
      smartContractAddress: other.address,
      PurchasingWallets: [
        { walletMnemonic: api.wallet("buyer-1").mnemonic },
        { walletMnemonic: api.wallet("buyer-0").mnemonic },
      ],
      SellingWallets: [],
    });
    expect(status).toBe(409);
    expect(message).toBe("PurchasingWallets[1]: a payment source already manages this wallet");
    expect(await count("payment_source")).toBe(1);
    expect(await count("managed_wallet")).toBe(2);
  });

  it("the contracts of the local chain outside of development", async () => {
    const { status, message } = await api.create({}, { env: { LOOPBACK_ORIGINS: "" } });
    expect(status).toBe(400);
    expect(message).toContain("the local chain, whose keys are public");
  });
});

describe("POST /payment-source-extended when the provider", () => {
  it.each([
    ["fails", { status: 500 }, 502, null],
    ["has no calls left today", { status: 402 }, 503, /^\d+$/],
  ])("%s, answers with what is unavailable", async (_, fault, status, retryAfter) => {
    const faulty = await TestChain.create();
    await faulty.faults({ match: ".*", ...fault });
    vi.spyOn(console, "error").mockImplementation(() => {});
    const answer = await api.create({}, { env: { BLOCKFROST_URL_PREPROD: faulty.url } });
    vi.restoreAllMocks();
    expect(answer.status).toBe(status);
    if (retryAfter) expect(answer.headers.get("retry-after")).toMatch(retryAfter);
    expect(answer.message).toContain("The chain provider");
    expect(await count("payment_source")).toBe(0);
  });
});
