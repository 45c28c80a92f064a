import * as z from "zod";
import {
  createApiKeyBody,
  deleteApiKeyBody,
  newToken,
  updateApiKeyBody,
} from "../api-keys/schemas.ts";
import { network, spendableUnit } from "../http/openapi/chain-fields.ts";
import { described, setDocumentSchema } from "../http/openapi/fields.ts";
import { textParameter } from "../http/openapi/parameters.ts";

/** `true` and `false`, also as texts in any letter case. */
const flag = z.union([
  z.boolean(),
  z
    .string()
    .regex(/^(true|false)$/i, "must be true or false")
    .transform((text) => text.toLowerCase() === "true"),
]);

/** An amount of a unit; negative in a change. */
const creditsOf = (amount: RegExp) =>
  z.array(
    z.strictObject({
      unit: spendableUnit,
      amount: described(
        z.string().regex(amount, "must be a whole number below 10^18"),
        "Minor units of `unit`.",
        "50000000",
      ),
    }),
  );

const settings = {
  name: updateApiKeyBody.shape.name,
  returnAddresses: updateApiKeyBody.shape.returnAddresses,
  permission: described(
    z.enum(["Admin", "ReadAndPay", "Read"]).optional(),
    "`ReadAndPay` is a User with +PAY access, and `Read` a User without.",
    "ReadAndPay",
  ),
  canRead: described(z.boolean().optional(), "Every key may read.", true),
  canPay: described(z.boolean().optional(), "Whether the key has +PAY access.", true),
  canAdmin: described(z.boolean().optional(), "Whether the key is an Admin.", false),
  usageLimited: described(flag.optional(), "Whether the key has `spendingLimits`.", "true"),
  NetworkLimit: described(
    z.array(network).max(3).optional(),
    "The ledger's networks in `networkLimit`.",
  ),
  ChainIdLimit: described(
    z
      .array(z.string().regex(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/, "must be a CAIP-2 id"))
      .max(50)
      .optional(),
    "The other networks in `networkLimit`. The service ignores ids of the ledger's networks.",
  ),
  walletScopeEnabled: described(flag.optional(), "Whether the key has a `walletLimit`.", "false"),
  WalletScopeHotWalletIds: described(
    z.array(textParameter()).max(100).optional(),
    "The wallets of `walletLimit`.",
  ),
};

const externalCreateBody = z.strictObject({
  ...settings,
  UsageCredits: described(
    creditsOf(/^\d{1,18}$/).max(25),
    "`spendingLimits` on each of the ledger's networks that the key may use.",
  ),
});

const externalUpdateBody = z.strictObject({
  id: updateApiKeyBody.shape.id,
  token: newToken.optional(),
  status: updateApiKeyBody.shape.status,
  ...settings,
  UsageCreditsToAddOrRemove: described(
    creditsOf(/^-?\d{1,18}$/)
      .max(25)
      .optional(),
    "Amounts to add to `spendingLimits` on each of the ledger's networks that the key may use.",
  ),
});

const token = described(
  textParameter(550),
  "The present token of the API key.",
  "apk_4f7Qm2Xc9LrTbV1yHnK8sWzD3gPjE6uA",
);

const { id: _, newToken: __, ...changeFields } = updateApiKeyBody.shape;

/** Fields that the payment service's form alone has. */
const EXTERNAL_NAMES = [
  "canRead",
  "canAdmin",
  "NetworkLimit",
  "ChainIdLimit",
  "walletScopeEnabled",
  "WalletScopeHotWalletIds",
  "UsageCredits",
  "UsageCreditsToAddOrRemove",
];

type JsonObject = Record<string, unknown>;

function isExternal(body: JsonObject): boolean {
  return (
    EXTERNAL_NAMES.some((name) => Object.hasOwn(body, name)) ||
    body.permission === "Read" ||
    body.permission === "ReadAndPay" ||
    typeof body.usageLimited === "string"
  );
}

/** A body that is read by one of several forms. A field of another form is refused as an unknown one. */
function formedBody<Forms extends readonly [z.ZodType, ...z.ZodType[]]>(
  forms: Forms,
  choose: (body: JsonObject) => number,
) {
  const schema = z.looseObject({}).transform((body, context): z.output<Forms[number]> => {
    const result = z.safeParse(forms[choose(body)] ?? forms[0], body);
    if (result.success) return result.data as z.output<Forms[number]>;
    for (const issue of result.error.issues)
      context.issues.push({ ...issue, input: body } as z.core.$ZodRawIssue);
    return z.NEVER;
  });
  return setDocumentSchema(schema, z.union(forms));
}

/** A new key as this service and the registry service have it, or as the payment service has it. */
export const createKeyBody = formedBody(
  [
    createApiKeyBody.transform((body) => ({ form: "own" as const, body })),
    externalCreateBody.transform((body) => ({ form: "external" as const, body })),
  ],
  (body) => Number(isExternal(body)),
);

/** Changes of a key in this service's form, in the registry service's without `id`, or in the payment service's. */
export const updateKeyBody = formedBody(
  [
    updateApiKeyBody.transform((body) => ({ form: "own" as const, body })),
    externalUpdateBody.transform(({ token, ...body }) => ({
      form: "external" as const,
      body: { ...body, newToken: token },
    })),
    z
      .strictObject({ token, ...changeFields })
      .transform(({ token, ...body }) => ({ form: "registry" as const, token, body })),
  ],
  (body) => {
    const hasToken = Object.hasOwn(body, "token");
    if (hasToken && !Object.hasOwn(body, "id")) return 2;
    return Number(hasToken || isExternal(body));
  },
);

/** The key to delete: by its id, or by its token as the registry service has it. */
export const deleteKeyBody = formedBody([deleteApiKeyBody, z.strictObject({ token })], (body) =>
  Number(Object.hasOwn(body, "token") && !Object.hasOwn(body, "id")),
);

/** What the payment service's clients send of a new key or a changed one. */
export type ExternalSettings = Partial<z.output<typeof externalCreateBody>> & {
  UsageCreditsToAddOrRemove?: z.output<typeof externalCreateBody>["UsageCredits"] | undefined;
};
