import { openDb, type Statement } from "../../db/client.ts";
import { requireNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { x402PaymentSource } from "../model/tables.ts";
import {
  findSettlementNetwork,
  NoSettlementNetworkError,
  type SettlementNetwork,
} from "../networks/settlement-network.ts";
import { createSourceRow, resolveTokenDetails } from "./payment-sources.ts";

/** How an agent is paid on an EVM chain. Addresses are in lower case. */
export interface AgentSource {
  caip2Network: string;
  /** Null: the agent takes any token, or no payment. */
  asset: string | null;
  /** Null: the price is not fixed. */
  amount: string | null;
  /** What the request says of the token; null: nothing. */
  decimals: number | null;
  payTo: string;
  /** Null: any. */
  resource: string | null;
  extra: Record<string, unknown> | undefined;
}

/** What `prepareAgentSource` found out about a way to be paid. */
export interface PreparedSource {
  /** Of the token; null where the source names none. */
  decimals: number | null;
  /** Id of the paid resource of a fixed price; null for any other. */
  resourceId: string | null;
  /** Insert the paid resource. */
  statements: Statement[];
  warnings: string[];
}

/** Seconds that a settlement for an agent may take. */
const SETTLEMENT_TIMEOUT_SECONDS = 300;

/**
 * Checks that this service settles payments to an agent on an EVM chain.
 *
 * @param field - where the request names the chain
 * @throws ApiError 400, 403
 */
export async function requireSettlementNetwork(
  c: AppContext,
  caip2Network: string,
  field: string,
): Promise<SettlementNetwork> {
  requireNetwork(c.var.caller, caip2Network, field);
  try {
    return await findSettlementNetwork(c.env, caip2Network, c.var.deadline);
  } catch (error) {
    if (!(error instanceof NoSettlementNetworkError)) throw error;
    throw new ApiError(400, `${field}: ${error.message}`);
  }
}

/** The registration of an agent. */
export interface AgentOwner {
  registrationId: string;
  /** Id of the API key that may settle payments to the agent. */
  keyId: string;
}

/**
 * Checks a way in which an agent is to be paid over x402. A fixed price becomes a paid resource.
 *
 * @param fields - where the request names the chain, the token and its decimals
 * @param now - epoch milliseconds
 * @throws ApiError 400, 403, 502, 504
 */
export async function prepareAgentSource(
  c: AppContext,
  source: AgentSource,
  owner: AgentOwner,
  fields: { network: string; asset: string; decimals: string },
  now: number,
): Promise<PreparedSource> {
  const { asset, amount, extra } = source;
  const { network } = await requireSettlementNetwork(c, source.caip2Network, fields.network);
  if (asset === null) return { decimals: null, resourceId: null, statements: [], warnings: [] };
  const terms = { name: toText(extra?.name), version: toText(extra?.version) };
  const token = await resolveTokenDetails(c, network, asset, terms, fields.asset);
  if (source.decimals !== null && source.decimals !== token.decimals)
    throw new ApiError(400, `${fields.decimals}: the token has ${token.decimals} decimals`);
  const { decimals, warnings } = token;
  if (amount === null) return { decimals, resourceId: null, statements: [], warnings };
  const row = createSourceRow(
    {
      url: source.resource,
      description: null,
      scheme: "exact",
      caip2Network: source.caip2Network,
      asset,
      amount,
      payTo: source.payTo,
      maxTimeoutSeconds: SETTLEMENT_TIMEOUT_SECONDS,
      registryRequestId: owner.registrationId,
      discovery: null,
    },
    token,
    owner.keyId,
    now,
  );
  const insertion = openDb(c.env).orm.insert(x402PaymentSource).values(row).toSQL();
  return { decimals, resourceId: row.id, statements: [insertion], warnings };
}

const toText = (value: unknown) => (typeof value === "string" ? value : undefined);
