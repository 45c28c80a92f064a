import * as z from "zod";
import {
  bech32AddressParameter,
  network,
  paymentSourceType,
} from "../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_CONTRACT_ADDRESS,
  EXAMPLE_TX_HASH,
  EXAMPLE_WALLET_ADDRESS,
  named,
  setDocumentSchema,
} from "../http/openapi/fields.ts";
import { textParameter } from "../http/openapi/parameters.ts";
import { findContractProblems } from "../sources/contracts/rules.ts";
import {
  automationMode,
  autoWithdrawPayments,
  autoWithdrawRefunds,
  furtherProviders,
} from "../sources/schemas.ts";
import { newWallet } from "../wallets/managed/schemas.ts";

const MINUTE_MS = 60_000;
/** An example. */
export const EXAMPLE_POLICY_ID = "7ea72154ce3a4156d425458cbe898f63da9b1799d2506049ea5f61e6";

export const rpcProvider = described(
  named("RpcProvider", "HTTP API of a chain provider.", z.enum(["Blockfrost"])),
  "HTTP API of the chain provider. The operator sets the base URL.",
  "Blockfrost",
);

const config = z.object({
  // It is sent in a header.
  rpcProviderApiKey: described(
    textParameter().regex(/^[\x21-\x7e]*$/, "must be printable ASCII without spaces"),
    "Key of the chain provider.",
    "preprod4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
  ),
  rpcProvider,
});
export const configText = "Chain provider of the source.";

const address = z.object({
  walletAddress: described(
    bech32AddressParameter(),
    "Address of the wallet, in bech32.",
    EXAMPLE_WALLET_ADDRESS,
  ),
});
const walletId = z.object({
  id: described(textParameter(), "Id of the wallet.", "01m80ydypnw7zfztc441hghgzn"),
});

const feeRatePermille = z.int().min(0).max(1000);
const requiredAdminSignatures = z.int().min(1).max(50);
const feeText = "Fee of the contract, in thousandths of each locked amount.";
const receiverText = "Recipient of the fee. Null: no fee.";
const signaturesText =
  "Number of administrators who must sign a settlement. Null: the contract's number.";
const adminsText = "The contract's administrators, who settle disputes, in their order.";
const addressText =
  "Contract to sync, sent with `policyId`. Both omitted: the service derives them from `AdminWallets`, `requiredAdminSignatures`, `cooldownTime` and, on Web3ChainV1, the fee.";

const newWallets = (what: string) => described(z.array(newWallet).max(50).default([]), what);
const addedWallets = (what: string) => described(z.array(newWallet).max(10).optional(), what);
const removedWallets = (role: string) =>
  described(
    z.array(walletId).max(10).optional(),
    `${role} wallets to remove. The service destroys their mnemonics once nothing needs them.`,
  );

const createSourceFields = {
  network,
  paymentSourceType: paymentSourceType.default("Web3ChainV1"),
  smartContractAddress: described(
    bech32AddressParameter().optional(),
    addressText,
    EXAMPLE_CONTRACT_ADDRESS,
  ),
  policyId: described(
    z
      .string()
      .regex(/^[0-9a-fA-F]{56}$/, "must be 56 hex digits")
      .transform((hex) => hex.toLowerCase())
      .optional(),
    "Policy of the agents' tokens.",
    EXAMPLE_POLICY_ID,
  ),
  PaymentSourceConfig: described(config, configText),
  RpcProviders: furtherProviders,
  AdminWallets: described(z.array(address).min(1).max(50), adminsText),
  feeRatePermille: described(feeRatePermille, feeText, 50),
  FeeReceiverNetworkWallet: described(address.nullable().default(null), receiverText),
  requiredAdminSignatures: described(
    requiredAdminSignatures.nullable().default(null),
    signaturesText,
    2,
  ),
  cooldownTime: described(
    z
      .int()
      .min(0)
      .max(30 * 24 * 60 * MINUTE_MS)
      .default(7 * MINUTE_MS),
    "Milliseconds that a side must wait between two steps.",
    420_000,
  ),
  drives: automationMode.default("all"),
  autoWithdrawPayments: autoWithdrawPayments.default(null),
  autoWithdrawRefunds: autoWithdrawRefunds.default(null),
  lastIdentifierChecked: described(
    textParameter().nullable().default(null).meta({ format: "transaction-of-the-contract" }),
    "Hash of the contract's transaction after which the sync starts. Null: start at the first.",
    EXAMPLE_TX_HASH,
  ),
  PurchasingWallets: newWallets("Wallets that lock funds for purchases."),
  SellingWallets: newWallets("Wallets that receive payments."),
  FundingWallets: newWallets("Wallets that top up the others."),
};

