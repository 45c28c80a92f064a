/** One escrow: where it stands, what happens next, and what can be done. */
import { FAST_POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { CallError, callApi } from "../../api/request.ts";
import { hasAccess } from "../../api/session.ts";
import { ActionDialog, Problem } from "../../ui/action-dialog.tsx";
import { formatDate, formatRelativeTime } from "../../ui/format.ts";
import { RawJson } from "../../ui/list/row-details.tsx";
import { useOpenedAction } from "../../ui/opened-action.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import type { ValueKind } from "../../ui/resource.ts";
import { changeQuery, network, pageHref, route } from "../../ui/route.ts";
import { LoadingIndicator } from "../../ui/status.tsx";
import { clock, Facts, Tag, Value } from "../../ui/value.tsx";
import { Deliveries } from "./deliveries.tsx";
import { describeNext } from "./describe-next.ts";
import { type EscrowRow, SIDES, type Side } from "./sides.ts";
import { isStepOpen, listOfferedSteps, type OfferedStep } from "./steps.ts";
import { Timeline } from "./timeline.tsx";

interface EscrowPair {
  row: EscrowRow | null;
  /** The record of the other side, where that is ours too. */
  otherRow: EscrowRow | null;
}

async function readEscrow(side: Side, id: string, signal: AbortSignal): Promise<EscrowPair> {
  const query = { network: network.value, id, includeHistory: "true" };
  const data = await callApi<Record<string, EscrowRow[]>>(
    { method: "GET", path: `/${side}`, query },
    signal,
  );
  const row = data[SIDES[side].list]?.[0] ?? null;
  return { row, otherRow: row && (await readOtherSide(side, row, signal)) };
}

async function readOtherSide(side: Side, row: EscrowRow, signal: AbortSignal) {
  const { other } = SIDES[side];
  const body = { network: network.value, blockchainIdentifiers: [row.blockchainIdentifier] };
  const data = await callApi<Record<string, EscrowRow[]>>(
    { method: "POST", path: `/${other}/resolve-blockchain-identifier`, body },
    signal,
  );
  return data[SIDES[other].list]?.[0] ?? null;
}

export function EscrowDetails({ side, id }: { side: Side; id: string }) {
  const live = useLiveData(
    `${side} ${network.value} ${id}`,
    (signal) => readEscrow(side, id, signal),
    FAST_POLL_INTERVAL_MS,
  );
  const { title } = SIDES[side];
  const row = live.data?.row;
  return (
    <>
      <p>
        <a href={pageHref(side)}>← {title}</a>
      </p>
      {live.error && <Problem problem={live.error} />}
      {live.data === null && live.error === null && <LoadingIndicator />}
      {row === null && (
        <Problem problem={new CallError(404, `There is no such ${side} on ${network.value}.`)} />
      )}
      {row && (
        <EscrowPanels
          side={side}
          row={row}
          otherRow={live.data?.otherRow ?? null}
          refresh={live.refresh}
        />
      )}
    </>
  );
}

const FACTS: readonly (readonly [head: string, path: string, kind?: ValueKind])[] = [
  ["Agent", "agentName"],
  ["Agent identifier", "agentIdentifier", "code"],
  ["Identifier", "blockchainIdentifier", "code"],
  ["Collateral of the buyer", "collateralReturnMinorUnit", "native"],
  ["Network fees of the buyer", "totalBuyerChainFees"],
  ["Network fees of the seller", "totalSellerChainFees"],
  ["Received by the seller", "Settled.seller", "funds"],
  ["Received by the buyer", "Settled.buyer", "funds"],
  ["Dispute paid the seller", "WithdrawnForSeller", "funds"],
  ["Dispute paid the buyer", "WithdrawnForBuyer", "funds"],
  ["Contract", "PaymentSource.paymentSourceType"],
  ["Contract's address", "PaymentSource.smartContractAddress", "code"],
  ["Our wallet", "SmartContractWallet.walletAddress", "code"],
  ["Revenue goes to", "sellerReturnAddress", "code"],
  ["Refund goes to", "buyerReturnAddress", "code"],
  ["Input hash", "inputHash", "code"],
  ["Result hash", "resultHash", "code"],
  ["Key", "requestedById", "code"],
  ["Metadata", "metadata"],
  ["Expired", "expiredAt", "time"],
];

function EscrowPanels({
  side,
  row,
  otherRow: other,
  refresh,
}: EscrowPair & { side: Side; row: EscrowRow; refresh: () => void }) {
  const { funds, counterparty, other: otherSide } = SIDES[side];
  const { errorType, errorNote, requestedAction } = row.NextAction;
  const now = clock.value;
  const steps = listOfferedSteps(side, row).filter(({ action }) =>
    hasAccess(action.needs ?? "Admin"),
  );
  const { do: chosen = "" } = route.value.query;
  const found = steps.find(({ action }) => action.name === chosen)?.action;
  const opened = useOpenedAction(`${chosen} ${row.id}`, found, row);
  return (
    <>
      <h1>
        {textAt(row, "agentName") || SIDES[side].title.replace(/s$/, "")}{" "}
        {row.onChainState ? <Tag name={row.onChainState} /> : <Tag name="Nothing locked" />}
      </h1>
      {errorType && (
        <p class="problem" role="alert">
          {errorType}: {errorNote ?? "The service gave no reason."}
        </p>
      )}
      <section class="panel" aria-label="What happens next">
        <h2>Next</h2>
        <p>
          <Tag name={requestedAction} /> {describeNext(side, row, now)}
          {row.onChainState === "Disputed" && (
            <>
              {" "}
              <a href={pageHref("disputes", "", { on: row.id })}>Settle it</a>
            </>
          )}
        </p>
        <div class="tools">
          {steps.map((one) => (
            <StepButton key={one.action.name} step={one} now={now} />
          ))}
        </div>
      </section>
      <div class="cards">
        <section class="card">
          <h2>Escrow</h2>
          <Facts
            facts={[
              ["Price", <Value key="p" kind="funds" value={valueAt(row, funds)} />],
              [
                "Other party's key hash",
                <Value key="c" kind="code" value={valueAt(row, counterparty)} />,
              ],
              [
                "Other side",
                other ? (
                  <a key="o" href={pageHref(otherSide, other.id)}>
                    also ours: {otherSide}
                  </a>
                ) : (
                  "not ours"
                ),
              ],
              ...FACTS.filter(([, path]) => textAt(row, path) !== "").map(
                ([head, path, kind]) =>
                  [head, <Value key={path} kind={kind} value={valueAt(row, path)} />] as const,
              ),
            ]}
          />
        </section>
        <section class="card">
          <h2>Timeline</h2>
          <Timeline row={row} now={now} />
        </section>
        {hasAccess("+PAY") && <Deliveries id={row.id} />}
      </div>
      <RawJson value={row} />
      {opened && (
        <ActionDialog
          key={opened.name}
          action={opened.action}
          row={opened.row}
          onClose={() => changeQuery({ do: undefined })}
          onDone={refresh}
        />
      )}
    </>
  );
}

/** A step whose time has not come, or is over, says so. */
function StepButton({ step, now }: { step: OfferedStep; now: number }) {
  const { action, notBefore, deadline } = step;
  if (isStepOpen(step, now))
    return (
      <button
        type="button"
        class={action.isFinal ? "final" : ""}
        title={deadline === null ? action.description : `Until ${formatDate(deadline)}`}
        onClick={() => changeQuery({ do: action.name })}
      >
        {action.label}
      </button>
    );
  const isEarly = now < (notBefore ?? 0);
  return (
    <span class="none">
      {action.label}:{" "}
      {isEarly
        ? `from ${formatRelativeTime(notBefore ?? 0, now)}`.replace("from in", "in")
        : "its time is over"}
    </span>
  );
}
