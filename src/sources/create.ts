import { db } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { seal } from "../db/sealed.ts";
import { commitAudited } from "../http/audit.ts";
import type { AppContext } from "../http/context.ts";
import { idempotently } from "../http/idempotency.ts";
import { addressOn, checkProviderKey, findContractTransaction } from "./checks.ts";
import { contractOf } from "./contract.ts";
import { initialCursor } from "./cursor.ts";
import { providerFor } from "./provider.ts";
import { NEVER_SYNCED, providerKeyPlace, render, type SourceRow } from "./record.ts";
import type { CreateBody, PaymentSourceRecord } from "./schemas.ts";
import { managedWallet, paymentSource } from "./tables.ts";
import { conflictOf, deriveWallets, refuseRepeated } from "./wallets.ts";

/**
 * Creates a payment source with its wallets and its cursor, in one batch.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 400, 409, 422, 502; ProviderError when the provider cannot be asked
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
  const wallets = [
    ...(await deriveWallets(
      c.env,
      draft,
      "PurchasingWallets",
      body.PurchasingWallets,
      creator,
      now,
    )),
    ...(await deriveWallets(c.env, draft, "SellingWallets", body.SellingWallets, creator, now)),
  ];
  refuseRepeated(wallets);
  const rows = wallets.map(({ row }) => row);

  const database = db(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  return idempotently(c, database, now, async (remember) => {
    const { rpcProviderApiKey } = body.PaymentSourceConfig;
    const provider = await providerFor(c.env, network, rpcProviderApiKey);
    await checkProviderKey(provider);
    const { address: contractAddress, policyId } = await findContract(provider);
    const source: SourceRow = { ...draft, contractAddress, policyId };
    const first = body.lastIdentifierChecked;
    const after =
      first === null ? null : await findContractTransaction(provider, contractAddress, first);

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
          ...rows.map((row) => database.orm.insert(managedWallet).values(row).toSQL()),
          ...initialCursor(source, after),
        ],
      );
    } catch (error) {
      throw await conflictOf(error, database, network, wallets);
    }
    return record;
  });
}

/** The row of the new source, but for its contract. */
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
    createdById: c.var.caller.id,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
}
