import { privateKeyToAddress } from "viem/accounts";
import * as z from "zod";
import { seal } from "../../../src/db/sealed.ts";
import { LEDGER_NAME } from "../../../src/registry/metadata/fields.ts";
import {
  x402Budget,
  x402Network,
  x402PaymentSource,
  x402Wallet,
} from "../../../src/x402/model/tables.ts";
import {
  toFacilitatorAuthEncryptionContext,
  toPrivateKeyEncryptionContext,
  toRpcUrlEncryptionContext,
} from "../../../src/x402/networks/settlement-network.ts";
import {
  amount,
  defineKind,
  LeftOut,
  optionalText,
  optionalTime,
  text,
  time,
} from "../import-context.ts";
import { findResource } from "./agent-metadata.ts";

const caip2Id = z.string().regex(/^eip155:\d{1,18}$/, "must be eip155 and a number");
const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "must be an address")
  .transform((address) => address.toLowerCase());

/** Wallets on EVM chains: one row for each chain. The key must derive the address that the row names. */
export const x402Wallets = defineKind({
  name: "x402 wallets",
  table: "X402EvmWallet",
  schema: z.object({
    id: text,
    createdAt: time,
    networkId: text,
    secretId: text,
    address: evmAddress,
    type: z.enum(["Purchasing", "Selling"]),
    note: optionalText,
    deletedAt: optionalTime,
    createdById: optionalText,
  }),
  async convert(row, context) {
    if (row.deletedAt !== null) throw new LeftOut("was removed there");
    const { id, address, type, note, createdAt } = row;
    const network = caip2Id.safeParse(context.findRow("X402Network", row.networkId)?.caip2Id);
    if (!network.success) throw new LeftOut("its network is left out");
    const sealed = context.findRow("X402WalletSecret", row.secretId)?.encryptedPrivateKey;
    const key = context.secrets.open(String(sealed ?? ""));
    if (!key || !/^0x[0-9a-f]{64}$/i.test(key))
      throw new LeftOut("ENCRYPTION_KEY does not open its key");
    if (privateKeyToAddress(key as `0x${string}`).toLowerCase() !== address)
      throw new LeftOut("its key is that of another wallet");
    const name = `${network.data} ${address}`;
    const isNew = context.claim("x402_wallet", id, name, "another wallet here has its key");
    context.recordIds.set(id, network.data);
    if (!isNew) return "present";
    const wallet: typeof x402Wallet.$inferInsert = {
      ...{ id, caip2Id: network.data, address, type, note, createdAt, updatedAt: context.now },
      privateKey: await seal(context.env, toPrivateKeyEncryptionContext(id), key),
      createdById: context.ownerOf(row.createdById),
    };
    return [context.orm.insert(x402Wallet).values(wallet).toSQL()];
  },
});

/** EVM chains. They settle nothing until they are enabled. */
export const x402Networks = defineKind({
  name: "x402 networks",
  table: "X402Network",
  schema: z.object({
    id: text,
    createdAt: time,
    caip2Id,
    displayName: text,
    rpcUrl: z.url(),
    isTestnet: z.boolean(),
    defaultAsset: evmAddress.nullable(),
    defaultAssetDecimals: z.int().nullable(),
    facilitatorWalletId: optionalText,
    facilitatorUrl: optionalText,
    facilitatorAuthEnc: optionalText,
    createdById: optionalText,
  }),
  async convert(row, context) {
    const { id, rpcUrl, facilitatorWalletId, facilitatorAuthEnc, createdById, ...plain } = row;
    const reason = "this service has the network already";
    if (!context.claim("x402_network", id, row.caip2Id, reason)) return "present";
    const auth = facilitatorAuthEnc && context.secrets.open(facilitatorAuthEnc);
    if (facilitatorAuthEnc && !auth)
      context.note("x402 network whose facilitatorAuth does not open: set it again");
    const isImported = facilitatorWalletId !== null && context.recordIds.has(facilitatorWalletId);
    if (facilitatorWalletId !== null && !isImported)
      context.note("x402 network whose facilitator wallet is left out");
    const network: typeof x402Network.$inferInsert = {
      ...plain,
      id,
      rpcUrl: await seal(context.env, toRpcUrlEncryptionContext(id), rpcUrl),
      isEnabled: false,
      facilitatorWalletId: isImported ? facilitatorWalletId : null,
      facilitatorAuth: auth
        ? await seal(context.env, toFacilitatorAuthEncryptionContext(id), auth)
        : null,
      eip6492Factories: "[]",
      createdById: context.ownerOf(createdById),
      updatedAt: context.now,
    };
    return [context.orm.insert(x402Network).values(network).toSQL()];
  },
});

/** What keys may pay from wallets. */
export const x402Budgets = defineKind({
  name: "x402 budgets",
  table: "X402WalletBudget",
  schema: z.object({
    id: text,
    createdAt: time,
    apiKeyId: text,
    evmWalletId: text,
    asset: evmAddress,
    remainingAmount: amount,
    spentAmount: amount,
    enabled: z.boolean(),
    createdById: optionalText,
  }),
  convert({ enabled, createdById, ...row }, context) {
    if (!context.keyIds.has(row.apiKeyId)) throw new LeftOut("its API key is left out");
    if (!context.recordIds.has(row.evmWalletId)) throw new LeftOut("its wallet is left out");
    const name = `${row.apiKeyId} ${row.evmWalletId} ${row.asset}`;
    const reason = "its API key has a budget for the wallet and the token";
    if (!context.claim("x402_budget", row.id, name, reason)) return "present";
    const budget: typeof x402Budget.$inferInsert = {
      ...row,
      isEnabled: enabled,
      createdById: context.ownerOf(createdById),
      revision: 0,
      updatedAt: context.now,
    };
    return [context.orm.insert(x402Budget).values(budget).toSQL()];
  },
});

/** Seconds that a payer's authorization lasts at most. */
const MAX_TIMEOUT_SECONDS = 300;

const extraSchema = z.object({ name: text.optional(), version: text.optional() });

/** Ways to pay agents over x402, with the ids that sellers send to `POST /x402/settle`. */
export const x402Sources = defineKind({
  name: "x402 payment sources",
  table: "SupportedPaymentSource",
  includes: ({ chain }) => chain !== LEDGER_NAME,
  schema: z.looseObject({
    id: text,
    createdAt: time,
    registryRequestId: text,
    network: caip2Id,
    payTo: evmAddress,
    resource: optionalText,
    extra: z.unknown(),
  }),
  convert(row, context) {
    const registrationId = context.recordIds.get(row.registryRequestId);
    if (registrationId === undefined) throw new LeftOut("its registration is left out");
    const resource = findResource(row, context);
    if (!resource) throw new LeftOut("it takes no token in particular: register a resource here");
    if (!context.claim("x402_payment_source", row.id, row.id, "")) return "present";
    const owner = context.findRow("RegistryRequest", row.registryRequestId)?.requestedById;
    const { name, version } = extraSchema.safeParse(row.extra).data ?? {};
    const source: typeof x402PaymentSource.$inferInsert = {
      id: row.id,
      url: row.resource,
      description: null,
      caip2Id: row.network,
      asset: resource.asset,
      amount: resource.amount,
      payTo: row.payTo,
      maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
      assetName: name ?? null,
      assetVersion: version ?? null,
      assetDecimals: resource.decimals,
      registryRequestId: registrationId,
      createdById: context.ownerOf(typeof owner === "string" ? owner : null),
      createdAt: row.createdAt,
      updatedAt: row.createdAt,
    };
    return [context.orm.insert(x402PaymentSource).values(source).toSQL()];
  },
});
