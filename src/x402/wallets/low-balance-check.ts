import { and, asc, eq, getTableColumns, isNull } from "drizzle-orm";
import { type Database, db, statement, violates } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { wakeDispatcher, writeEvent } from "../../events/outbox.ts";
import { log } from "../../log.ts";
import { decodeBalance, encodeBalanceCall, toRpcUnavailable } from "../evm/balance.ts";
import { RpcRefusal } from "../evm/rpc.ts";
import { x402BalanceRule, x402Network, x402Wallet } from "../model/tables.ts";
import { type NetworkRow, openRpc } from "../networks/settlement-network.ts";
import type { RuleRow } from "./low-balance.ts";

/** Rules of a network checked per run, least recently checked first. */
const CHECKED_PER_NETWORK = 50;
/** Time of a run, of which a silent node takes eight seconds. */
const CHECK_MS = 30_000;

/** A rule with the wallet that it watches. */
type WatchedRule = RuleRow & { caip2Id: string; address: string; createdById: string };

/** A rule whose balance has crossed its threshold, or is known for the first time. */
interface BalanceChange {
  rule: WatchedRule;
  state: "Low" | "Healthy";
  balance: bigint;
}

/**
 * Checks balances; one that fell below its threshold since the last check causes an event. A
 * failing node leaves only its own network's rules as they are; a refused call, only its rule.
 */
export async function checkBalances(env: Env, requestId: string): Promise<void> {
  const core = db(env, undefined, { writes: "idempotent", deadline: Date.now() + CHECK_MS });
  const networks = await core.orm.select().from(x402Network).where(eq(x402Network.isEnabled, true));
  await Promise.all(
    networks.map((network) =>
      checkNetwork(env, core, network, requestId).catch((error: unknown) => {
        const { caip2Id } = network;
        log("warn", "x402.balances_unchecked", { caip2Id, requestId, error: String(error) });
      }),
    ),
  );
}

/** One request to the node for all rules of its network. */
async function checkNetwork(
  env: Env,
  core: Database,
  network: NetworkRow,
  requestId: string,
): Promise<void> {
  const rules = await rulesOf(core, network.caip2Id);
  if (rules.length === 0) return;
  const rpc = await openRpc(env, network, Date.now() + CHECK_MS);
  const answers = await rpc.many(
    rules.map(({ address, asset }) => encodeBalanceCall(address, asset)),
  );
  const balances = answers.map(decodeBalance);
  const refusals = balances.filter((balance) => balance instanceof RpcRefusal);
  const answered = rules.flatMap((rule, i) => {
    const balance = balances[i] ?? null;
    return balance instanceof RpcRefusal ? [] : [{ rule, balance }];
  });
  const [refusal] = refusals;
  if (refusal) {
    if (answered.length === 0) throw toRpcUnavailable(refusal);
    // A node with a rate limit refuses some calls of a batch: their rules come first next time.
    const { caip2Id } = network;
    const error = String(refusal);
    log("warn", "x402.calls_refused", { caip2Id, requestId, refused: refusals.length, error });
  }
  const now = Date.now();
  const moves = answered.flatMap(({ rule, balance }): BalanceChange[] => {
    if (balance === null) return [];
    const state = balance < BigInt(rule.threshold) ? "Low" : "Healthy";
    return state === rule.state ? [] : [{ rule, state, balance }];
  });
  for (const move of moves) await writeMove(core, move, now);
  await core.batch([
    statement(
      `UPDATE x402_balance_rule SET checked_at = ?
       WHERE id IN (SELECT value FROM json_each(?))`,
      now,
      JSON.stringify(answered.map(({ rule }) => rule.id)),
    ),
  ]);
  if (moves.some(({ state }) => state === "Low")) await wakeDispatcher(env, requestId);
}

async function rulesOf(core: Database, caip2Id: string): Promise<WatchedRule[]> {
  const { address, createdById } = getTableColumns(x402Wallet);
  return core.orm
    .select({
      ...getTableColumns(x402BalanceRule),
      caip2Id: x402Wallet.caip2Id,
      address,
      createdById,
    })
    .from(x402BalanceRule)
    .innerJoin(x402Wallet, eq(x402Wallet.id, x402BalanceRule.evmWalletId))
    .where(and(eq(x402Wallet.caip2Id, caip2Id), isNull(x402Wallet.deletedAt)))
    .orderBy(asc(x402BalanceRule.checkedAt), asc(x402BalanceRule.id))
    .limit(CHECKED_PER_NETWORK);
}

/** Writes the new state, on the way down with its event. */
async function writeMove(
  core: Database,
  { rule, state, balance }: BalanceChange,
  now: number,
): Promise<void> {
  const { id, version, evmWalletId, caip2Id: caip2Network, address, asset, threshold } = rule;
  const move = statement(
    `UPDATE x402_balance_rule SET state = ?, version = iif(version = ?, version + 1, NULL)
     WHERE id = ?`,
    state,
    version,
    id,
  );
  const event = writeEvent(
    {
      kind: "X402_WALLET_LOW_BALANCE",
      network: caip2Network,
      sourceId: null,
      ownerId: rule.createdById,
      recordId: id,
      sequence: version + 1,
      data: { evmWalletId, caip2Network, address, asset, threshold, balance: balance.toString() },
    },
    now,
  );
  try {
    await core.batch(state === "Low" ? [move, event] : [move]);
  } catch (error) {
    // Our own batch sent twice, which had written the event as well, or a concurrent run: the next
    // check continues from its result.
    if (!violates(error, "x402_balance_rule.version")) throw error;
  }
}
