import type { Network } from "../../chain/network.ts";
import type { Provider } from "../../chain/provider/provider.ts";
import { outputName } from "../../chain/transaction/plan.ts";
import type { Database } from "../../db/client.ts";
import { drivesOf } from "../../sources/drives.ts";
import type { SourceRow } from "../../sources/record.ts";
import type { WalletRow } from "../../wallets/managed/tables.ts";
import { AT_REST, readStands } from "../../wallets/shown/stand.ts";
import { OutputView, ownOutputs } from "../../wallets/spending/outputs.ts";
import { outputsSetAside } from "../disputes/store.ts";
import type { WalletName } from "../record.ts";
import { lockWork } from "./lock-work.ts";
import { stepWork } from "./step-work.ts";
import { LOCK_WORK, STEP_WORK } from "./task.ts";
import { type EscrowWork, watching } from "./told.ts";

/** What a wallet's object has for the escrows of a payment source. */
export interface WorkPlace {
  /** With `writes: "idempotent"`. */
  ledger: Database;
  source: SourceRow;
  /** The wallets in use of the source. */
  wallets: readonly WalletRow[];
  /** Payment key hash of the wallet that works, hex. */
  vkey: string;
  /** For what has a deadline, as every purchase has. */
  deadlineProvider: Pick<Provider, "addressUtxos" | "protocolParameters">;
  /** What the provider showed of the source's other wallets, by key hash; kept from run to run. */
  views: Map<string, OutputView>;
  wake(network: Network, vkey: string): Promise<void>;
  /** Which steps come by themselves. */
  automatic: { payments: boolean; refunds: boolean };
  /** The time on the chain as of a time of the wall clock, epoch milliseconds. */
  chainTime(now: number): Promise<number>;
}

/** What a wallet does for the escrows of a payment source, the most urgent first. */
export function escrowWorks(place: WorkPlace): EscrowWork[] {
  const { ledger, source, wallets, deadlineProvider } = place;
  const { network } = source;
  const row = wallets.find(({ vkey }) => vkey === place.vkey);
  if (row === undefined)
    return [watching(STEP_WORK, "lanes", place), watching(LOCK_WORK, "line", place)];
  const ports = { ledger, source, wallet: nameOf(row), drives: drivesOf(source, row) };
  const { collectionAddress } = row;
  const steps = stepWork({
    ...ports,
    collectionAddress,
    automatic: place.automatic,
    chainTime: place.chainTime,
  });
  if (row.role !== "Purchasing") return [steps];
  const buyers = wallets
    .filter((one) => one.role === "Purchasing" && drivesOf(source, one) === "all")
    .map(nameOf);
  return [
    steps,
    lockWork({
      ...ports,
      buyers,
      async outputsOf({ vkey, address }) {
        const view = place.views.get(vkey) ?? new OutputView();
        place.views.set(vkey, view);
        const shown = await view.read(deadlineProvider, address, Date.now());
        const [stands, setAside] = await Promise.all([
          readStands(ledger, network, [vkey]),
          outputsSetAside(ledger, network),
        ]);
        const { open, spentElsewhere } = stands.get(vkey) ?? AT_REST;
        const elsewhere = new Set(spentElsewhere.map(({ output }) => output));
        const own = ownOutputs(shown, open, elsewhere);
        return own.filter((one) => !setAside.has(outputName(one)));
      },
      parameters: () => deadlineProvider.protocolParameters(),
      wake: (vkey) => place.wake(network, vkey),
    }),
  ];
}

const nameOf = ({ id, vkey, address }: WalletRow): WalletName => ({ id, vkey, address });
