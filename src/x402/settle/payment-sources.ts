import { and, desc, eq, isNull, lt } from "drizzle-orm";
import { type Database, openDb } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { commitWithAudit } from "../../http/audit.ts";
import { requireNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import { toAccessCondition } from "../model/access-condition.ts";
import { type PaymentRequirements, parseChainId } from "../model/schemas.ts";
import { x402PaymentSource } from "../model/tables.ts";
import { pickFacilitator } from "../networks/pick-facilitator.ts";
import { toRpcApiError } from "../networks/save-network.ts";
import {
  findNetwork,
  listFacilitators,
  type NetworkRow,
  openRpc,
} from "../networks/settlement-network.ts";
import { hasUptoProxy } from "../networks/upto-networks.ts";
import { type DiscoveryEntry, requireListable } from "./discovery-entry.ts";
import type { NewPaymentSource, SourcePayment } from "./schemas.ts";

export type PaymentSourceRow = typeof x402PaymentSource.$inferSelect;

/**
 * Registers a paid resource. Name, version and decimals of the token come from the token itself
 * unless they are given.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 404; 502 or 504 when the RPC node fails
 */
export async function createPaymentSource(c: AppContext, body: NewPaymentSource, now: number) {
  requireNetwork(c.var.caller, body.caip2Network, "caip2Network");
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const network = await findNetwork(core, body.caip2Network);
  if (!network?.isEnabled)
    throw new ApiError(404, `caip2Network: there is no enabled network ${body.caip2Network}`);
  const asset = body.asset ?? network.defaultAsset;
  if (asset === null)
    throw new ApiError(400, "asset: is required, because the network has no default asset");
  if (body.discovery !== null) await requireListable(c, body);

  return runIdempotently(c, core, now, async (remember) => {
    const token = await resolveTokenDetails(c, network, asset, body.extra);
    if (body.scheme === "upto") await requireUptoProxy(c, network);
    const row = createSourceRow({ ...body, asset }, token, c.var.caller.id, now);
    const [record] = await renderSources(core, [row]);
    const answer = { ...(record as NonNullable<typeof record>), Warnings: token.warnings };
    const detail = { url: row.url, amount: row.amount, asset, payTo: row.payTo };
    await commitWithAudit(
      c,
      core,
      { action: "x402-payment-source.create", target: row.id, detail, now },
      [...(await remember(answer)), core.orm.insert(x402PaymentSource).values(row).toSQL()],
    );
    return answer;
  });
}

/** The row of a new resource. @param now - epoch milliseconds */
export function createSourceRow(
  { caip2Network: caip2Id, extra: _, discovery, ...terms }: NewPaymentSource & { asset: string },
  { name, version, decimals }: Awaited<ReturnType<typeof resolveTokenDetails>>,
  createdById: string,
  now: number,
): PaymentSourceRow {
  return {
    ...terms,
    id: newId(now),
    caip2Id,
    assetName: name,
    assetVersion: version,
    assetDecimals: decimals,
    discovery: discovery && JSON.stringify(discovery),
    createdById,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
}

const DOMAIN_MISMATCH_WARNING =
  "its DOMAIN_SEPARATOR() is not that of extra.name, extra.version, the chain and the address, " +
  "so EIP-3009 payments will fail. Correct extra, or offer Permit2.";

/**
 * The token's details, in which `terms` come before what the token says of itself.
 *
 * @param field - where the request names the token
 * @throws ApiError 400, 502, 504
 */
export async function resolveTokenDetails(
  c: AppContext,
  network: NetworkRow,
  asset: string,
  terms: NewPaymentSource["extra"],
  field = "asset",
) {
  const { computeDomainSeparator: computeSeparator, readTokenDetails } = await import(
    "../evm/read-token-details.ts"
  );
  try {
    const token = await readTokenDetails(await openRpc(c.env, network, c.var.deadline), asset);
    if (token === null)
      throw new ApiError(400, `${field}: is not the address of a token on this network`);
    const { decimals, domainSeparator } = token;
    const name = terms?.name ?? token.name;
    const version = terms?.version ?? token.version;
    const isOtherDomain =
      domainSeparator !== null &&
      name !== null &&
      version !== null &&
      computeSeparator(parseChainId(network.caip2Id), asset, { name, version }) !== domainSeparator;
    const warnings = isOtherDomain ? [`${field}: ${DOMAIN_MISMATCH_WARNING}`] : [];
    return { name, version, decimals, warnings };
  } catch (error) {
    throw toRpcApiError(error);
  }
}

/** @throws ApiError 400, 502, 504 */
async function requireUptoProxy(c: AppContext, network: NetworkRow): Promise<void> {
  const isDeployed = await hasUptoProxy(c.env, network, c.var.deadline).catch((error: unknown) => {
    throw toRpcApiError(error);
  });
  if (!isDeployed)
    throw new ApiError(400, "scheme: the chain has no contract for upto. Use exact.");
}

/** The caller's registered resources, all of them for an Admin; newest first. */
export async function listPaymentSources(
  c: AppContext,
  query: { limit: number; cursorId?: string | undefined },
) {
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const rows = await core.orm
    .select()
    .from(x402PaymentSource)
    .where(
      and(
        isNull(x402PaymentSource.deletedAt),
        toAccessCondition(c.var.caller, x402PaymentSource.createdById, x402PaymentSource.caip2Id),
        query.cursorId === undefined ? undefined : lt(x402PaymentSource.id, query.cursorId),
      ),
    )
    .orderBy(desc(x402PaymentSource.id))
    .limit(query.limit);
  return renderSources(core, rows);
}

/**
 * The caller's registered resource; any for an Admin.
 *
 * @param field - where the request names the resource
 * @throws ApiError 404, and 403 when the key is not valid for its network
 */
export async function requirePaymentSource(
  c: AppContext,
  id: string,
  field = "supportedPaymentSourceId",
): Promise<PaymentSourceRow> {
  const { caller } = c.var;
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const [row] = await core.orm
    .select()
    .from(x402PaymentSource)
    .where(and(eq(x402PaymentSource.id, id), isNull(x402PaymentSource.deletedAt)));
  if (!row || (caller.permission !== "Admin" && row.createdById !== caller.id))
    throw new ApiError(404, `${field}: there is no such payment source`);
  requireNetwork(caller, row.caip2Id, field);
  return row;
}

/**
 * The requirements that a payment for the resource must meet. A fixed price ignores the request.
 *
 * @param stated - terms of the caller, who owns the resource
 * @throws ApiError 400 when the resource has no price and the terms are missing, or are not its own
 */
export function toRequirements(
  source: PaymentSourceRow,
  stated: SourcePayment["paymentRequirements"],
): PaymentRequirements {
  if (source.amount !== null) return toTerms(source, source.amount, source.maxTimeoutSeconds, null);
  if (!stated)
    throw new ApiError(400, "paymentRequirements: is required, as the resource has no fixed price");
  const requireSame = (field: "scheme" | "network" | "asset" | "payTo", expected: string) => {
    if (stated[field] !== expected)
      throw new ApiError(400, `paymentRequirements.${field}: must be ${expected}`);
  };
  requireSame("scheme", source.scheme);
  requireSame("network", source.caip2Id);
  requireSame("asset", source.asset);
  requireSame("payTo", source.payTo);
  return toTerms(source, stated.amount, stated.maxTimeoutSeconds, null);
}

/** @param facilitatorAddress - of the scheme `upto`: what the payer must name. Null: the terms do not say */
function toTerms(
  source: PaymentSourceRow,
  amount: string,
  maxTimeoutSeconds: number,
  facilitatorAddress: string | null,
): PaymentRequirements {
  return {
    scheme: source.scheme,
    network: source.caip2Id,
    amount,
    asset: source.asset,
    payTo: source.payTo,
    maxTimeoutSeconds,
    extra: {
      ...(source.assetName !== null && { name: source.assetName }),
      ...(source.assetVersion !== null && { version: source.assetVersion }),
      decimals: source.assetDecimals,
      ...(source.scheme === "upto" && { assetTransferMethod: "permit2" }),
      ...(facilitatorAddress !== null && { facilitatorAddress }),
    },
  };
}

/** Resources as the interface shows them. Those of `upto` name the wallet that will settle. */
export async function renderSources(core: Database, rows: readonly PaymentSourceRow[]) {
  const hasUpto = rows.some(({ scheme }) => scheme === "upto");
  const wallets = Map.groupBy(
    hasUpto ? await listFacilitators(core, null) : [],
    ({ caip2Id }) => caip2Id,
  );
  return rows.map((row) => {
    const [first, ...others] = row.scheme === "upto" ? (wallets.get(row.caip2Id) ?? []) : [];
    const wallet = first ? pickFacilitator([first, ...others], row.id) : null;
    return toPaymentSourceRecord(row, wallet?.address ?? null);
  });
}

function toPaymentSourceRecord(row: PaymentSourceRow, facilitator: string | null) {
  const { caip2Id: caip2Network, asset, payTo, amount } = row;
  return {
    id: row.id,
    supportedPaymentSourceId: row.id,
    url: row.url,
    description: row.description,
    registryRequestId: row.registryRequestId,
    scheme: row.scheme,
    requirements: amount === null ? null : toTerms(row, amount, row.maxTimeoutSeconds, facilitator),
    terms: { caip2Network, asset, payTo, amount },
    discovery: row.discovery === null ? null : (JSON.parse(row.discovery) as DiscoveryEntry),
    createdById: row.createdById,
    createdAt: toIsoTime(row.createdAt),
  };
}
