import { asc, eq } from "drizzle-orm";
import type * as z from "zod";
import { type Database, openDb, statement, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { seal, unseal } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import { commitWithAudit } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently, type StoreResponse } from "../../http/idempotency.ts";
import {
  checkPublicTarget,
  checkPublicUrl,
  PublicFetchError,
} from "../../http/outbound/fetch-public.ts";
import { abortAfter } from "../../timeout.ts";
import { decodeDecimals, encodeDecimalsCall } from "../evm/balance.ts";
import { createRpc, RpcRefusal, RpcUnavailableError } from "../evm/rpc.ts";
import * as results from "../evm/rpc-results.ts";
import { parseChainId } from "../model/schemas.ts";
import { x402Network, x402Wallet } from "../model/tables.ts";
import { toSponsoringColumns } from "./gas-sponsoring.ts";
import { toNetworkRecord } from "./network-record.ts";
import { RemoteFacilitatorError } from "./remote-facilitator.ts";
import type { NetworkChange, networkQuery } from "./schemas.ts";
import {
  findEvmWallet,
  findNetwork,
  findWallets,
  listFacilitatorIds,
  type NetworkRow,
  readRpcOptions,
  toFacilitatorAuthEncryptionContext,
  toRpcUrlEncryptionContext,
  type WalletRow,
} from "./settlement-network.ts";

const RESOLVER_TIMEOUT_MS = 5_000;

/** Networks by CAIP-2 id: every one, or the testnets or the others alone. */
export async function listNetworks(
  env: Env,
  deadline: number,
  { isTestnet }: z.output<typeof networkQuery> = {},
) {
  const core = openDb(env, undefined, { deadline });
  const rows = await core.orm
    .select({ network: x402Network, facilitator: x402Wallet })
    .from(x402Network)
    .leftJoin(x402Wallet, eq(x402Wallet.id, x402Network.facilitatorWalletId))
    .where(isTestnet === undefined ? undefined : eq(x402Network.isTestnet, isTestnet))
    .orderBy(asc(x402Network.caip2Id));
  return Promise.all(
    rows.map(async ({ network, facilitator }) =>
      toNetworkRecord(
        network,
        facilitator,
        await unseal(env, toRpcUrlEncryptionContext(network.id), network.rpcUrl),
      ),
    ),
  );
}

/**
 * Creates a network or changes the one of that CAIP-2 id. A new RPC URL must be on the declared
 * chain.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404, 422; 502 or 504 when the RPC node fails
 */
export function saveNetwork(c: AppContext, change: NetworkChange, now: number) {
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, core, now, (remember) => writeNetwork(c, core, change, now, remember));
}

async function writeNetwork(
  c: AppContext,
  core: Database,
  change: NetworkChange,
  now: number,
  remember: StoreResponse,
): Promise<ReturnType<typeof toNetworkRecord>> {
  const { caip2Id, displayName, rpcUrl } = change;
  const stored = await findNetwork(core, caip2Id);
  if (!stored && displayName === undefined) throw new ApiError(400, "displayName: is required");
  if (!stored && rpcUrl === undefined) throw new ApiError(400, "rpcUrl: is required");
  if (rpcUrl !== undefined) await checkRpcUrl(c, rpcUrl, caip2Id);
  await requireFacilitatorWallets(core, change);
  if (typeof change.facilitatorUrl === "string")
    await checkFacilitatorUrl(c, change.facilitatorUrl);

  const before = stored ?? createNetworkRow(c, caip2Id, now);
  const { id } = before;
  const url = rpcUrl ?? (await unseal(c.env, toRpcUrlEncryptionContext(id), before.rpcUrl));
  const defaultAssetDecimals = await readDecimals(c, url, before, change);
  const columns = {
    ...(await toChangedColumns(c, before, change, now)),
    defaultAssetDecimals,
  };
  const row = applyColumns(before, columns);
  const write = stored
    ? core.orm.update(x402Network).set(columns).where(eq(x402Network.id, id))
    : core.orm.insert(x402Network).values(row);
  const facilitator =
    row.facilitatorWalletId === null ? null : await findEvmWallet(core, row.facilitatorWalletId);
  const answer = toNetworkRecord(row, facilitator, url);
  const detail = {
    ...change,
    rpcUrl: rpcUrl !== undefined,
    facilitatorAuth: change.facilitatorAuth !== undefined,
  };
  try {
    await commitWithAudit(c, core, { action: "x402-network.save", target: id, detail, now }, [
      ...(await remember(answer)),
      write.toSQL(),
      statement(
        `UPDATE x402_wallet SET was_facilitator = 1
         WHERE id IN (SELECT value FROM json_each(?)) AND was_facilitator = 0`,
        JSON.stringify(listFacilitatorIds(row)),
      ),
    ]);
  } catch (error) {
    // Another request created the network, so this request updates it.
    if (violates(error, "x402_network.caip2_id"))
      return writeNetwork(c, core, change, now, remember);
    throw error;
  }
  return answer;
}

