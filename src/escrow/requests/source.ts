import { and, asc, eq, isNull } from "drizzle-orm";
import type { Network, PaymentSourceType } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import { ApiError } from "../../http/errors.ts";
import type { SourceRow } from "../../sources/record.ts";
import { paymentSource } from "../../sources/tables.ts";

/** Length of a policy id in hex: an agent identifier begins with it. */
const POLICY_LENGTH = 56;

/** The followed payment sources of an agent's policy, oldest first. */
export function sourcesOfPolicy(
  core: Database,
  network: Network,
  agentIdentifier: string,
): Promise<SourceRow[]> {
  return core.orm
    .select()
    .from(paymentSource)
    .where(
      and(
        eq(paymentSource.network, network),
        eq(paymentSource.policyId, agentIdentifier.slice(0, POLICY_LENGTH)),
        isNull(paymentSource.deletedAt),
      ),
    )
    .orderBy(asc(paymentSource.createdAt), asc(paymentSource.id));
}

/**
 * The same, all of one type; at least one.
 *
 * @throws ApiError 404 when there is none, 400 when none is of the given type
 */
export async function sourcesOfAgent(
  core: Database,
  network: Network,
  agentIdentifier: string,
  type?: PaymentSourceType,
): Promise<readonly [SourceRow, ...SourceRow[]]> {
  const rows = await sourcesOfPolicy(core, network, agentIdentifier);
  const [oldest] = rows;
  if (!oldest)
    throw new ApiError(404, "agentIdentifier: no payment source has this agent's policy");
  const [first, ...others] = rows.filter((row) => row.type === (type ?? oldest.type));
  if (!first)
    throw new ApiError(400, `paymentSourceType: the agent's payment source is of ${oldest.type}`);
  return [first, ...others];
}
