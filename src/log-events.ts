/**
 * Everything that the service logs, each with what an operator does about it. docs/operating.md lists
 * them: `npm run document` writes its table from this one.
 */
export const LOG_EVENTS = {
  // The chain, as sources follow it.
  "sync.failed":
    "look at the source's `error` in `/health`; the next pass tries again, and if the provider lags, the sync waits",
  "sync.failure_unrecorded":
    "the database did not take a source's `error`: see `sync.failed` of the same source for the reason",
  "sync.not_woken": "nothing: the cron wakes the source within a minute",
  "sync.rollback": "nothing: the records follow the chain",
  "sync.transaction_gap":
    "look at the escrow on the chain: its record stays unchanged, because what was skipped before the transaction `tx` could not be read in time or leads to other funds",
  "sync.transaction_late":
    "nothing: what came after it is applied again; if it repeats, the provider is unreliable",
  "sync.transaction_unreadable":
    "the ledger accepted a transaction whose bytes we cannot read: report it; the sync continues with what the provider lists of it, and takes up no lock that it made",
  "sync.escrow_lost":
    "look at the escrow on the chain: its funds were moved in a way that cannot be followed, as its record says",
  "sync.lock_ignored":
    "nothing: somebody locked funds at the contract in the name of one of our wallets, with terms that it never signed",
  "dispute.failed":
    "see the proposal's `error` in `GET /dispute`: its transaction could not be made, and is tried again a few times",
  "sync.deadline_near":
    "see in `GET /task` why the `step` of the `record` is not done: after its `deadline` the contract does not allow it",
  "sync.output_skipped": "nothing: somebody paid to the contract what is no escrow",

  // Agents and inbox agents.
  "registry.sync_failed":
    "look at the source's `error` in `GET /registry-source`; the next pass tries again",
  "registry.health_failed": "the next run checks the agents; investigate if it repeats",
  "registry.search_failed": "the next run fills the search index; investigate if it repeats",
  "registry.failure_unrecorded":
    "the database did not take a source's `error`: see `registry.sync_failed` for the reason",
  "registry.rollback": "nothing: the registry follows the chain",
  "registry.not_woken": "nothing: the cron wakes the source within a minute",
  "registry.wake_failed":
    "nothing: the next run of the cron tries again; investigate if it repeats",
  "registry.followers_not_woken":
    "nothing: the cron wakes what waits for the new agents within a minute",
  "registry.metadata_unreadable":
    "nothing: somebody minted an agent whose metadata cannot be read; its entry is `Invalid`",
  "registry.check_failed": "report it: an agent could not be checked because of a fault of ours",
  "inbox.metadata_unreadable":
    "nothing: somebody minted an inbox agent whose metadata cannot be read",
  "inbox.verification_failed": "the next run tries again; investigate if it repeats",

  // Wallets.
  "wallet.task_failed":
    "report it: the service's own code threw for the `tasks` of a wallet, each `<record>` or `<record>:…`; they are tried again, and the wallet goes on with its other tasks",
  "wallet.failed":
    "a run of the wallet ended early and is tried again; if it repeats, `GET /wallet` shows what waits",
  "wallet.halted":
    "nothing: after a restore of the database the wallets of a network stop until nothing that they sent can land unseen",
  "wallet.scripts_not_run":
    "nothing: the node's own words on scripts that it refused, or could not run; the records say what follows. Report it when the same task is refused again and again",
  "wallet.submit_unknown":
    "nothing: the provider did not say whether it took a transaction; the same bytes are sent again",
  "wallet.held":
    "look at `HeldUp` of `GET /wallet`: `reason` says why the wallet gets nothing done; null: it goes on",
  "wallet.keys_destroyed":
    "nothing: the mnemonics of the removed wallets with the ids `wallets` were destroyed, since nothing can need them any more",
  "wallet.hold_unstored":
    "nothing more: the database did not take why the wallet gets nothing done",
  "wallet.spent_elsewhere":
    "the transaction `txHash`, which the service did not make, has spent an output of the wallet: find out who else has its key, and let only one of them use it. Three within an hour pause what nobody asked for",
  "wallet.transaction":
    "nothing: a transaction of the wallet with the key hash `wallet` came to the state `phase`, `from` another (null: it is new); `GET /wallet/transaction` lists them. A rollback that took it out of its block shows as the next `from`",
  "wallet.wake_failed":
    "nothing: the next run of the cron wakes the wallet; investigate if it repeats",
  "reference_script.asked":
    "nothing: an escrow of the source `source` is so large that its steps need the contract's script on the chain; a wallet puts it there, and the deposit stays the wallet's",
  "reference_script.spent":
    "the transaction `txHash`, which the service did not make or has forgotten, has spent the output that carried the script of the source `source`: steps hold it from now on, and it is published again where one needs it. Find out who else has the wallet's key",
  "submit.place_failed":
    "a place of `SUBMIT_URLS_…` did not take a transaction: `error` says why; the same bytes are sent again while they are valid",
  "balance.unavailable":
    "nothing: the provider did not return a wallet's balance; it is asked again",
  "low_balance.superseded": "nothing: another run had checked the rule already",
  "top_up.superseded": "nothing: another run had checked the rule already",

  // x402.
  "x402.alarm_not_set": "nothing: the cron wakes the wallet's object; investigate if it repeats",
  "x402.balance_unknown": "nothing: a payment was tried without knowing the wallet's balance",
  "x402.balances_unchecked":
    "check the network's `rpcUrl`: its node did not return the balances that rules watch; it is asked again",
  "x402.balances_unread":
    "check the network's `rpcUrl`: its node did not return the balances that somebody asked for; it is asked again after 30 seconds",
  "x402.calls_refused": "the RPC node has a rate limit: those calls come first next time",
  "x402.claim_lost":
    "report it: two attempts of one authorization met in the database; the later one got 409",
  "x402.estimate_refused":
    "check the network's `rpcUrl`: its node does not estimate a settlement; it is asked again",
  "x402.job_undecided":
    "nothing: the node refused to say what became of a settlement; it is asked again",
  "x402.object_failed": "nothing: an object may be migrating; the request was tried again",
  "x402.outcome_unrecorded": "nothing: the database did not answer; the object records it later",
  "x402.outcomes_unwritten": "nothing: the database did not answer; each payment writes its own",
  "x402.payment_alarm_failed": "nothing: the alarm runs again; investigate if it repeats",
  "x402.payments_unwatched":
    "check the network's `rpcUrl`: its node failed; the next run asks again about outbound payments",
  "x402.pump_failed": "nothing: the wallet's object runs again; investigate if it repeats",
  "x402.round_failed": "check the network's `rpcUrl`: its node failed; what was sent is sent again",
  "x402.run_failed": "nothing: what was begun is stored and goes on",
  "x402.settle_failed": "report it: a settlement could not be begun because of a fault of ours",
  "x402.wake_failed": "nothing: the next run of the cron tries again; investigate if it repeats",

  // Events and webhooks.
  "events.dispatch_failed": "the next run retries; investigate if it repeats",
  "events.wake_failed": "nothing: the cron finds the events within a minute",
  "queue.batch_failed":
    "the database did not answer: the messages are redelivered, and the sweep does what they asked for",
  "queue.dead_untold":
    "the database did not answer: Admins are not told of `queue.messages_dead` until it does",
  "queue.messages_dead":
    "messages that failed six times: look for `queue.batch_failed` before it. Nothing is lost: the sweep does what they asked for",
  "deliveries.enqueue_failed": "nothing: the cron enqueues the deliveries again",
  "deliveries.wave_failed":
    "nothing: the outcomes are recorded once more, and the sweep finds what is due",
  "deliveries.outcomes_lost":
    "the database did not answer: the deliveries are sent again under the same ids",
  "delivery.failed":
    "a delivery could not be sent because of a fault of ours, such as a lost sealing key: `error` says which",
  "webhook.disabled":
    "tell the webhook's owner: its receiver is gone, or failed ten deliveries in a row; `PATCH /webhooks` re-enables it",

  // Work of the cron, and secrets.
  "incident.begun":
    "see the reason of that name under Health above: it is what Admins' webhooks are told",
  "incident.over": "nothing: what `incident.begun` told of is over",
  "schedule.job_failed": "the next run retries; investigate if it repeats",
  "schedule.wake_failed": "the next run retries; investigate if it repeats",
  "records.rendered":
    "nothing: the stored documents of a table have the newest version. A second pass follows an hour after a deployment that raised it, for what an older isolate wrote",
  "reseal.progress": "nothing: a batch of secrets was encrypted with the newest key",
  "reseal.done": "nothing: every secret is encrypted with the newest key",
  "reseal.unopened":
    "put the key with the named id back; if it is lost, enter what it encrypted again",
  "sealed.unopened":
    "put the key with the named id back; if it is lost, enter what it encrypted again",

  // Requests.
  "request.failed": "a 5xx: `message` and `stack` say why; the caller sees neither",
  "rate_limit.unavailable": "the platform's rate limits did not answer; calls were allowed",
  "api_key.use_not_noted":
    "the database did not take a key's `lastUsedAt`: nothing, a later use is noted",
  "credits.not_given_back":
    "the database did not answer: a failed call was charged; raise the key's `maxUsageCredits` by its cost if its owner asks",
  "invoices.price_source_failed":
    "check `PRICE_SOURCE_URL` and its key: `why` says what it answered",
  "worker_bots.move_refused": "the bot stays with its version: `error` says why",
  "worker_bots.lock_not_released": "nothing: the lock ends with its lease, a minute later",

  // Agents' own door.
  "mcp.tool_failed": "report it: a tool failed because of a fault of ours",
} as const satisfies Record<string, string>;

/** What a line of the log is about. */
export type LogEvent = keyof typeof LOG_EVENTS;

/** The table of docs/operating.md. */
export function logTable(): string {
  const rows = Object.entries(LOG_EVENTS).map(([event, advice]) => `| \`${event}\` | ${advice} |`);
  return ["| event | what to do |", "|---|---|", ...rows].join("\n");
}
