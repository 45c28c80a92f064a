import { selectAutomationMode } from "../../sources/automation-mode.ts";
import { IDLE_WALLET, readSnapshots } from "../../wallets/details/wallet-snapshot.ts";
import type { WalletFeature } from "../../wallets/queue/feature.ts";
import { deriveOwnOutputs, OutputView } from "../../wallets/spending/context/output-view.ts";
import type { FeatureContext } from "../../wallets/spending/feature-queue.ts";
import { listReservedOutputs } from "../disputes/store.ts";
import { toWalletReference } from "../model/escrow-record.ts";
import { createLockFeature } from "./lock-feature.ts";
import { createRemovedWalletFeature } from "./record-updates.ts";
import { createStepFeature } from "./step-feature.ts";
import { LOCK_FEATURE, STEP_FEATURE } from "./task-id.ts";

/** What a wallet does for the escrows of a payment source, the most urgent first. */
export function createEscrowFeatures(context: FeatureContext): WalletFeature[] {
  const { database, source, wallets, deadlineProvider } = context;
  const { network } = source;
  const row = wallets.find(({ vkey }) => vkey === context.vkey);
  if (row === undefined)
    return [
      createRemovedWalletFeature(STEP_FEATURE, "parallel", context),
      createRemovedWalletFeature(LOCK_FEATURE, "chained", context),
    ];
  const ports = {
    database,
    source,
    wallet: toWalletReference(row),
    drives: selectAutomationMode(source, row),
    read: { byId: new Map(), tipHeight: 0 },
  };
  const { collectionAddress } = row;
  const steps = createStepFeature({
    ...ports,
    collectionAddress,
    automaticSteps: context.automaticSteps,
    chainTime: context.chainTime,
  });
  if (row.role !== "Purchasing") return [steps];
  const buyers = wallets
    .filter((one) => one.role === "Purchasing" && selectAutomationMode(source, one) === "all")
    .map(toWalletReference);
  return [
    steps,
    createLockFeature({
      ...ports,
      buyers,
      async loadSpendableOutputs({ vkey, address }) {
        const view = context.views.get(vkey) ?? new OutputView();
        context.views.set(vkey, view);
        const shown = await view.read(deadlineProvider, address, Date.now());
        const [snapshots, reserved] = await Promise.all([
          readSnapshots(database, network, [vkey]),
          listReservedOutputs(database, network),
        ]);
        const { openTransactions: open, spentElsewhere } = snapshots.get(vkey) ?? IDLE_WALLET;
        return deriveOwnOutputs(shown, open, spentElsewhere, reserved);
      },
      loadParameters: () => deadlineProvider.protocolParameters(),
      wakeWallet: (vkey) => context.wake(network, vkey),
    }),
  ];
}