/** The columns that a change sets: others may be changed concurrently. */
async function toChangedColumns(
  c: AppContext,
  stored: NetworkRow,
  change: NetworkChange,
  now: number,
) {
  const { id } = stored;
  const {
    caip2Id: _,
    facilitatorUrl: ___,
    facilitatorAuth: ____,
    rpcUrl,
    eip6492AllowedFactories: factories,
    defaultAssetDecimals: __,
    facilitatorWalletIds,
    gasSponsoring,
    ...plain
  } = change;
  return {
    ...plain,
    ...(gasSponsoring !== undefined && toSponsoringColumns(gasSponsoring)),
    ...(facilitatorWalletIds && toWalletColumns(facilitatorWalletIds)),
    ...(await toFacilitatorColumns(c, stored, change)),
    rpcUrl:
      rpcUrl === undefined ? undefined : await seal(c.env, toRpcUrlEncryptionContext(id), rpcUrl),
    eip6492Factories: factories && JSON.stringify(factories),
    updatedAt: now,
  };
}

/**
 * The columns of another facilitator. Setting one clears the wallets, and setting a wallet clears the other
 * facilitator. The header goes to no other origin than the one that it was stored for.
 *
 * @throws ApiError 400
 */
async function toFacilitatorColumns(
  c: AppContext,
  { id, facilitatorUrl: stored }: NetworkRow,
  {
    facilitatorUrl,
    facilitatorAuth: auth,
    facilitatorWalletId,
    facilitatorWalletIds,
  }: NetworkChange,
) {
  const hasWallet = Boolean(facilitatorWalletId) || Boolean(facilitatorWalletIds?.length);
  if (typeof facilitatorUrl === "string" && hasWallet)
    throw new ApiError(400, "facilitatorUrl: must be null for a network with facilitator wallets");
  const url = hasWallet
    ? null
    : facilitatorUrl === undefined
      ? stored
      : trimSlashes(facilitatorUrl);
  if (typeof auth === "string" && url === null)
    throw new ApiError(400, "facilitatorAuth: needs a facilitatorUrl");
  const isSameOrigin = url !== null && stored !== null && isSameOriginAs(url, stored);
  const sealed =
    typeof auth === "string"
      ? await seal(c.env, toFacilitatorAuthEncryptionContext(id), auth)
      : auth === null || !isSameOrigin
        ? null
        : undefined;
  return {
    ...(url !== stored && { facilitatorUrl: url }),
    ...(sealed !== undefined && { facilitatorAuth: sealed }),
    ...(typeof facilitatorUrl === "string" && toWalletColumns([])),
  };
}

const trimSlashes = (url: string | null) => url?.replace(/\/+$/, "") ?? null;

const isSameOriginAs = (a: string, b: string) => new URL(a).origin === new URL(b).origin;

/** @throws ApiError 400; 503 when the name cannot be resolved */
async function checkFacilitatorUrl(c: AppContext, text: string): Promise<void> {
  const rules = await readRpcOptions(c.env, c.var.deadline);
  try {
    const url = await abortAfter(RESOLVER_TIMEOUT_MS, (signal) =>
      checkPublicTarget(text, rules, signal),
    );
    if (url.search || url.hash)
      throw new PublicFetchError("refused", "must have no query and no fragment");
  } catch (error) {
    if (!(error instanceof PublicFetchError)) throw error;
    const message = `facilitatorUrl: ${error.message}`;
    if (error.reason === "unresolved") throw new ApiError(503, message, { retryAfter: 5 });
    throw new ApiError(400, message);
  }
}

function toWalletColumns([first, ...others]: string[]) {
  return { facilitatorWalletId: first ?? null, otherFacilitatorWalletIds: JSON.stringify(others) };
}

function applyColumns(
  row: NetworkRow,
  columns: { [Name in keyof NetworkRow]?: NetworkRow[Name] | undefined },
): NetworkRow {
  const set = Object.entries(columns).filter(([, value]) => value !== undefined);
  return { ...row, ...Object.fromEntries(set) };
}

/** A new network without settings. */
function createNetworkRow(c: AppContext, caip2Id: string, now: number): NetworkRow {
  return {
    id: newId(now),
    caip2Id,
    displayName: "",
    rpcUrl: "",
    isTestnet: false,
    isEnabled: true,
    defaultAsset: null,
    defaultAssetDecimals: null,
    facilitatorWalletId: null,
    facilitatorUrl: null,
    facilitatorAuth: null,
    otherFacilitatorWalletIds: "[]",
    ...toSponsoringColumns(null),
    eip6492Factories: "[]",
    createdById: c.var.caller.id,
    createdAt: now,
    updatedAt: now,
  };
}

