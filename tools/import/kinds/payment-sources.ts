import * as z from "zod";
import { ENV_ADMIN_ID } from "../../../src/api-keys/find-key.ts";
import { NETWORKS } from "../../../src/chain/network.ts";
import { seal } from "../../../src/db/sealed.ts";
import { createSourceBody } from "../../../src/payment-sources/schemas.ts";
import { insertCursor } from "../../../src/sources/cursor.ts";
import { type SourceRow, toProviderKeyEncryptionContext } from "../../../src/sources/source-row.ts";
import { paymentSource } from "../../../src/sources/tables.ts";
import { requireAddress, requireContractAddress } from "../../../src/sources/validate-request.ts";
import {
  defineKind,
  type ImportContext,
  LeftOut,
  optionalText,
  optionalTime,
  parseRow,
  sourceType,
  text,
  time,
} from "../import-context.ts";

const schema = z.object({
  id: text,
  createdAt: time,
  network: z.enum(NETWORKS),
  paymentSourceType: sourceType,
  requiredAdminSignatures: z.int().nullable(),
  smartContractAddress: text,
  adminWalletId: optionalText,
  feeRatePermille: z.int(),
  cooldownTime: z.int(),
  paymentSourceConfigId: text,
  deletedAt: optionalTime,
  policyId: optionalText,
  disablePaymentAt: optionalTime,
  disableSyncAt: optionalTime,
});
type PeerSource = z.output<typeof schema>;

/** Payment sources, which drive nothing. Their sync starts at the first transaction of the contract. */
export const paymentSources = defineKind({
  name: "payment sources",
  table: "PaymentSource",
  schema,
  async convert(row, context) {
    if (row.deletedAt !== null) throw new LeftOut("was removed there");
    const source = await buildSource(row, context);
    const followed = context.present.sources.find(
      (one) => one.network === source.network && one.contractAddress === source.contractAddress,
    );
    if (followed) {
      context.sources.set(row.id, followed);
      return "present";
    }
    const { network, contractAddress } = source;
    const name = `${network} ${contractAddress}`;
    if (!context.claim("payment_source", row.id, name, "another source has its contract"))
      throw new LeftOut("was removed here since an earlier import");
    if (row.disablePaymentAt ?? row.disableSyncAt)
      context.note("payment source that is switched off there from a date on: set its drives");
    context.sources.set(row.id, source);
    return [
      context.orm.insert(paymentSource).values(source).toSQL(),
      ...insertCursor(source, null),
    ];
  },
});

async function buildSource(row: PeerSource, context: ImportContext): Promise<SourceRow> {
  const config = context.findRow("PaymentSourceConfig", row.paymentSourceConfigId);
  const admins = context
    .findRows("AdminWallet", "paymentSourceAdminId", row.id)
    .toSorted((one, other) => Number(one.order) - Number(other.order));
  const receiver = context.findRow("AdminWallet", row.adminWalletId);
  const toWallet = ({ walletAddress }: Record<string, unknown>) => ({ walletAddress });
  const body = parseRow(createSourceBody, {
    network: row.network,
    paymentSourceType: row.paymentSourceType,
    smartContractAddress: row.smartContractAddress,
    policyId: row.policyId,
    PaymentSourceConfig: {
      rpcProvider: config?.rpcProvider,
      rpcProviderApiKey: config?.rpcProviderApiKey,
    },
    AdminWallets: admins.map(toWallet),
    feeRatePermille: row.feeRatePermille,
    FeeReceiverNetworkWallet: receiver ? toWallet(receiver) : null,
    requiredAdminSignatures: row.requiredAdminSignatures,
    cooldownTime: row.cooldownTime,
    drives: "nothing",
  });
  const { network, smartContractAddress = "", policyId = "" } = body;
  const { rpcProvider, rpcProviderApiKey } = body.PaymentSourceConfig;
  const toAddress = (field: string, one: { walletAddress: string }) =>
    requireAddress(network, field, one.walletAddress);
  const feeReceiver = body.FeeReceiverNetworkWallet;
  return {
    id: row.id,
    network,
    type: body.paymentSourceType,
    contractAddress: requireContractAddress(network, smartContractAddress).address,
    policyId,
    adminWallets: JSON.stringify(
      body.AdminWallets.map((one, order) => ({
        walletAddress: toAddress("AdminWallets", one),
        order,
      })),
    ),
    feeRatePermille: body.feeRatePermille,
    feeReceiverAddress: feeReceiver && toAddress("FeeReceiverNetworkWallet", feeReceiver),
    requiredAdminSignatures: body.requiredAdminSignatures,
    cooldownTime: body.cooldownTime,
    rpcProvider,
    rpcProviders: null,
    rpcProviderApiKey: await seal(
      context.env,
      toProviderKeyEncryptionContext(row.id),
      rpcProviderApiKey,
    ),
    drives: "nothing",
    autoWithdrawPayments: null,
    autoWithdrawRefunds: null,
    createdById: ENV_ADMIN_ID,
    createdAt: row.createdAt,
    updatedAt: context.now,
    deletedAt: null,
  };
}
