import * as z from "zod";
import { parseAddress } from "../chain/address.ts";
import { MAX_TOKEN_LENGTH } from "../http/authenticate.ts";
import {
  bech32AddressParameter,
  network,
  spendableUnit,
  unit,
} from "../http/openapi/chain-fields.ts";
import {
  described,
  idField,
  minorUnitsField,
  named,
  nullableTimestampField,
  textField,
  walletAddressField,
} from "../http/openapi/fields.ts";
import { textParameter } from "../http/openapi/parameters.ts";
import { MASK } from "./token.ts";

const MAX_CREDITS = 1_000_000;

const NETWORK_OR_CAIP2 = /^(Preprod|Mainnet|[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32})$/;

const networkId = described(
  z.string().regex(NETWORK_OR_CAIP2, "must be Preprod, Mainnet or a CAIP-2 id"),
  "Preprod, Mainnet or a CAIP-2 id.",
  "eip155:8453",
);

const permission = described(
  named("Permission", "Permission of an API key, besides +PAY.", z.enum(["Admin", "User"])),
  "A User reads, and spends with +PAY. An Admin may do everything.",
  "User",
);
const status = described(
  named("ApiKeyStatus", "Whether an API key is valid.", z.enum(["Active", "Revoked"])),
  "Whether the key is valid.",
  "Active",
);
const usageLimited = z.boolean();
const usageLimitedText = "Whether metered calls cost credits.";
const maxUsageCredits = described(
  z.int().min(0).max(MAX_CREDITS),
  "Total of credits that a limited key may use.",
  1000,
);
const canPay = described(
  z.boolean().optional(),
  "Whether the key has +PAY access. Default: false. An Admin always has +PAY.",
  true,
);
const networkLimit = described(
  z.array(networkId).max(50).optional(),
  "Networks that the key may use. Default: Preprod and Mainnet. An Admin is not limited.",
);

const spendingLimitText = "Amount that a key may spend of one unit on one network.";
const spendingLimitFields = {
  network,
  unit: spendableUnit,
  amount: described(
    z.string().regex(/^\d{1,18}$/, `must be a whole number below 10^18`),
    "Minor units of `unit`, for all purchases together.",
    "50000000",
  ),
};
const spendingLimit = named("SpendingLimit", spendingLimitText, z.object(spendingLimitFields));
const newSpendingLimit = named(
  "NewSpendingLimit",
  spendingLimitText,
  z.strictObject(spendingLimitFields),
);

const spendingLimitChange = named(
  "SpendingLimitChange",
  "An amount to add to a limit of a key, or to take from it.",
  z.strictObject({
    ...spendingLimitFields,
    amount: described(
      z.string().regex(/^-?\d{1,18}$/, "must be a whole number between -10^18 and 10^18"),
      "Minor units of `unit`. Negative: to take.",
      "-5000000",
    ),
  }),
);

const address = bech32AddressParameter().refine(
  (text) => parseAddress(text) !== null,
  "must be an address in bech32",
);

const walletLimit = described(
  z.array(textParameter()).max(100).nullable().optional(),
  "Ids of the only wallets that the key may use. Null: any wallet. An Admin is not limited.",
);
const spendingLimits = described(
  z.array(newSpendingLimit).max(50).nullable().optional(),
  "Total that the key's purchases may cost. The key cannot spend a unit that is not listed. Null: no limit. An Admin is not limited.",
);
const returnAddresses = described(
  z.array(address).max(20).optional(),
  "Addresses to which the key may direct revenue and refunds, besides the wallets' own addresses. Default: none.",
);

const name = described(textParameter(100, 0), "Display name.", "Marketplace");

const spendingLimitChanges = described(
  z.array(spendingLimitChange).max(50).optional(),
  "Amounts to add to `spendingLimits`. A unit without a limit begins at what the key has spent of it.",
);

const MIN_TOKEN_LENGTH = 15;
/** Tokens that everybody knows: that of another service's setup. */
const PUBLIC_TOKENS = ["DefaultUnsecureAdminKey"];

/** A token that an Admin chooses, such as the one that a client has from another service. */
export const newToken = described(
  z
    .string()
    .min(MIN_TOKEN_LENGTH)
    .max(MAX_TOKEN_LENGTH)
    .regex(/^[!-~]*$/, "must have printable ASCII characters only, and no space")
    .refine((token) => !PUBLIC_TOKENS.includes(token), "must be a secret")
    .refine((token) => !token.startsWith(MASK), "must be a token, not its masked form"),
  "The token that the key gets instead of its present one.",
  "apk_4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
);

export const createApiKeyBody = z.strictObject({
  name: name.default(""),
  permission: permission.default("User"),
  usageLimited: described(usageLimited.default(false), usageLimitedText, true),
  maxUsageCredits: maxUsageCredits.default(0),
  canPay,
  networkLimit,
  walletLimit,
  spendingLimits,
  returnAddresses,
});

export type CreateApiKeyBody = z.output<typeof createApiKeyBody>;

