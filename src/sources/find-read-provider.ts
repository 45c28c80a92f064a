import { and, asc, eq, isNull } from "drizzle-orm";
import type { Network } from "../chain/network.ts";
import type { Provider } from "../chain/provider/provider.ts";
import { openDb } from "../db/client.ts";
import { equalsIfGiven } from "../db/conditions.ts";
import { unsealOrEmpty } from "../db/sealed.ts";
import type { AppContext } from "../http/context.ts";
import { openSourceProvider } from "./open-source-provider.ts";
import { toProviderKeyEncryptionContext } from "./source-row.ts";
import { paymentSource } from "./tables.ts";

/**
 * The provider that a caller's read asks: that of the oldest payment source of a network, or of those
 * with a policy, whose key opens. Null when there is none.
 */
export async function findReadProvider(
  c: AppContext,
  { network, policyId }: { network: Network; policyId?: string },
): Promise<Provider | null> {
  const sources = await openDb(c.env, undefined, { deadline: c.var.deadline })
    .orm.select()
    .from(paymentSource)
    .where(
      and(
        eq(paymentSource.network, network),
        isNull(paymentSource.deletedAt),
        equalsIfGiven(paymentSource.policyId, policyId),
      ),
    )
    .orderBy(asc(paymentSource.id));
  for (const source of sources) {
    const { id, rpcProviderApiKey } = source;
    const key = await unsealOrEmpty(c.env, toProviderKeyEncryptionContext(id), rpcProviderApiKey);
    if (key !== "") return openSourceProvider(c.env, source, { caller: c.var.caller.id });
  }
  return null;
}
