import * as z from "zod";
import { ENV_ADMIN_ID } from "../../../src/api-keys/find-key.ts";
import { newToken } from "../../../src/api-keys/schemas.ts";
import { apiKey } from "../../../src/api-keys/tables.ts";
import { createToken, hashToken, maskToken } from "../../../src/api-keys/token.ts";
import { createKeyBody } from "../../../src/compatibility/key-bodies.ts";
import { toNewKey } from "../../../src/compatibility/to-key-changes.ts";
import {
  defineKind,
  type ImportContext,
  LeftOut,
  optionalText,
  optionalTime,
  parseRow,
  text,
  time,
} from "../import-context.ts";

const schema = z.object({
  id: text,
  createdAt: time,
  tokenHash: text,
  encryptedToken: optionalText,
  status: z.enum(["Active", "Revoked"]),
  canRead: z.boolean(),
  canPay: z.boolean(),
  canAdmin: z.boolean(),
  networkLimit: z.array(text),
  usageLimited: z.boolean(),
  walletScopeEnabled: z.boolean(),
  deletedAt: optionalTime,
});
type PeerKey = z.output<typeof schema>;

/** The networks of the ledger, by their CAIP-2 ids and their names there. */
const LEDGER_NETWORKS: Record<string, string> = {
  "cardano:mainnet": "Mainnet",
  "cardano:preprod": "Preprod",
  Mainnet: "Mainnet",
  Preprod: "Preprod",
};

/** API keys with their tokens. What is left of credits becomes the spending limit on each network. */
export const apiKeys = defineKind({
  name: "API keys",
  table: "ApiKey",
  schema,
  async convert(row, context) {
    if (row.deletedAt !== null) throw new LeftOut("was deleted there");
    if (context.present.names.get("api_key")?.has(row.id)) {
      context.keyIds.add(row.id);
      return "present";
    }
    const settings = toSettings(row, context);
    const { token, isNew } = openToken(row, context, settings.permission);
    const tokenHash = await hashToken(context.env, token);
    context.claim("api_key", row.id, tokenHash, "another key here has its token");
    context.keyIds.add(row.id);
    if (isNew && row.status === "Active")
      context.newSecrets.push(`API key ${row.id} has the new token ${token}`);
    const { name, permission, usageLimited, maxUsageCredits, walletLimit, spendingLimits } =
      settings;
    const key: typeof apiKey.$inferInsert = {
      id: row.id,
      tokenHash,
      maskedToken: maskToken(token),
      name,
      permission,
      status: row.status,
      canPay: settings.canPay ?? false,
      networkLimit: JSON.stringify(settings.networkLimit ?? []),
      usageLimited,
      maxUsageCredits,
      accumulatedUsageCredits: 0,
      walletLimit: walletLimit ? JSON.stringify(walletLimit) : null,
      spendingLimits: spendingLimits ? JSON.stringify(spendingLimits) : null,
      returnAddresses: "[]",
      createdById: ENV_ADMIN_ID,
      createdAt: row.createdAt,
      updatedAt: context.now,
    };
    return [context.orm.insert(apiKey).values(key).toSQL()];
  },
});

/** The settings, as if a client created the key in the form of the other service. */
function toSettings(row: PeerKey, context: ImportContext) {
  const { canRead, canPay, canAdmin, usageLimited, walletScopeEnabled } = row;
  const scope = context
    .findRows("ApiKeyWalletScope", "apiKeyId", row.id)
    .flatMap(({ hotWalletId }) => context.wallets.get(String(hotWalletId))?.id ?? []);
  const credits = context.findRows("UnitValue", "apiKeyId", row.id);
  const { form, body } = parseRow(createKeyBody, {
    ...{ canRead, canPay, canAdmin },
    // An Admin has no limit, whatever the row says.
    usageLimited: usageLimited && !canAdmin,
    NetworkLimit: [...new Set(row.networkLimit.flatMap((one) => LEDGER_NETWORKS[one] ?? []))],
    ChainIdLimit: row.networkLimit.filter((one) => !(one in LEDGER_NETWORKS)),
    walletScopeEnabled: walletScopeEnabled && !canAdmin,
    ...(walletScopeEnabled && !canAdmin && { WalletScopeHotWalletIds: scope }),
    UsageCredits:
      usageLimited && !canAdmin
        ? credits.map((one) => ({ unit: one.unit, amount: one.amount }))
        : [],
  });
  if (form !== "external") throw new Error("the form of the other service was not recognized");
  return toNewKey(body);
}

/** The token that clients have. A new one where it cannot be proven. @throws LeftOut for a public token */
function openToken(
  { encryptedToken, tokenHash }: PeerKey,
  { secrets }: ImportContext,
  permission: "Admin" | "User",
): { token: string; isNew: boolean } {
  const token = encryptedToken === null ? null : secrets.open(encryptedToken);
  if (token === null || secrets.hashToken(token) !== tokenHash)
    return { token: createToken(permission), isNew: true };
  const checked = newToken.safeParse(token);
  if (!checked.success) throw new LeftOut(`its token ${checked.error.issues[0]?.message}`);
  return { token, isNew: false };
}
