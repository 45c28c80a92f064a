import { db, violates } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { seal } from "../db/sealed.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { idempotently } from "../http/idempotency.ts";
import { addressOn, checkProviderKey, findContractTransaction } from "../sources/checks.ts";
import { contractOf } from "../sources/contracts/derive.ts";
import { initialCursor } from "../sources/cursor.ts";
import { providerFor } from "../sources/provider.ts";
import { providerKeyPlace, type SourceRow } from "../sources/record.ts";
import { paymentSource } from "../sources/tables.ts";
import {
  decideDrives,
  deriveWallets,
  insertWallets,
  rejectDuplicates,
  toConflictError,
} from "../wallets/managed/derive-wallets.ts";
import type { PaymentSourceRecord } from "./answer-schemas.ts";
import { NEVER_SYNCED, render } from "./record.ts";
import type { CreateBody } from "./schemas.ts";

/**
 * Creates a payment source with its wallets and its cursor, in one batch.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 409, 422, 502; ProviderError when the provider cannot be reached
 */
export async function createSource(
  c: AppContext,
  body: CreateBody,
  now: number,
): Promise<PaymentSourceRecord> {
  const { network } = body;
  const creator = c.var.caller.id;
  const findContract = contractOf(c.env, body);
  const draft = await draftSource(c, body, now);
  const drafts = await deriveWallets(c.env, draft, "", body, creator, now);
  rejectDuplicates(drafts);

  const database = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return idempotently(c, database, now, async (remember) => {
    const { rpcProviderApiKey } = body.PaymentSourceConfig;
    const provider = await providerFor(c.env, network, rpcProviderApiKey, "wallet");
    await checkProviderKey(provider);
    const { address: contractAddress, policyId } = await findContract(provider);
    const source: SourceRow = { ...draft, contractAddress, policyId };
    const first = body.lastIdentifierChecked;
    const after =
      first === null ? null : await findContractTransaction(provider, contractAddress, first);

    const rows = drafts.map(await decideDrives(provider, source, drafts));
    const status = { ...NEVER_SYNCED, lastIdentifierChecked: first };
    const record = render(source, rows, rpcProviderApiKey, status);
    const detail = { network, contractAddress, wallets: rows.map(({ id }) => id) };
    try {
      await commitAudited(
        c,
        database,
        { action: "payment-source.create", target: source.id, detail, now },
        [
          ...(await remember(record)),
          database.orm.insert(paymentSource).values(source).toSQL(),
          ...insertWallets(database, rows),
          ...initialCursor(source, after),
        ],
      );
    } catch (error) {
      if (violates(error, "payment_source.contract_address"))
        throw new ApiError(
          "already_exists",
          "smartContractAddress: a payment source already has this contract",
        );
      throw await toConflictError(error, database, network, drafts);
    }
    return record;
  });
}

/** The row of the new source, without its contract. */
async function draftSource(
  c: AppContext,
  body: CreateBody,
  now: number,
): Promise<Omit<SourceRow, "contractAddress" | "policyId">> {
  const { network, AdminWallets, FeeReceiverNetworkWallet: feeReceiver } = body;
  const adminWallets = AdminWallets.map(({ walletAddress }, order) => ({
    walletAddress: addressOn(network, `AdminWallets[${order}].walletAddress`, walletAddress),
    order,
  }));

  const id = newId(now);
  const { rpcProvider, rpcProviderApiKey } = body.PaymentSourceConfig;
  return {
    id,
    network,
    type: body.paymentSourceType,
    adminWallets: JSON.stringify(adminWallets),
    feeRatePermille: body.feeRatePermille,
    feeReceiverAddress:
      feeReceiver &&
      addressOn(network, "FeeReceiverNetworkWallet.walletAddress", feeReceiver.walletAddress),
    requiredAdminSignatures: body.requiredAdminSignatures,
    cooldownTime: body.cooldownTime,
    rpcProvider,
    rpcProviderApiKey: await seal(c.env, providerKeyPlace(id), rpcProviderApiKey),
    drives: body.drives,
    autoWithdrawPayments: body.autoWithdrawPayments,
    autoWithdrawRefunds: body.autoWithdrawRefunds,
    createdById: c.var.caller.id,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
}
