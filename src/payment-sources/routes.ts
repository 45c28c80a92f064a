import * as z from "zod";
import { listPermittedNetworks } from "../http/authenticate.ts";
import { createRouter, serve } from "../http/endpoint.ts";
import { network } from "../http/openapi/chain-fields.ts";
import { described, PROVIDER_FAILURES } from "../http/openapi/fields.ts";
import { pageParametersWithTake } from "../http/openapi/parameters.ts";
import { checkRequestedProvider } from "../sources/further-providers.ts";
import { checkProviderBody, providerCheck } from "../sources/schemas.ts";
import { wakeChangedSource } from "../sources/wake-source.ts";
import { removeWalletBody, walletRecord } from "../wallets/managed/schemas.ts";
import { createSource } from "./create-source.ts";
import { listPublicSources, listSources } from "./list-sources.ts";
import {
  getReferenceScript,
  requestScriptPublication,
  requestScriptWithdrawal,
} from "./reference-script/requests.ts";
import {
  publishScriptBody,
  referenceScriptRecord,
  withdrawScriptBody,
} from "./reference-script/schemas.ts";
import { removeSource } from "./remove-source.ts";
import { removeEmptyWallet } from "./remove-wallet.ts";
import { paymentSourceRecord, publicSourceRecord } from "./response-schemas.ts";
import { createSourceBody, deleteSourceBody, updateSourceBody } from "./schemas.ts";
import { updateSource } from "./update-source.ts";

const listQuery = z.object({
  ...pageParametersWithTake,
  network: described(network.optional(), "Only sources on this network."),
});

const ADMIN_OPTIONS = { access: "Admin", scope: "admin", tag: "Payment sources" } as const;
const NO_SCRIPT_DESCRIPTION = "There is no such payment source, or it has no reference script.";
const ERROR_DESCRIPTIONS = {
  409: "A payment source already has the contract or a wallet, or the network does not fit the environment.",
  ...PROVIDER_FAILURES,
};

/** `DELETE /wallet`, as the document has it. */
export const REMOVE_WALLET_ENDPOINT = {
  method: "delete",
  operationId: "deleteWallet",
  path: "/wallet",
  access: "Admin",
  scope: "admin",
  tag: "Wallets",
  summary: "Removes a wallet that holds nothing and has nothing to do",
  description:
    "The service also deletes the wallet's rules. It destroys the mnemonic once all transactions of the wallet are final.",
  body: removeWalletBody,
  data: walletRecord,
  errors: {
    404: "There is no such wallet.",
    409: "The wallet holds funds, or a payment, purchase, registration or transfer needs it.",
    503: "The balance of the wallet is unknown: the chain provider did not tell it.",
  },
} as const;

