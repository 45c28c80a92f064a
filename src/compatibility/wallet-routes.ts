import * as z from "zod";
import { openDb } from "../db/client.ts";
import type { AppContext } from "../http/context.ts";
import { type Router, serve } from "../http/endpoint.ts";
import { toIsoTime } from "../http/envelope.ts";
import { ApiError } from "../http/errors.ts";
import { requestUnit } from "../http/openapi/chain-fields.ts";
import {
  described,
  idField,
  minorUnitsField,
  named,
  textField,
  timestampField,
} from "../http/openapi/fields.ts";
import { booleanParameter, optionalTextParameter } from "../http/openapi/parameters.ts";
import { WALLET_FEATURES } from "../wallet-features.ts";
import { type WalletQuery, walletDetailsResponse } from "../wallets/details/response-schemas.ts";
import { changeWallet, getWallet } from "../wallets/manage-wallets.ts";
import { toWalletRecord } from "../wallets/managed/render-wallet.ts";
import { walletListQuery, walletRecordFields } from "../wallets/managed/schemas.ts";
import { LOW_BALANCE_ENDPOINTS, WALLET_ENDPOINTS } from "../wallets/routes.ts";
import { renderLowBalanceRule } from "../wallets/rules/low-balance.ts";
import {
  lowBalanceChangeBody,
  lowBalanceRecord,
  newLowBalanceBody,
  ruleListQuery,
} from "../wallets/rules/schemas.ts";
import {
  changeWatchedBalance,
  createWatchedBalance,
  deleteWatchedBalance,
  listWatchedBalances,
  type WatchedBalance,
  type WatchedBalanceFilter,
} from "../wallets/top-ups/watched-balances.ts";

/** Name of the native coin in rules of the payment service. */
export const toExternalUnit = (unit: string) => (unit === "" ? "lovelace" : unit);

const topUpFields = {
  topupEnabled: described(
    z.boolean().optional(),
    "Whether a top-up rule exists for the wallet and unit. Omitted: as before.",
    true,
  ),
  topupAmount: described(
    lowBalanceChangeBody.shape.thresholdAmount,
    "A lower balance is filled up to `thresholdAmount` and this amount.",
    "10000000",
  ),
};
type TopUpFields = z.output<z.ZodObject<typeof topUpFields>>;

/** The id of a rule under either name. */
const ruleIds = {
  id: optionalTextParameter("Another name of `ruleId`."),
  ruleId: optionalTextParameter("Id of the rule."),
};
const hasId = ({ id, ruleId }: { id?: string | undefined; ruleId?: string | undefined }) =>
  (id ?? ruleId) !== undefined;
const NEEDS_ID = { path: ["ruleId"], error: "is required" };

const externalRuleQuery = ruleListQuery.extend({
  paymentSourceId: walletListQuery.shape.paymentSourceId,
  onlyLow: described(booleanParameter(false), "Whether to list only rules that are low."),
  includeDisabled: described(
    booleanParameter(false),
    "Whether to list disabled rules too. Pages always have these.",
  ),
});

const externalRuleBody = newLowBalanceBody.extend({
  assetUnit: described(requestUnit.optional(), "Another name of `unit`, which it overrides.", ""),
  ...topUpFields,
});

const externalRuleChange = lowBalanceChangeBody
  .extend({ ...ruleIds, ...topUpFields })
  .refine(hasId, NEEDS_ID);

const externalRuleDeletion = z.strictObject(ruleIds).refine(hasId, NEEDS_ID);

const watchedRule = named(
  "WatchedBalanceRule",
  "A rule that watches a wallet's balance, with its top-up.",
  lowBalanceRecord.extend({
    assetUnit: textField("`unit`, with `lovelace` for the native coin.", "lovelace"),
    topupEnabled: described(z.boolean(), "Whether a top-up rule fills the balance up.", true),
    topupAmount: described(
      minorUnitsField("").nullable(),
      "Minor units above `thresholdAmount` to which a top-up fills the balance. Null: no top-up.",
      "10000000",
    ),
    lastKnownAmount: described(lowBalanceRecord.shape.balance, "The same as `balance`.", null),
    lastCheckedAt: described(lowBalanceRecord.shape.checkedAt, "The same as `checkedAt`.", null),
    lastAlertedAt: described(z.null(), "Always null: webhooks have the time of each event.", null),
  }),
);

const {
  walletVkey,
  walletAddress,
  type: walletType,
  paymentSourceId,
  network,
} = walletRecordFields;
const externalRule = named(
  "WalletLowBalanceRule",
  "A rule that watches a wallet's balance, with its top-up and its wallet.",
  watchedRule.extend({ walletVkey, walletAddress, walletType, paymentSourceId, network }),
);

const externalWallet = named(
  "WalletWithRules",
  "A wallet of a payment source, with all details and the rules for its balances.",
  walletDetailsResponse.extend({
    LowBalanceRules: described(z.array(watchedRule), "Balance rules of the wallet."),
  }),
);