async function checkRpcUrl(c: AppContext, rpcUrl: string, caip2Id: string): Promise<void> {
  const options = await readRpcOptions(c.env, c.var.deadline);
  try {
    checkPublicUrl(rpcUrl, { allowHttp: true, loopbackOrigins: options.loopbackOrigins });
  } catch (error) {
    throw toUrlError(error) ?? error;
  }
  let chainId: number;
  try {
    chainId = await createRpc(rpcUrl, options).call(results.smallQuantity, "eth_chainId");
  } catch (error) {
    throw toUrlError(error) ?? toRpcApiError(error);
  }
  if (chainId !== parseChainId(caip2Id))
    throw new ApiError(400, `rpcUrl: the node is on chain ${chainId}, not ${caip2Id}`);
}

/**
 * Reads the decimals of the default asset that a change sets or names. Undefined: the change does neither.
 *
 * @param url - of the network's RPC node
 * @throws ApiError 400 when the caller takes them for another number; 502 or 504
 */
async function readDecimals(
  c: AppContext,
  url: string,
  stored: NetworkRow,
  { defaultAsset, defaultAssetDecimals: stated }: NetworkChange,
): Promise<number | null | undefined> {
  if (defaultAsset === undefined && stated === undefined) return undefined;
  const asset = defaultAsset === undefined ? stored.defaultAsset : defaultAsset;
  if (asset === null) return null;
  const rpc = createRpc(url, await readRpcOptions(c.env, c.var.deadline));
  const [answer] = await rpc.callBatch([encodeDecimalsCall(asset)]).catch((error: unknown) => {
    throw toRpcApiError(error);
  });
  if (answer instanceof RpcRefusal && !answer.isRevert) throw toRpcApiError(answer);
  const decimals = decodeDecimals(answer);
  if (decimals !== null && typeof stated === "number" && stated !== decimals)
    throw new ApiError(400, `defaultAssetDecimals: the token has ${decimals} decimals`);
  return decimals ?? stated ?? null;
}

/** What is wrong with the URL, or with what its name resolves to; null for other errors. */
function toUrlError(error: unknown): ApiError | null {
  const cause = error instanceof RpcUnavailableError ? error.cause : error;
  return cause instanceof PublicFetchError && cause.reason === "refused"
    ? new ApiError(400, `rpcUrl: ${cause.message}`)
    : null;
}

/** Converts the error of an RPC node or another facilitator to an API error. Returns others unchanged. */
export function toRpcApiError(error: unknown): unknown {
  if (error instanceof RemoteFacilitatorError)
    return error.timedOut
      ? new ApiError(504, "The other facilitator did not answer in time", { retryAfter: 5 })
      : new ApiError(502, "The other facilitator failed");
  if (error instanceof RpcUnavailableError)
    return error.timedOut
      ? new ApiError(504, "The RPC node did not answer in time", { retryAfter: 5 })
      : new ApiError("rpc_node_failed", "The RPC node failed");
  if (error instanceof RpcRefusal)
    return new ApiError(
      "rpc_node_failed",
      "The RPC node refused the call. Check the network's RPC URL.",
    );
  return error;
}

/** @throws ApiError 400, 404 naming the field whose wallet cannot settle on the network */
async function requireFacilitatorWallets(core: Database, change: NetworkChange): Promise<void> {
  const { caip2Id, facilitatorWalletId: first, facilitatorWalletIds: ids } = change;
  if (ids && first !== undefined && first !== (ids[0] ?? null))
    throw new ApiError(400, "facilitatorWalletIds: must begin with facilitatorWalletId");
  if (ids && new Set(ids).size < ids.length)
    throw new ApiError(400, "facilitatorWalletIds: must not repeat a wallet");
  const named = [
    ...(typeof first === "string" ? [{ field: "facilitatorWalletId", id: first }] : []),
    ...(ids ?? []).map((id) => ({ field: "facilitatorWalletIds", id })),
  ];
  if (named.length === 0) return;
  const wallets = await findWallets(
    core,
    named.map(({ id }) => id),
  );
  for (const { field, id } of named)
    requireFacilitatorWallet(field, wallets.find((one) => one.id === id) ?? null, caip2Id);
}

function requireFacilitatorWallet(field: string, wallet: WalletRow | null, caip2Id: string): void {
  if (!wallet) throw new ApiError(404, `${field}: there is no such wallet`);
  if (wallet.caip2Id !== caip2Id)
    throw new ApiError(400, `${field}: the wallet is on ${wallet.caip2Id}`);
  if (wallet.type !== "Selling")
    throw new ApiError(400, `${field}: must be a wallet of the type Selling`);
}
