import { env } from "cloudflare:workers";
import { apiKey } from "../../src/api-keys/tables.ts";
import { createToken, hashToken, maskToken } from "../../src/api-keys/token.ts";
import { openDb } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";

interface KeyOptions {
  id?: string;
  token?: string;
  permission?: "Admin" | "User";
  status?: "Active" | "Revoked";
  canPay?: boolean;
  networkLimit?: string[];
  usageLimited?: boolean;
  maxUsageCredits?: number;
  walletLimit?: string[];
  spendingLimits?: { network: string; unit: string; amount: string }[];
  returnAddresses?: string[];
  lastUsedAt?: number | null;
}

/** Writes an API key straight into the table, and returns its token. */
export async function insertKey(options: KeyOptions): Promise<string> {
  const now = Date.now();
  const { token = createToken("User"), networkLimit = ["Preprod", "Mainnet"], ...others } = options;
  const { walletLimit, spendingLimits, returnAddresses = [], ...rest } = others;
  await openDb(env)
    .orm.insert(apiKey)
    .values({
      id: newId(now),
      permission: "User",
      status: "Active",
      canPay: false,
      usageLimited: false,
      maxUsageCredits: 0,
      // Else the first use would write a row, among those that tests count.
      lastUsedAt: now,
      ...rest,
      networkLimit: JSON.stringify(networkLimit),
      ...(walletLimit && { walletLimit: JSON.stringify(walletLimit) }),
      ...(spendingLimits && { spendingLimits: JSON.stringify(spendingLimits) }),
      returnAddresses: JSON.stringify(returnAddresses),
      tokenHash: await hashToken(env, token),
      maskedToken: maskToken(token),
      accumulatedUsageCredits: 0,
      createdById: "env-admin",
      createdAt: now,
      updatedAt: now,
    });
  return token;
}