const id = described(textParameter(), "Id of the API key.", "01m80ydzq23ssn602zk7bexfp7");

export const updateApiKeyBody = z.strictObject({
  id,
  name: name.optional(),
  status: status.optional(),
  permission: described(
    permission.optional(),
    "A demoted Admin keeps only the +PAY access and the networks that were set explicitly.",
  ),
  usageLimited: described(usageLimited.optional(), usageLimitedText, true),
  maxUsageCredits: described(
    maxUsageCredits.optional(),
    "Total of credits that a limited key may use; at least `accumulatedUsageCredits`.",
  ),
  canPay,
  networkLimit,
  walletLimit,
  spendingLimits,
  spendingLimitChanges,
  returnAddresses,
  newToken: newToken.optional(),
});

export type UpdateApiKeyBody = z.output<typeof updateApiKeyBody>;
/** What a request changes of a key. */
export type KeyChanges = Omit<UpdateApiKeyBody, "id">;
export type SpendingLimit = z.output<typeof spendingLimit>;

export const deleteApiKeyBody = z.strictObject({ id });

const apiKeyFields = {
  id: idField("the API key", "01m80ydzq23ssn602zk7bexfp7"),
  name: textField("Display name. May be empty.", "Marketplace"),
  status,
  permission,
  usageLimited: described(usageLimited, usageLimitedText, true),
  maxUsageCredits: described(z.number(), "Total of credits that a limited key may use.", 1000),
  accumulatedUsageCredits: described(z.number(), "Credits that a limited key has used.", 12),
  canPay: described(z.boolean(), "The +PAY access; true for every Admin.", true),
  networkLimit: described(
    z.array(textField("Preprod, Mainnet or a CAIP-2 id.", "Preprod")),
    "Networks that the key may use. An Admin is not limited.",
  ),
  walletLimit: described(
    z.array(textField("Id of a wallet.", "01m80ydypnw7zfztc441hghgzn")).nullable(),
    "The only wallets that the key may use. Null: any wallet.",
  ),
  spendingLimits: described(
    z.array(spendingLimit).nullable(),
    "Total that the key's purchases may cost. Null: no limit.",
  ),
  returnAddresses: described(
    z.array(walletAddressField("a wallet of its owner")),
    "Addresses to which the key may direct revenue and refunds, besides the wallets' own addresses.",
  ),
  lastUsedAt: nullableTimestampField(
    "Time of the last use, accurate to one hour. Null: not used yet, or the key of the secret ADMIN_KEY.",
  ),
};

/** A key as all endpoints except its creation show it. */
export const apiKeyRecord = named(
  "ApiKey",
  "An API key, with its token masked.",
  z.object({
    ...apiKeyFields,
    token: textField("`*****` and the last four characters of the token.", "*****N-_8"),
  }),
);

/** A key of the list, with what it has spent. */
export const listedApiKey = named(
  "ListedApiKey",
  "An API key with what it has spent.",
  apiKeyRecord.extend({
    Spending: described(
      z.array(
        named(
          "KeySpending",
          "Amount that a key has spent of one unit on one network.",
          z.object({
            network,
            unit,
            amount: minorUnitsField("Minor units of `unit`.", "12000000"),
          }),
        ),
      ),
      "What the key has spent while it had `spendingLimits`. Empty: nothing.",
    ),
  }),
);

/** The key of the request, with the names by which marketplaces read it. */
export const apiKeyStatus = named(
  "ApiKeyStatusRecord",
  "The API key of the request.",
  apiKeyRecord.extend({
    canRead: described(z.literal(true), "Whether the key may read. Always true.", true),
    canAdmin: described(z.boolean(), "Whether the key has the permission Admin.", false),
    NetworkLimit: described(
      z.array(textField("Preprod, Mainnet or a CAIP-2 id.", "Preprod")),
      "The same as `networkLimit`.",
    ),
    walletScopeEnabled: described(z.boolean(), "Whether the key has a `walletLimit`.", true),
    WalletScopes: described(
      z.array(
        named(
          "WalletScope",
          "A wallet of a key's `walletLimit`.",
          z.object({ hotWalletId: idField("the wallet", "01m80ydypnw7zfztc441hghgzn") }),
        ),
      ),
      "The wallets of `walletLimit`.",
    ),
    RemainingUsageCredits: described(
      z.array(
        named(
          "RemainingCredits",
          "Amount that a key may still spend of one unit.",
          z.object({ unit, amount: minorUnitsField("Minor units of `unit`.", "38000000") }),
        ),
      ),
      "Remainder of `spendingLimits`, summed over the key's networks. Empty: no limit.",
    ),
  }),
);

export const createdApiKey = named(
  "CreatedApiKey",
  "A new API key, with its token.",
  z.object({
    ...apiKeyFields,
    token: textField(
      "The token. Only this response contains the token.",
      "apk_4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
    ),
  }),
);

export type ApiKeyRecord = z.infer<typeof apiKeyRecord>;
export type ApiKeyStatus = z.infer<typeof apiKeyStatus>;
