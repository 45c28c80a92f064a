/**
 * Events of the log, with advice for operators; the served docs/monitoring.md has them. Of advice that
 * begins with "nothing", the docs have the name of the event alone, unless it names a case.
 */
export const LOG_EVENTS = {
  // The chain, as sources follow it.
  "sync.failed":
    "look at the source's `error` in `/health`; the next pass tries again, and a lagging provider only delays the sync",
  "sync.failure_unrecorded":
    "the database did not store a source's `error`: see `sync.failed` of the same source for the reason",
  "sync.not_woken": "nothing: the cron wakes the source within a minute",
  "provider.out":
    "nothing: the source uses its next provider. If no other one works, look at the `place` and the `reason`",
  "provider.budget_failed":
    "nothing: the object that counts calls of a provider's key failed, as while a version is deployed; investigate if it repeats",
  "provider.back": "nothing: the provider works again, and comes first again if it is the first",
  "sync.provider_passed_over":
    "nothing: the pass reads from the source's next provider; if it repeats, the first one lags or is on a fork",
  "sync.rollback": "nothing: the records follow the chain",
  "sync.transaction_gap":
    "look at the escrow on the chain: its record stays unchanged. The transactions before `tx` came too late, or move other funds",
  "sync.transaction_late":
    "nothing: the sync applies all later transactions again; if it repeats, the provider is unreliable",
  "sync.transaction_unreadable":
    "report it: the service cannot read these bytes. The sync applies what the provider lists, and follows no lock in the transaction",
  "sync.escrow_lost":
    "look at the escrow on the chain: the sync cannot follow how its funds moved, as its record says",
  "sync.lock_ignored":
    "nothing: another party locked funds in the name of a managed wallet, with terms that the wallet never signed",
  "sync.deadline_near":
    "find in the task list why the `step` of the `record` is not done: after its `deadline` the contract does not allow the step",
  "sync.output_skipped":
    "nothing: the `reason` says why an output at the contract is no escrow. The service never follows an escrow by datum hash",

  // Agents and inbox agents.
  "registry.sync_failed": "look at the `error` of the registry source; the next pass tries again",
  "registry.health_failed": "the next run checks the agents; investigate if it repeats",
  "registry.search_failed": "the next run fills the search index; investigate if it repeats",
  "registry.failure_unrecorded":
    "the database did not store a source's `error`: see `registry.sync_failed` for the reason",
  "registry.rollback": "nothing: the registry follows the chain",
  "registry.not_woken": "nothing: the cron wakes the source within a minute",
  "registry.wake_failed":
    "nothing: the next run of the cron tries again; investigate if it repeats",
  "registry.followers_not_woken":
    "nothing: the cron wakes the followers of new agents within a minute",
  "registry.metadata_unreadable":
    "nothing: a minted agent has unreadable metadata; its entry is `Invalid`",
  "registry.check_failed": "report it: a fault of the service prevented the check of an agent",
  "inbox.metadata_unreadable": "nothing: a minted inbox agent has unreadable metadata",
  "inbox.verification_failed": "the next run tries again; investigate if it repeats",

  // Wallets.
  "wallet.task_failed":
    "report it: the service's code threw for the `tasks` of a wallet. The wallet tries them again, and does its other tasks",
  "wallet.failed":
    "a run of the wallet ended early, and the wallet tries again; if it repeats, the wallet's `Waiting` lists the waiting tasks",
  "wallet.halted":
    "nothing: after a restore of the database, the wallets of a network stop until no earlier transaction can land unseen",
  "wallet.scripts_not_run":
    "nothing: the node refused scripts or could not run them, and the records say so. Report it if one task is refused repeatedly",
  "wallet.submit_unknown":
    "nothing: the provider did not say whether it accepted a transaction; the wallet sends the same bytes again",
  "wallet.held":
    "look at `HeldUp` of the wallet: `reason` says what blocks the wallet; null: the wallet goes on",
  "wallet.keys_destroyed":
    "nothing: the service destroyed the mnemonics of the removed wallets with the ids `wallets`, which no task needs",
  "wallet.hold_unstored": "nothing: the database did not store what blocks the wallet",
  "wallet.spent_elsewhere":
    "the foreign transaction `txHash` has spent the wallet's output: let only one service use its key. Three within an hour pause automatic steps",
  "wallet.transaction":
    "nothing: a transaction of the wallet with the key hash `wallet` changed its `phase`, `from` another (null: it is new). A rollback shows in the next `from`",
  "wallet.wake_failed":
    "nothing: the next run of the cron wakes the wallet; investigate if it repeats",
  "reference_script.asked":
    "nothing: an escrow of the source `source` is so large that its steps need the contract's script on the chain. A wallet publishes the script and owns its deposit",
  "reference_script.spent":
    "the transaction `txHash` has spent the published script of `source`, so steps contain the script again. Find out who else has the wallet's key",
  "submit.place_failed":
    "a URL of `SUBMIT_URLS_…` did not accept a transaction: `error` says why; the wallet sends the same bytes again while they are valid",
  "balance.unavailable":
    "nothing: the provider did not return a wallet's balance; the next check asks again",
  "low_balance.superseded": "nothing: another run had checked the rule already",
  "top_up.superseded": "nothing: another run had checked the rule already",

  // x402.
  "x402.alarm_not_set": "nothing: the cron wakes the wallet's object; investigate if it repeats",
  "x402.balance_unknown":
    "nothing: the service tried a payment without knowing the wallet's balance",
  "x402.balances_unchecked":
    "check the network's `rpcUrl`: its node did not return the balances of low-balance rules; the next check asks again",
  "x402.balances_unread":
    "check the network's `rpcUrl`: its node did not return the requested balances; the service asks again after 30 seconds",
  "x402.calls_refused": "the RPC node has a rate limit: the next request begins with those calls",
  "x402.claim_lost":
    "report it: two attempts of one authorization met in the database; the later one got 409",
  "x402.estimate_refused":
    "check the network's `rpcUrl`: its node does not estimate a settlement; the service asks again",
  "x402.gas_costs_unread":
    "nothing: an object may be migrating; the next run of the cron asks the wallet again",
  "x402.job_undecided":
    "nothing: the node did not return the outcome of a settlement; the service asks again",
  "x402.object_failed": "nothing: an object may be migrating; the service repeats the request",
  "x402.outcome_unrecorded": "nothing: the database did not answer; the object records it later",
  "x402.outcomes_unwritten":
    "nothing: the database did not answer; each payment writes its outcome alone",
  "x402.payment_alarm_failed": "nothing: the alarm runs again; investigate if it repeats",
  "x402.payments_unwatched":
    "check the network's `rpcUrl`: its node failed; the next run asks again about outbound payments",
  "x402.pump_failed": "nothing: the wallet's object runs again; investigate if it repeats",
  "x402.remote_failed":
    "check the network's `facilitatorUrl`: the other facilitator did not answer; the chain decides the payment",
  "x402.remote_refused":
    "check the other facilitator of the network: it did not settle a payment that it had verified; the chain decides the payment",
  "x402.round_failed":
    "check the network's `rpcUrl`: its node failed; the wallet sends its transactions again",
  "x402.run_failed": "nothing: the begun work is stored, and the next run continues it",
  "x402.settle_failed": "report it: a fault of the service prevented a settlement",
  "x402.upto_unknown":
    "check the network's `rpcUrl`: its node did not say whether the chain has the contract of `upto`, so `supported` omits the scheme",
  "x402.wake_failed": "nothing: the next run of the cron tries again; investigate if it repeats",

  // Events and webhooks.
  "events.dispatch_failed": "the next run retries; investigate if it repeats",
  "events.set_aside":
    "investigate: the event with this `seq` reaches no webhook; see EVENTS_SET_ASIDE",
  "events.wake_failed": "nothing: the cron finds the events within a minute",
  "queue.batch_failed":
    "the database did not answer: the queue redelivers the messages, and the sweep does their work",
  "queue.dead_untold":
    "the database did not answer: Admins get the event of `queue.messages_dead` when it does",
  "queue.messages_dead":
    "messages failed six times: look for an earlier `queue.batch_failed`. Nothing is lost: the sweep does their work",
  "deliveries.enqueue_failed": "nothing: the cron enqueues the deliveries again",
  "deliveries.wave_failed":
    "nothing: the service records the outcomes again, and the sweep finds due deliveries",
  "deliveries.outcomes_lost":
    "the database did not answer: the service sends the deliveries again under the same ids",
  "delivery.failed":
    "a fault of the service prevented a delivery, such as a lost sealing key: `error` names it",
  "webhook.disabled":
    "contact the webhook's owner: its receiver is gone, or failed ten deliveries in a row. Enable the webhook again when the receiver answers",

  // The database.
  "archive.overtaken": "nothing: two runs of the cron overlapped, and the later one goes on",
  "archive.needed":
    "bind another archive: the databases of final records are full. Until then the database keeps what it has",
  "archive.unread": "nothing: an archive did not answer, and the next minute asks again",
  "archive.behind":
    "put the archive forward again, as docs/scaling.md says: it has less than the database moved there",
  "archive.copy_differs":
    "report it: what an archive answered is not what was stored there. Nothing was deleted",
  "database.full_unreported":
    "nothing: the next write that the full database refuses reports it again",
  "database.monitor_unread": "nothing: an object may be migrating; the health was told without it",

  // Work of the cron, and secrets.
  "incident.begun":
    "see the reason of that name under Health above; Admins' webhooks receive the same reason",
  "incident.over": "nothing: the incident of an earlier `incident.begun` is over",
  "schedule.job_failed": "the next run retries; investigate if it repeats",
  "schedule.wake_failed": "the next run retries; investigate if it repeats",
  "records.rendered":
    "nothing: the stored documents of a table have the newest version. A second pass follows an hour after a deployment, for documents that an older isolate wrote",
  "reseal.progress": "nothing: a batch of secrets was encrypted with the newest key",
  "reseal.done": "nothing: every secret is encrypted with the newest key",
  "reseal.unopened":
    "put the key with the named id back; if it is lost, enter what it encrypted again",
  "sealed.unopened":
    "put the key with the named id back; if it is lost, enter what it encrypted again",

  // Requests.
  "request.answered":
    "nothing: a write, a failed or slow request, or a share of the others (`LOG_POLLS`). `ms` is how long it took; `apiKey` is the id of the caller's key",
  "request.failed": "a 5xx: `message` and `stack` say why; the caller sees neither",
  "rate_limit.unavailable":
    "the platform's rate limits did not answer; the service allowed the calls",
  "api_key.use_not_noted":
    "nothing: the database did not store a key's `lastUsedAt`; a later use updates it",
  "credits.not_given_back":
    "the database did not answer, so a failed call was charged; raise the key's `maxUsageCredits` by its cost if its owner asks",
  "invoices.price_source_failed": "check `PRICE_SOURCE_URL` and its key: `why` has the answer",
  "worker_bots.move_refused": "the bot stays with its version: `error` says why",
  "worker_bots.lock_not_released": "nothing: the lock ends with its lease, a minute later",

  // MCP.
  "mcp.tool_failed": "report it: a fault of the service made a tool fail",
} as const satisfies Record<string, string>;

/** What a line of the log is about. */
export type LogEvent = keyof typeof LOG_EVENTS;