const { smartContractAddress: _, policyId: __, ...derivedFields } = createSourceFields;

/** The three forms of a request, which `findContractProblems` tells apart. */
const createBodyVariants: z.ZodType = z.xor([
  named(
    "FollowedContract",
    "A payment source with a given contract.",
    z.object({
      ...createSourceFields,
      smartContractAddress: createSourceFields.smartContractAddress.nonoptional(),
      policyId: createSourceFields.policyId.nonoptional(),
    }),
  ),
  named(
    "DerivedContractV1",
    "A payment source of Web3ChainV1, whose contract the service derives.",
    z.strictObject({
      ...derivedFields,
      paymentSourceType: described(
        z.literal("Web3ChainV1"),
        "Generation of the escrow contract.",
        "Web3ChainV1",
      ),
      AdminWallets: described(z.array(address).length(3), adminsText),
      FeeReceiverNetworkWallet: described(address, "Recipient of the fee."),
      requiredAdminSignatures: described(
        z.literal(2).nullable().default(null),
        "Number of administrators who must sign a settlement: two of three.",
        2,
      ),
    }),
  ),
  named(
    "DerivedContractV2",
    "A payment source of Web3ChainV2, whose contract the service derives.",
    z.strictObject({
      ...derivedFields,
      paymentSourceType: described(
        z.literal("Web3ChainV2"),
        "Generation of the escrow contract.",
        "Web3ChainV2",
      ),
      feeRatePermille: described(z.literal(0), "This generation takes no fee.", 0),
      FeeReceiverNetworkWallet: described(
        z.null().default(null),
        "This generation takes no fee.",
        null,
      ),
      requiredAdminSignatures: described(
        requiredAdminSignatures,
        "Number of administrators who must sign a settlement.",
        1,
      ),
    }),
  ),
]);

export const createSourceBody = setDocumentSchema(
  z
    .object(createSourceFields)
    .refine(
      ({ requiredAdminSignatures, AdminWallets }) =>
        (requiredAdminSignatures ?? 0) <= AdminWallets.length,
      {
        path: ["requiredAdminSignatures"],
        error: "must be at most the number of AdminWallets",
      },
    )
    .superRefine((body, problems) => {
      for (const { field, problem } of findContractProblems(body))
        problems.addIssue({ code: "custom", path: [field], message: problem });
    }),
  createBodyVariants,
);

export type CreateSourceBody = z.output<typeof createSourceBody>;

const id = described(textParameter(), "Id of the payment source.", "01m80ydypnk4jnwav628wda9nd");

const force = described(
  z.boolean().default(false),
  "Whether to remove wallets of unfinished payments or purchases. Each of these gets an error, and waits until the wallet is added again.",
  false,
);

export const updateSourceBody = z.object({
  id,
  lastIdentifierChecked: described(
    textParameter().nullable().optional().meta({ format: "transaction-of-the-contract" }),
    "Sync continues after this transaction of the contract. Null: from the start.",
    EXAMPLE_TX_HASH,
  ),
  PaymentSourceConfig: described(config.partial().optional(), configText),
  RpcProviders: furtherProviders,
  drives: automationMode.optional(),
  autoWithdrawPayments: autoWithdrawPayments.optional(),
  autoWithdrawRefunds: autoWithdrawRefunds.optional(),
  AddPurchasingWallets: addedWallets("Purchasing wallets to add. The service syncs their history."),
  AddSellingWallets: addedWallets("Selling wallets to add. The service syncs their history."),
  AddFundingWallets: addedWallets("Funding wallets to add."),
  RemovePurchasingWallets: removedWallets("Purchasing"),
  RemoveSellingWallets: removedWallets("Selling"),
  RemoveFundingWallets: removedWallets("Funding"),
  force,
});

export type UpdateSourceBody = z.output<typeof updateSourceBody>;

export const deleteSourceBody = z.object({ id, force });

export type DeleteSourceBody = z.output<typeof deleteSourceBody>;
