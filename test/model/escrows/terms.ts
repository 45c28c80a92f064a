/** Who takes part in the model's escrows, and where; on what they agree is in quotes.ts. */
import { formatAddress } from "../../../src/chain/address.ts";
import { hexToBytes } from "../../../src/chain/hex.ts";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { hashScript } from "../../../src/chain/plutus/script.ts";
import type { ScriptSource } from "../../../src/chain/transaction/transaction-plan.ts";
import { deriveWalletKeys, type WalletKeys } from "../../../src/chain/wallet-keys.ts";
import type { SourceRow } from "../../../src/sources/source-row.ts";
import type { WalletRow } from "../../../src/wallets/managed/tables.ts";

/** When a story begins, epoch milliseconds. */
export const BEGINS = Date.UTC(2025, 0, 1);
export const MINUTE = 60_000;

const keysOf = (word: string, last: string) =>
  deriveWalletKeys(`${`${word} `.repeat(23)}${last}`, "Preprod");
export const SELLER = await keysOf("test", "sauce");
export const BUYER = await keysOf("abandon", "art");
export const STRANGER = await keysOf("zoo", "vote");
/** Those who settle disputes, of whom two have to agree. */
export const ADMINISTRATORS = await Promise.all(
  [
    `${"legal winner thank year wave sausage worth useful ".repeat(2)}legal winner thank year wave sausage worth title`,
    `${"letter advice cage absurd amount doctor acoustic avoid ".repeat(2)}letter advice cage absurd amount doctor acoustic bless`,
    "hamster diagram private dutch cause delay private meat slide toddler razor book happy fancy gospel tennis maple dilemma loan word shrug inflict delay length",
  ].map((words) => deriveWalletKeys(words, "Preprod")),
);
export const PARTIES = { seller: SELLER, buyer: BUYER };
export type Party = keyof typeof PARTIES;

/** Addresses that nobody spends from. */
export const elsewhere = (byte: string) =>
  formatAddress({
    network: "Preprod",
    payment: { kind: "key", hash: byte.repeat(28) },
    stake: null,
  });
export const FEE_RECEIVER = elsewhere("fe");

/** A Plutus script that is not run: the model's ledger decides what it takes. */
const SCRIPTS: Record<PaymentSourceType, ScriptSource> = {
  Web3ChainV1: scriptFrom("450101002499"),
  Web3ChainV2: scriptFrom("450101002498"),
};

function scriptFrom(cbor: string): ScriptSource {
  return { from: "witness", hash: hashScript(hexToBytes(cbor)), cbor };
}

/** The contract's script, as a provider shows it. */
export const scriptOf = (type: PaymentSourceType): ScriptSource => SCRIPTS[type];

function sourceOf(type: PaymentSourceType): SourceRow {
  const hash = scriptOf(type).hash;
  return {
    id: "source",
    network: "Preprod",
    type,
    contractAddress: formatAddress({
      network: "Preprod",
      payment: { kind: "script", hash },
      stake: null,
    }),
    policyId: "00".repeat(28),
    adminWallets: JSON.stringify(
      ADMINISTRATORS.map(({ address }, order) => ({ walletAddress: address, order })),
    ),
    feeRatePermille: type === "Web3ChainV1" ? 50 : 0,
    feeReceiverAddress: type === "Web3ChainV1" ? FEE_RECEIVER : null,
    requiredAdminSignatures: 2,
    cooldownTime: 7 * MINUTE,
    rpcProvider: "Blockfrost",
    rpcProviders: null,
    rpcProviderApiKey: "",
    drives: "all",
    autoWithdrawPayments: null,
    autoWithdrawRefunds: null,
    createdById: "key",
    createdAt: BEGINS,
    updatedAt: BEGINS,
    deletedAt: null,
  };
}

export const SOURCES: Record<PaymentSourceType, SourceRow> = {
  Web3ChainV1: sourceOf("Web3ChainV1"),
  Web3ChainV2: sourceOf("Web3ChainV2"),
};

const walletOf = (role: WalletRow["role"], { vkey, address }: WalletKeys): WalletRow => ({
  id: role.toLowerCase(),
  sourceId: "source",
  network: "Preprod",
  role,
  vkey,
  address,
  mnemonic: "sealed",
  collectionAddress: null,
  note: "",
  drives: "all",
  createdById: "key",
  createdAt: BEGINS,
  deletedAt: null,
});
export const WALLETS = [walletOf("Selling", SELLER), walletOf("Purchasing", BUYER)];