/** A rule of a wallet, without what it says of the wallet. */
function toWatchedRule({ rule, topUp }: WatchedBalance): z.input<typeof watchedRule> {
  const shown = renderLowBalanceRule(rule);
  const isOn = topUp !== null && (topUp.enabled || !rule.enabled);
  return {
    ...shown,
    assetUnit: toExternalUnit(rule.unit),
    topupEnabled: isOn,
    topupAmount: isOn ? (BigInt(topUp.upTo) - BigInt(topUp.below)).toString() : null,
    lastKnownAmount: shown.balance,
    lastCheckedAt: shown.checkedAt,
    lastAlertedAt: null,
  };
}

function toExternalRule(watched: WatchedBalance): z.input<typeof externalRule> {
  const { wallet } = watched;
  const { walletVkey, walletAddress, paymentSourceId, network } = toWalletRecord(wallet);
  const shown = { walletVkey, walletAddress, paymentSourceId, network, walletType: wallet.role };
  return { ...toWatchedRule(watched), ...shown };
}

/**
 * What a request says of the top-up; undefined: nothing. An amount alone must not begin to send funds.
 *
 * @throws ApiError 400
 */
function toTopUpIntent({ topupEnabled, topupAmount: amount }: TopUpFields) {
  if (amount !== undefined && topupEnabled !== true)
    throw new ApiError(400, "topupAmount: needs `topupEnabled` true");
  if (topupEnabled === undefined) return undefined;
  return topupEnabled ? { amount } : null;
}

const { list, create, change, delete: deletion } = LOW_BALANCE_ENDPOINTS;

/** Wallets and the rules for their balances, where one rule reports a low balance and fills it up. */
export function registerWalletRoutes(router: Router): void {
  serve(router, { ...WALLET_ENDPOINTS.get, data: externalWallet }, (c, { query }) =>
    showWallet(c, query),
  );

  serve(router, { ...WALLET_ENDPOINTS.update, data: externalWallet }, async (c, { body }) => {
    const { id } = await changeWallet(c, body, Date.now());
    return showWallet(c, { id, includeSecret: false });
  });

  const data = z.object({ Rules: described(z.array(externalRule), "The rules.") });
  const description =
    "With `limit` or `cursorId`, one page, newest first. Without both, all rules, by wallet and unit.";
  serve(
    router,
    { ...list, description, query: externalRuleQuery, data },
    async (c, { query: { onlyLow, includeDisabled, limit, cursorId, ...filter } }) => {
      const isPaged = c.req.query("limit") !== undefined || cursorId !== undefined;
      const watched = await listBalances(c, {
        ...filter,
        isLow: onlyLow,
        isEnabled: !includeDisabled && !isPaged,
        page: isPaged ? { limit, cursorId } : null,
      });
      return { Rules: watched.map(toExternalRule) };
    },
  );

  serve(
    router,
    { ...create, body: externalRuleBody, data: externalRule },
    async (c, { body: { assetUnit, topupEnabled, topupAmount, ...body } }) => {
      const rule = { ...body, unit: assetUnit ?? body.unit };
      const topUp = toTopUpIntent({ topupEnabled, topupAmount });
      return toExternalRule(await createWatchedBalance(c, rule, topUp, Date.now()));
    },
  );

  serve(
    router,
    {
      ...change,
      body: externalRuleChange,
      data: externalRule,
      errors: { ...change.errors, 409: "The rule was changed meanwhile." },
    },
    async (c, { body: { id, ruleId = id ?? "", topupEnabled, topupAmount, ...changes } }) => {
      const topUp = toTopUpIntent({ topupEnabled, topupAmount });
      const changed = { id: ruleId, ...changes };
      return toExternalRule(await changeWatchedBalance(c, changed, topUp, Date.now()));
    },
  );

  const deletedRule = externalRule.extend({
    ruleId: idField("the rule"),
    deletedAt: timestampField("When the rule was deleted."),
  });
  serve(
    router,
    { ...deletion, body: externalRuleDeletion, data: deletedRule },
    async (c, { body: { id, ruleId = id ?? "" } }) => {
      const now = Date.now();
      const deleted = await deleteWatchedBalance(c, ruleId, now);
      return { ...toExternalRule(deleted), ruleId, deletedAt: toIsoTime(now) };
    },
  );
}

function listBalances(c: AppContext, filter: WatchedBalanceFilter) {
  return listWatchedBalances(openDb(c.env, undefined, { deadline: c.var.deadline }), filter);
}

async function showWallet(c: AppContext, query: WalletQuery) {
  const wallet = await getWallet(c, query, WALLET_FEATURES, Date.now());
  const watched = await listBalances(c, { walletId: wallet.id });
  return { ...wallet, LowBalanceRules: watched.map(toWatchedRule) };
}