/** `/payment-source-extended` of the interface, and the removal of a wallet. */
export function createPaymentSourceRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "get",
      operationId: "listPaymentSourcesExtended",
      isConditional: true,
      path: "/payment-source-extended",
      summary: "Lists payment sources, newest first",
      query: listQuery,
      data: z.object({
        ExtendedPaymentSources: described(z.array(paymentSourceRecord), "The payment sources."),
      }),
    },
    async (c, { query: { network, ...page } }) => ({
      ExtendedPaymentSources: await listSources(
        c.env,
        { ...page, networks: network && [network] },
        c.var.deadline,
      ),
    }),
  );

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "post",
      operationId: "createPaymentSource",
      path: "/payment-source-extended",
      summary: "Creates a payment source",
      description:
        "The sync starts at the contract's first transaction, or after `lastIdentifierChecked`. Without an address and policy, the service derives the contract from parameters and a script of the provider.",
      body: createSourceBody,
      idempotent: true,
      data: paymentSourceRecord,
      errors: {
        ...ERROR_DESCRIPTIONS,
        502: "The chain provider failed, or lacks the script of the contract.",
      },
    },
    async (c, { body }) => {
      const record = await createSource(c, body, Date.now());
      await wakeChangedSource(c, record.id);
      return record;
    },
  );

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "patch",
      operationId: "updatePaymentSource",
      path: "/payment-source-extended",
      summary: "Updates a payment source",
      description:
        "Omitted fields keep their values. The service syncs the history of an added wallet.",
      body: updateSourceBody,
      data: paymentSourceRecord,
      errors: {
        ...ERROR_DESCRIPTIONS,
        404: "There is no such payment source, or it has no such wallet.",
        409: `${ERROR_DESCRIPTIONS[409]} Or a wallet to remove has an open transaction or an unfinished payment or purchase; \`force\` still removes the wallet.`,
      },
    },
    async (c, { body }) => {
      const record = await updateSource(c, body, Date.now());
      await wakeChangedSource(c, record.id);
      return record;
    },
  );

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "delete",
      operationId: "deletePaymentSource",
      path: "/payment-source-extended",
      summary: "Removes a payment source",
      description:
        "The service stops the sync; payments and purchases stay readable. Once these have ended and all transactions of the wallets are final, the service destroys the provider key and the mnemonics. Until then, adding a wallet again restores it.",
      body: deleteSourceBody,
      data: paymentSourceRecord,
      errors: {
        404: "There is no such payment source.",
        409: "The source has an unfinished payment or purchase, or an open transaction; `force` still removes the source.",
      },
    },
    (c, { body }) => removeSource(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "post",
      operationId: "checkRpcProvider",
      path: "/payment-source-extended/provider/check",
      summary: "Checks what a chain provider can do",
      description:
        "The service makes one harmless call for each capability. Nothing is stored, and no transaction is sent.",
      body: checkProviderBody,
      data: providerCheck,
    },
    (c, { body }) => checkRequestedProvider(c, body),
  );

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "get",
      operationId: "getReferenceScript",
      path: "/payment-source-extended/reference-script",
      summary: "Shows the newest reference script of a payment source",
      query: withdrawScriptBody,
      data: referenceScriptRecord,
      errors: { 404: NO_SCRIPT_DESCRIPTION },
    },
    (c, { query }) => getReferenceScript(c, query.id),
  );

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "post",
      operationId: "publishReferenceScript",
      path: "/payment-source-extended/reference-script",
      summary: "Publishes the script of a payment source's contract",
      description:
        "A wallet of the source creates an output with the script. Transactions of the source's wallets refer to the output, which makes them smaller and cheaper. Withdrawing the script returns the deposit.",
      body: publishScriptBody,
      data: referenceScriptRecord,
      errors: {
        404: "There is no such payment source, or it has no such wallet.",
        409: "The source already has a reference script, or no wallet that `drives` allows.",
        ...PROVIDER_FAILURES,
        502: "The chain provider failed, or lacks the script.",
      },
    },
    (c, { body }) => requestScriptPublication(c, body, Date.now()),
  );

  serve(
    router,
    {
      ...ADMIN_OPTIONS,
      method: "delete",
      operationId: "withdrawReferenceScript",
      path: "/payment-source-extended/reference-script",
      summary: "Withdraws a published script",
      description:
        "New transactions no longer refer to the script. Its output is spent once no pending transaction refers to it.",
      body: withdrawScriptBody,
      data: referenceScriptRecord,
      errors: { 404: NO_SCRIPT_DESCRIPTION, 409: "The reference script is not published." },
    },
    (c, { body }) => requestScriptWithdrawal(c, body.id, Date.now()),
  );

  serve(router, REMOVE_WALLET_ENDPOINT, (c, { body }) => removeEmptyWallet(c, body, Date.now()));

  serve(
    router,
    {
      method: "get",
      operationId: "listPaymentSources",
      isConditional: true,
      path: "/payment-source",
      access: "User",
      scope: "wallets",
      tag: "Payment sources",
      summary: "Lists the payment sources of the key's networks, newest first",
      description: "A key with `walletLimit` sees only its wallets and their sources.",
      query: listQuery,
      data: z.object({
        PaymentSources: described(z.array(publicSourceRecord), "The payment sources."),
      }),
    },
    async (c, { query: { network, ...page } }) => {
      const { caller, deadline } = c.var;
      const networks = network ? [network] : listPermittedNetworks(caller);
      const query = { ...page, networks, walletIds: caller.scope?.walletIds };
      return { PaymentSources: await listPublicSources(c.env, query, deadline) };
    },
  );

  return router;
}
