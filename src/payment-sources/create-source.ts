import { onViolation, openDb } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { seal } from "../db/sealed.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { runIdempotently } from "../http/idempotency.ts";
import { createContractFinder } from "../sources/contracts/derive-contract.ts";
import { insertCursor } from "../sources/cursor.ts";
import { renderFurtherProviders, validateFurtherProviders } from "../sources/further-providers.ts";
import { createProvider } from "../sources/open-source-provider.ts";
import { sealFurtherProviders } from "../sources/provider-list.ts";
import { type SourceRow, toProviderKeyEncryptionContext } from "../sources/source-row.ts";
import { paymentSource } from "../sources/tables.ts";
import {
  checkProviderKey,
  findContractTransaction,
  requireAddress,
  requireTransactionBytes,
} from "../sources/validate-request.ts";
import {
  decideAutomationModes,
  deriveWallets,
  insertWallets,
  rejectDuplicateWallets,
  throwForManagedWallets,
} from "../wallets/managed/derive-wallets.ts";
import { INITIAL_SYNC_STATUS, toSourceRecord } from "./list-sources.ts";
import type { PaymentSourceRecord } from "./response-schemas.ts";
import type { CreateSourceBody } from "./schemas.ts";

/**
 * Creates a payment source with its wallets and its cursor, in one batch.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 409, 422, 502; ProviderError when the provider cannot be reached
 */
export async function createSource(
  c: AppContext,
  body: CreateSourceBody,
  now: number,
): Promise<PaymentSourceRecord> {
  const { network } = body;
  const creator = c.var.caller.id;
  const findContract = createContractFinder(c.env, body);
  const draft = await buildSourceDraft(c, body, now);
  const drafts = await deriveWallets(c.env, draft, "", body, creator, now);
  rejectDuplicateWallets(drafts);

  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, database, now, async (remember) => {
    const { rpcProviderApiKey } = body.PaymentSourceConfig;
    const provider = await createProvider(c.env, network, rpcProviderApiKey, "wallet");
    await checkProviderKey(provider);
    const { address: contractAddress, policyId } = await findContract(provider);
    await requireTransactionBytes(provider, contractAddress);
    const place = { network, contractAddress };
    const further = await validateFurtherProviders(c, place, body.RpcProviders ?? [], []);
    const source: SourceRow = {
      ...draft,
      ...{ contractAddress, policyId },
      rpcProviders: await sealFurtherProviders(c.env, draft, further),
    };
    const first = body.lastIdentifierChecked;
    const after =
      first === null ? null : await findContractTransaction(provider, contractAddress, first);

    const rows = drafts.map(await decideAutomationModes(provider, source, drafts));
    const status = { ...INITIAL_SYNC_STATUS, lastIdentifierChecked: first };
    const record = toSourceRecord(
      source,
      rows,
      rpcProviderApiKey,
      status,
      renderFurtherProviders(further),
    );
    const detail = { network, contractAddress, wallets: rows.map(({ id }) => id) };
    const entry = { action: "payment-source.create", target: source.id, detail, now } as const;
    await commitWithAudit(c, database, entry, [
      ...(await remember(record)),
      database.orm.insert(paymentSource).values(source).toSQL(),
      ...insertWallets(database, rows),
      ...insertCursor(source, after),
    ])
      .catch(onViolation("payment_source.contract_address", createContractTakenError))
      .catch(throwForManagedWallets(database, network, drafts));
    return record;
  });
}

function createContractTakenError(): ApiError {
  const message = "smartContractAddress: a payment source already has this contract";
  return new ApiError("already_exists", message);
}

/** The row of the new source, without its contract. */
async function buildSourceDraft(
  c: AppContext,
  body: CreateSourceBody,
  now: number,
): Promise<Omit<SourceRow, "contractAddress" | "policyId" | "rpcProviders">> {
  const { network, AdminWallets, FeeReceiverNetworkWallet: feeReceiver } = body;
  const adminWallets = AdminWallets.map(({ walletAddress }, order) => ({
    walletAddress: requireAddress(network, `AdminWallets[${order}].walletAddress`, walletAddress),
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
      requireAddress(network, "FeeReceiverNetworkWallet.walletAddress", feeReceiver.walletAddress),
    requiredAdminSignatures: body.requiredAdminSignatures,
    cooldownTime: body.cooldownTime,
    rpcProvider,
    rpcProviderApiKey: await seal(c.env, toProviderKeyEncryptionContext(id), rpcProviderApiKey),
    drives: body.drives,
    autoWithdrawPayments: body.autoWithdrawPayments,
    autoWithdrawRefunds: body.autoWithdrawRefunds,
    createdById: c.var.caller.id,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
}
