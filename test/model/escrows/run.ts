/** How a party's wallet works. */
import { newId } from "../../../src/db/id.ts";
import { createDisputeFeature } from "../../../src/escrow/disputes/dispute-feature.ts";
import { createEscrowFeatures } from "../../../src/escrow/tasks/escrow-features.ts";
import { areSourcesSynced } from "../../../src/sources/cursor.ts";
import type { SourceRow } from "../../../src/sources/source-row.ts";
import type { WalletRow } from "../../../src/wallets/managed/tables.ts";
import { WalletRemovedError } from "../../../src/wallets/queue/errors.ts";
import { OutputView } from "../../../src/wallets/spending/context/output-view.ts";
import type { Journal } from "../../../src/wallets/spending/model/journal.ts";
import { runWallet } from "../../../src/wallets/spending/run-wallet.ts";
import { newJournal } from "../journal.ts";
import type { Reach } from "./process.ts";
import { PARTIES, type Party } from "./terms.ts";

/** What is kept outside the database. */
export interface Memory {
  journal: Journal;
  views: Record<Party, OutputView>;
  /** Views of the outputs of other wallets, by key hash. */
  others: Map<string, OutputView>;
}

export const newMemory = (): Memory => ({
  journal: newJournal(),
  views: { seller: new OutputView(), buyer: new OutputView() },
  others: new Map(),
});

/** For whom it works. */
export interface RunPlace {
  party: Party;
  source: SourceRow;
  /** Those in use. */
  wallets: readonly WalletRow[];
  /** Without a proposal nothing looks at disputes: it would do nothing but make queries, which take longest. */
  hasProposals: boolean;
  now(): number;
}

/** One run of a wallet's object. */
export async function runParty(
  { db, provider, step }: Reach,
  { party, source, wallets, hasProposals, now }: RunPlace,
  { journal, views, others }: Memory,
): Promise<void> {
  const keys = PARTIES[party];
  const { vkey } = keys;
  const chainTime = async (at: number) => at;
  const place = { source, wallets, vkey, chainTime };
  await runWallet({
    network: "Preprod",
    vkey,
    sourceId: source.id,
    ...{ db, provider, deadlineProvider: provider },
    journal: {
      enter: (...order) => step(() => journal.enter(vkey, ...order)),
      append: (...order) => step(() => journal.append(vkey, ...order)),
      resume: (...stored) => step(() => journal.resume(...stored)),
      markRestored: (...told) => step(() => journal.markRestored(vkey, ...told)),
    },
    areSourcesSynced: (since) => areSourcesSynced(db, [source.id], since),
    onConfirmed: async () => {},
    onMissingScripts: async () => {},
    view: views[party],
    features: [
      ...createEscrowFeatures({
        ...{ database: db, ...place, deadlineProvider: provider },
        views: others,
        wake: async () => {},
        automaticSteps: { payments: true, refunds: true },
      }),
      ...(hasProposals ? [createDisputeFeature({ db, ...place })] : []),
    ],
    openKeys: async () => {
      if (!wallets.some((one) => one.vkey === vkey)) throw new WalletRemovedError("it was removed");
      return keys;
    },
    listPublishedScripts: async () => new Map(),
    confirmationThreshold: 1,
    clock: "wall",
    now,
    newId,
    requestId: "model",
  });
}
