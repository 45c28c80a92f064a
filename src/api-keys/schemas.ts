import * as z from "zod";
import { parseAddress } from "../chain/address.ts";
import {
  answerText,
  described,
  minorUnits,
  named,
  recordId,
  timestamp,
  walletAddress,
} from "../http/openapi/fields.ts";
import { bech32Address, givenUnit, network, unit } from "../http/openapi/ledger.ts";
import { text } from "../http/parameters.ts";

const MAX_CREDITS = 1_000_000;

const NETWORK_OR_CAIP2 = /^(Preprod|Mainnet|[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32})$/;

const networkId = described(
  z.string().regex(NETWORK_OR_CAIP2, "must be Preprod, Mainnet or a CAIP-2 id"),
  "Preprod, Mainnet or a CAIP-2 id.",
  "eip155:8453",
);

const permission = described(
  named("Permission", "What an API key may do, besides +PAY.", z.enum(["Admin", "User"])),
  "What the key may do: a User reads, and spends with +PAY; an Admin may do everything.",
  "User",
);
const status = described(
  named("ApiKeyStatus", "Whether an API key works.", z.enum(["Active", "Revoked"])),
  "Whether the key works.",
  "Active",
);
const usageLimited = z.boolean();
const usageLimitedText = "Whether metered calls are charged in credits.";
const maxUsageCredits = described(
  z.int().min(0).max(MAX_CREDITS),
  "Credits that a limited key may use in all.",
  1000,
);
const canPay = described(
  z.boolean().optional(),
  "The +PAY access, which an Admin always has; by default a key has none.",
  true,
);
const networkLimit = described(
  z.array(networkId).max(50).optional(),
  "Networks that the key may use. Default: both of the ledger. An Admin is not limited.",
);

const spendingLimitText = "What a key may spend of one unit on one network.";
const spendingLimitFields = {
  network,
  unit: givenUnit,
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

const address = bech32Address().refine(
  (text) => parseAddress(text) !== null,
  "must be an address in bech32",
);

const walletLimit = described(
  z.array(text()).max(100).nullable().optional(),
  "Ids of the only wallets that the key may use; null: any. An Admin is not limited.",
);
const spendingLimits = described(
  z.array(newSpendingLimit).max(50).nullable().optional(),
  "What the key's purchases may cost in all; a unit that is not listed cannot be spent. Null: no limit. An Admin is not limited.",
);
const returnAddresses = described(
  z.array(address).max(20).optional(),
  "Addresses to which the key may turn revenue and refunds, beside the wallets' own; by default none.",
);

const name = described(text(100, 0), "What people call it.", "Marketplace");

export const createBody = z.strictObject({
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

export type CreateBody = z.output<typeof createBody>;

const id = described(text(), "Id of the API key.", "01m80ydzq23ssn602zk7bexfp7");

export const updateBody = z.strictObject({
  id,
  name: name.optional(),
  status: status.optional(),
  permission: described(
    permission.optional(),
    "A demoted Admin keeps +PAY access and networks only if they were requested.",
  ),
  usageLimited: described(usageLimited.optional(), usageLimitedText, true),
  maxUsageCredits: described(
    maxUsageCredits.optional(),
    "Credits that a limited key may use in all; at least `accumulatedUsageCredits`.",
  ),
  canPay,
  networkLimit,
  walletLimit,
  spendingLimits,
  returnAddresses,
});

export type UpdateBody = z.output<typeof updateBody>;

export const deleteBody = z.strictObject({ id });

const fields = {
  id: recordId("the API key", "01m80ydzq23ssn602zk7bexfp7"),
  name: answerText("What people call it; empty where nobody said.", "Marketplace"),
  status,
  permission,
  usageLimited: described(usageLimited, usageLimitedText, true),
  maxUsageCredits: described(z.number(), "Credits that a limited key may use in all.", 1000),
  accumulatedUsageCredits: described(z.number(), "Credits that a limited key has used.", 12),
  canPay: described(z.boolean(), "The +PAY access; true for every Admin.", true),
  networkLimit: described(
    z.array(answerText("Preprod, Mainnet or a CAIP-2 id.", "Preprod")),
    "Networks that the key may use; an Admin is not limited by them.",
  ),
  walletLimit: described(
    z.array(answerText("Id of a wallet.", "01m80ydypnw7zfztc441hghgzn")).nullable(),
    "The only wallets that the key may use; null: any.",
  ),
  spendingLimits: described(
    z.array(spendingLimit).nullable(),
    "What its purchases may cost in all; null: no limit.",
  ),
  returnAddresses: described(
    z.array(walletAddress("a wallet of its owner")),
    "Where it may turn revenue and refunds, beside the wallets' own addresses.",
  ),
  lastUsedAt: described(
    timestamp("").nullable(),
    "When it was last used, noted once an hour; null before the first time, and of the deployment's own key, of which it is not known.",
    "2026-11-22T06:17:26.922Z",
  ),
};

/** A key as all endpoints except its creation show it. */
export const apiKeyRecord = named(
  "ApiKey",
  "An API key, with its token masked.",
  z.object({
    ...fields,
    token: answerText("`*****` and the last four characters of the token.", "*****N-_8"),
  }),
);

/** The key of the request, with the names by which marketplaces read it. */
export const apiKeyStatus = named(
  "ApiKeyStatusRecord",
  "The API key of the request.",
  apiKeyRecord.extend({
    canRead: described(z.literal(true), "Whether it may read: each that works may.", true),
    canAdmin: described(z.boolean(), "Whether it is an Admin's.", false),
    NetworkLimit: described(
      z.array(answerText("Preprod, Mainnet or a CAIP-2 id.", "Preprod")),
      "The same as `networkLimit`.",
    ),
    walletScopeEnabled: described(z.boolean(), "Whether it is bound to wallets.", true),
    WalletScopes: described(
      z.array(
        named(
          "WalletScope",
          "A wallet that a key is bound to.",
          z.object({ hotWalletId: recordId("the wallet", "01m80ydypnw7zfztc441hghgzn") }),
        ),
      ),
      "The wallets that it is bound to; none when it is bound to none.",
    ),
    RemainingUsageCredits: described(
      z.array(
        named(
          "RemainingCredits",
          "What a key may still spend in one unit.",
          z.object({ unit, amount: minorUnits("Minor units of `unit`.", "38000000") }),
        ),
      ),
      "What its `spendingLimits` leave on its networks together; none when it is not limited.",
    ),
  }),
);

export const createdApiKey = named(
  "CreatedApiKey",
  "A new API key, with its token.",
  z.object({
    ...fields,
    token: answerText(
      "The token, shown here and never again.",
      "apk_4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
    ),
  }),
);

export type ApiKeyRecord = z.infer<typeof apiKeyRecord>;
export type ApiKeyStatus = z.infer<typeof apiKeyStatus>;
