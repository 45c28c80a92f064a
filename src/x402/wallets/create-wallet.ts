import { and, desc, eq, inArray, isNull, lt } from "drizzle-orm";
import type { Hex } from "viem";
import { openDb, violates } from "../../db/client.ts";
import { newId } from "../../db/id.ts";
import { seal } from "../../db/sealed.ts";
import { commitWithAudit } from "../../http/audit.ts";
import { requireNetwork } from "../../http/authenticate.ts";
import type { AppContext } from "../../http/context.ts";
import { toIsoTime } from "../../http/envelope.ts";
import { ApiError } from "../../http/errors.ts";
import { runIdempotently } from "../../http/idempotency.ts";
import { loadViem } from "../../packages.ts";
import { toAccessCondition } from "../model/access-condition.ts";
import { x402Network, x402Wallet } from "../model/tables.ts";
import {
  findNetwork,
  toPrivateKeyEncryptionContext,
  type WalletRow,
} from "../networks/settlement-network.ts";
import type { NewWallet, WalletQuery } from "./schemas.ts";

/**
 * Creates or imports a wallet. A generated key is shown in this answer only.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 404, 409
 */
export async function createX402Wallet(c: AppContext, body: NewWallet, now: number) {
  requireNetwork(c.var.caller, body.caip2Network, "caip2Network");
  const core = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const network = await findNetwork(core, body.caip2Network);
  if (!network) throw new ApiError(404, `caip2Network: there is no network ${body.caip2Network}`);

  return runIdempotently(c, core, now, async (remember) => {
    const { generatePrivateKey, privateKeyToAddress } = await loadViem();
    const privateKey = (body.privateKey ?? generatePrivateKey()) as Hex;
    let address: string;
    try {
      address = privateKeyToAddress(privateKey).toLowerCase();
    } catch {
      throw new ApiError(400, "privateKey: must be a secp256k1 key");
    }
    const id = newId(now);
    const row: WalletRow = {
      id,
      caip2Id: body.caip2Network,
      address,
      type: body.type,
      privateKey: await seal(c.env, toPrivateKeyEncryptionContext(id), privateKey),
      wasFacilitator: false,
      note: body.note,
      createdById: c.var.caller.id,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    };
    const answer = {
      ...renderWallet(row, network.id),
      privateKey: body.privateKey === undefined ? privateKey : null,
    };
    const detail = { caip2Network: row.caip2Id, address, type: row.type };
    try {
      await commitWithAudit(c, core, { action: "x402-wallet.create", target: id, detail, now }, [
        ...(await remember(answer)),
        core.orm.insert(x402Wallet).values(row).toSQL(),
      ]);
    } catch (error) {
      if (violates(error, "x402_wallet.address"))
        throw new ApiError("already_exists", `privateKey: the wallet ${address} already exists`);
      throw error;
    }
    return answer;
  });
}

/** The caller's wallets, all of them for an Admin; newest first. */
export async function listWallets(c: AppContext, query: WalletQuery) {
  const wallets = await readWallets(c, query);
  const core = openDb(c.env, undefined, { deadline: c.var.deadline });
  const { id, caip2Id } = x402Network;
  const networks = await core.orm
    .select({ id, caip2Id })
    .from(x402Network)
    .where(inArray(caip2Id, [...new Set(wallets.map((wallet) => wallet.caip2Id))]));
  const ids = new Map(networks.map((network) => [network.caip2Id, network.id]));
  return wallets.map((wallet) => renderWallet(wallet, ids.get(wallet.caip2Id) ?? ""));
}

/** The same, as they are stored. */
export function readWallets(c: AppContext, query: WalletQuery): Promise<WalletRow[]> {
  return openDb(c.env, undefined, { deadline: c.var.deadline })
    .orm.select()
    .from(x402Wallet)
    .where(toWalletCondition(c, query))
    .orderBy(desc(x402Wallet.id))
    .limit(query.limit);
}

/** How many they are. */
export function countWallets(c: AppContext, filter: Omit<WalletQuery, "limit">): Promise<number> {
  const { orm } = openDb(c.env, undefined, { deadline: c.var.deadline });
  return orm.$count(x402Wallet, toWalletCondition(c, filter));
}

function toWalletCondition(
  { env, var: { caller, deadline } }: AppContext,
  query: Omit<WalletQuery, "limit">,
) {
  const { orm } = openDb(env, undefined, { deadline });
  const { id, caip2Id } = x402Network;
  return and(
    isNull(x402Wallet.deletedAt),
    toAccessCondition(caller, x402Wallet.createdById, x402Wallet.caip2Id),
    query.caip2Network === undefined ? undefined : eq(x402Wallet.caip2Id, query.caip2Network),
    query.networkId === undefined
      ? undefined
      : inArray(
          x402Wallet.caip2Id,
          orm.select({ caip2Id }).from(x402Network).where(eq(id, query.networkId)),
        ),
    query.type && eq(x402Wallet.type, query.type),
    query.id === undefined ? undefined : eq(x402Wallet.id, query.id),
    query.cursorId === undefined ? undefined : lt(x402Wallet.id, query.cursorId),
  );
}

function renderWallet(
  { id, caip2Id, address, type, note, createdById, ...row }: WalletRow,
  networkId: string,
) {
  return {
    id,
    networkId,
    caip2Network: caip2Id,
    address,
    type,
    note,
    createdById,
    createdAt: toIsoTime(row.createdAt),
    updatedAt: toIsoTime(row.updatedAt),
  };
}
