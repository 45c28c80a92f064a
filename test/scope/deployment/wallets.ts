import { env } from "cloudflare:workers";
import { ADMIN } from "../../../devnet/demo/actors/wallets.ts";
import type { ChainContract, ChainWallet } from "../../support/chain.ts";
import { insertKey } from "../../support/keys.ts";
import { found } from "../../support/registry/registration-fixture.ts";
import type { Service } from "../service.ts";
import { STRANGERS, type Stranger } from "../strangers.ts";

/** A payment source with its wallets, as the service shows it to Admins. */
interface ShownSource {
  id: string;
  SellingWallets: { id: string; walletVkey: string }[];
  PurchasingWallets: { id: string; walletVkey: string }[];
  FundingWallets: { id: string; walletVkey: string }[];
}

/** Two payment sources of one network, and the keys that are bound to their wallets. */
export interface Wallets {
  source: ShownSource;
  elsewhere: ShownSource;
  contract: ChainContract;
  seller: ChainWallet & { id: string };
  buyer: ChainWallet & { id: string };
  fundingId: string;
  /** A contract that no payment source follows, and a policy that no registry source does. */
  free: { contract: ChainContract; policyId: string };
  tokens: Readonly<Record<Stranger | "owner", string>>;
}

export const OWNER = "key-of-the-owner";
export const PROVIDER_KEY = "secret-provider-key";
export const NOTE_OF_SELLER = "note of the wallet seller-0";
const OTHER_CHAIN = "eip155:8453";

/**
 * Adds two payment sources, whose wallets the owner's key has made.
 *
 * @param caip2 - the EVM chain that all keys but those of another network may use
 */
export async function addWallets(service: Service, caip2: string): Promise<Wallets> {
  const { wallets, contracts, open } = await service.chain.wallets();
  const actor = (name: string) => found(wallets, (one) => one.name === name);
  const contractOf = (type: ChainContract["type"]) => found(contracts, (one) => one.type === type);
  const addSource = (type: ChainContract["type"], names: readonly number[]) =>
    service.made<ShownSource>("POST /payment-source-extended", {
      network: "Preprod",
      paymentSourceType: type,
      smartContractAddress: contractOf(type).address,
      policyId: contractOf(type).policyId,
      PaymentSourceConfig: { rpcProviderApiKey: PROVIDER_KEY, rpcProvider: "Blockfrost" },
      AdminWallets: [0, 1, 2].map(() => ({ walletAddress: ADMIN.address })),
      requiredAdminSignatures: 2,
      feeRatePermille: 50,
      ...(type === "Web3ChainV1" && {
        FeeReceiverNetworkWallet: { walletAddress: ADMIN.address },
      }),
      SellingWallets: names.map((i) => walletOf(`seller-${i}`)),
      PurchasingWallets: names.map((i) => walletOf(`buyer-${i}`)),
      ...(type === "Web3ChainV2" && { FundingWallets: [walletOf("admin")] }),
    });
  const walletOf = (name: string) => ({
    walletMnemonic: actor(name).mnemonic,
    note: `note of the wallet ${name}`,
  });
  const [source, elsewhere] = [
    await addSource("Web3ChainV2", [0, 1]),
    await addSource("Web3ChainV1", [2, 3]),
  ];
  // Whoever adds a wallet owns the records that its locks make.
  await env.DB.prepare("UPDATE managed_wallet SET created_by_id = ?").bind(OWNER).run();

  const idsOf = ({ SellingWallets, PurchasingWallets }: ShownSource, ...names: string[]) =>
    names.map((name) => {
      const all = [...SellingWallets, ...PurchasingWallets];
      return found(all, ({ walletVkey }) => walletVkey === actor(name).vkey).id;
    });
  const [sellerId = "", buyerId = ""] = idsOf(source, "seller-0", "buyer-0");
  const here = ["Preprod", "Mainnet", caip2];
  const insert = (id: string, walletLimit?: string[], networkLimit = here) =>
    insertKey({ id, canPay: true, networkLimit, ...(walletLimit && { walletLimit }) });
  return {
    source,
    elsewhere,
    free: { contract: open, policyId: contractOf("Web3ChainV1").policyId },
    contract: contractOf("Web3ChainV2"),
    seller: { ...actor("seller-0"), id: sellerId },
    buyer: { ...actor("buyer-0"), id: buyerId },
    fundingId: source.FundingWallets[0]?.id ?? "",
    tokens: {
      owner: await insert(OWNER, [sellerId, buyerId]),
      [STRANGERS[0]]: await insert("key-of-stranger-0", idsOf(source, "seller-1", "buyer-1")),
      [STRANGERS[1]]: await insert("key-of-stranger-1", idsOf(elsewhere, "seller-2", "buyer-2")),
      [STRANGERS[2]]: await insert("key-of-stranger-2"),
      [STRANGERS[3]]: await insert("key-of-stranger-3", undefined, ["Mainnet", OTHER_CHAIN]),
    },
  };
}
