/** One escrow: where it stands, what happens next, and what can be done. */
import type { ComponentChildren } from "preact";
import { FAST_POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { CallError, callApi } from "../../api/request.ts";
import { hasAccess } from "../../api/session.ts";
import { ActionDialog } from "../../ui/action-dialog.tsx";
import { formatDate, formatRelativeTime, formatUnit, shortenHashes } from "../../ui/format.ts";
import { KnownName } from "../../ui/known-name.tsx";
import { RawJson } from "../../ui/list/row-details.tsx";
import { useOpenedAction } from "../../ui/opened-action.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import { Problem } from "../../ui/problem.tsx";
import type { ValueKind } from "../../ui/resource.ts";
import { changeQuery, network, pageHref, route } from "../../ui/route.ts";
import { LoadingIndicator } from "../../ui/status.tsx";
import { clock, Facts, Tag, Value } from "../../ui/value.tsx";
import { toWords } from "../../ui/words.ts";
import { WALLETS } from "../fields/known-ids.ts";
import { Deliveries } from "./deliveries.tsx";
import { describeNext, describeWait } from "./describe-next.ts";
import { listDifferences } from "./differences.ts";
import { MismatchTable } from "./mismatch.tsx";
import { type EscrowRow, type Funds, SIDES, type Side } from "./sides.ts";
import { isStepOpen, listOfferedSteps, type OfferedStep } from "./steps.ts";
import { Timeline } from "./timeline.tsx";
import { Track } from "./track.tsx";

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
      <p class="back">
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

const LOCKED_STATES =
  /^(FundsLocked|FundsOrDatumInvalid|ResultSubmitted|RefundRequested|Disputed|.*Authorized)$/;

type Fact = readonly [name: string, value: ComponentChildren];

/** A fact of the row by its path; none where the row has no value. */
function factOf(row: EscrowRow, [name, path, kind]: readonly [string, string, ValueKind?]): Fact[] {
  const value = valueAt(row, path);
  const isEmpty = textAt(row, path) === "" || (Array.isArray(value) && value.length === 0);
  return isEmpty ? [] : [[name, <Value key={path} kind={kind} value={value} />]];
}

function listMoney(side: Side, row: EscrowRow): Fact[] {
  const price = (valueAt(row, SIDES[side].funds) as Funds[] | undefined) ?? [];
  const collateral = textAt(row, "collateralReturnMinorUnit");
  const isLocked = LOCKED_STATES.test(row.onChainState ?? "");
  const feeOf = (path: string) => `${textAt(row, path) || "0"} ${formatUnit("")}`;
  return [
    ["Price", <Value key="price" kind="funds" value={price} />],
    ["Locked now", isLocked ? <Value key="locked" kind="funds" value={price} /> : "nothing"],
    ...(collateral !== "" && collateral !== "0"
      ? factOf(row, ["Collateral, returned to the buyer", "collateralReturnMinorUnit", "native"])
      : []),
    ...factOf(row, ["Paid to the seller", "Settled.seller", "funds"]),
    ...factOf(row, ["Paid to the buyer", "Settled.buyer", "funds"]),
    ...factOf(row, ["The contract's fee", "Settled.protocolFee", "funds"]),
    // The same amounts, where the ledger has told them.
    ...(valueAt(row, "Settled")
      ? []
      : [
          ...factOf(row, ["Dispute paid the seller", "WithdrawnForSeller", "funds"]),
          ...factOf(row, ["Dispute paid the buyer", "WithdrawnForBuyer", "funds"]),
        ]),
    ["Network fees of the buyer", feeOf("totalBuyerChainFees")],
    ["Network fees of the seller", feeOf("totalSellerChainFees")],
  ];
}

/** The wallet by its name, and its address. */
function listOurWallet(row: EscrowRow, us: string): Fact[] {
  const path = "SmartContractWallet.walletAddress";
  const id = textAt(row, "SmartContractWallet.id");
  if (id === "") return [];
  const name = hasAccess(WALLETS.access) ? [<KnownName key="name" known={WALLETS} id={id} />] : [];
  return [
    [
      `Our wallet, the ${us}`,
      <span class="funds" key={path}>
        {name}
        <Value kind="address" value={valueAt(row, path)} />
      </span>,
    ],
  ];
}

function listParties(side: Side, row: EscrowRow, other: EscrowRow | null): Fact[] {
  const [us, them] = side === "payment" ? ["seller", "buyer"] : ["buyer", "seller"];
  return [
    ...factOf(row, ["Agent", "agentName"]),
    ...factOf(row, ["Agent's token", "agentIdentifier", "code"]),
    ...listOurWallet(row, us),
    ...factOf(row, [`The ${them}'s key hash`, SIDES[side].counterparty, "code"]),
    ...(other
      ? [
          [
            `The ${them} is ours too`,
            <a key="other" href={pageHref(SIDES[side].other, other.id)}>
              Open the {SIDES[side].other}
            </a>,
          ] as const,
        ]
      : []),
    ...factOf(row, ["Payout goes to", "sellerReturnAddress", "address"]),
    ...factOf(row, ["Refund goes to", "buyerReturnAddress", "address"]),
    ...factOf(row, ["Contract", "PaymentSource.paymentSourceType", "word"]),
    ...factOf(row, ["Contract's address", "PaymentSource.smartContractAddress", "address"]),
    ...factOf(row, ["Escrow's identifier", "blockchainIdentifier", "code"]),
    ...factOf(row, ["Record", "id", "code"]),
    ...factOf(row, ["Hash of the input", "inputHash", "code"]),
    ...factOf(row, ["Hash of the result", "resultHash", "code"]),
    ...(textAt(row, "requestedById") === "env-admin"
      ? [["Requested with", "the key of the deployment"] as const]
      : factOf(row, ["Requested with the key", "requestedById", "code"])),
    ...factOf(row, ["Metadata", "metadata"]),
  ];
}

function EscrowPanels({
  side,
  row,
  otherRow: other,
  refresh,
}: EscrowPair & { side: Side; row: EscrowRow; refresh: () => void }) {
  const { errorType, errorNote, requestedAction } = row.NextAction;
  const now = clock.value;
  const steps = listOfferedSteps(side, row).filter(({ action }) =>
    hasAccess(action.needs ?? "Admin"),
  );
  const { do: name = "" } = route.value.query;
  const found = steps.find(({ action }) => action.name === name)?.action;
  const opened = useOpenedAction(`${name} ${row.id}`, found, row);
  const waitsFor = textAt(row, "Next.waitsFor");
  return (
    <>
      <div class="title">
        <h1>
          {textAt(row, "agentName") || SIDES[side].title.replace(/s$/, "")}{" "}
          <Tag name={row.onChainState ?? "Nothing locked"} />
        </h1>
        <div class="tools price">
          <Value kind="funds" value={valueAt(row, SIDES[side].funds)} />
        </div>
      </div>
      <section class="panel next" aria-label="What happens next">
        <Track row={row} now={now} />
        <p>
          <strong>{describeNext(side, row, now)}</strong>{" "}
          {waitsFor && !errorType && (
            <span class="none" title={waitsFor}>
              {shortenHashes(describeWait(waitsFor, textAt(row, "Next.code")))}
            </span>
          )}
        </p>
        {errorType && <EscrowError type={errorType} note={errorNote} />}
        {other?.NextAction.errorType && (
          <p>
            The {SIDES[side].other} of this escrow needs a person too.{" "}
            <a href={pageHref(SIDES[side].other, other.id)}>Open the {SIDES[side].other}</a>
          </p>
        )}
        {row.onChainState === "Disputed" && (
          <p>
            <a class="button main" href={pageHref("disputes", "", { on: row.id })}>
              Settle the dispute
            </a>
          </p>
        )}
        {steps.length > 0 && (
          <ul class="actions" aria-label="Actions">
            {steps.map((one) => (
              <StepLine key={one.action.name} step={one} now={now} />
            ))}
          </ul>
        )}
        {steps.length === 0 && requestedAction !== "None" && (
          <p class="none">Nothing has to be done here.</p>
        )}
      </section>
      <div class="cards details">
        <div>
          <section class="card">
            <h2>Money</h2>
            <Facts facts={listMoney(side, row)} isLines />
          </section>
          <section class="card">
            <h2>Parties and identifiers</h2>
            <Facts facts={listParties(side, row, other)} />
          </section>
        </div>
        <section class="card times">
          <h2>Times</h2>
          <Timeline row={row} now={now} />
        </section>
      </div>
      {hasAccess("+PAY") && <Deliveries id={row.id} />}
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

/** Why the escrow does not go on: differences as a table, all else as the service says it. */
function EscrowError({ type, note }: { type: string; note: string | null }) {
  const differences = listDifferences(note ?? "");
  if (differences.length === 0)
    return (
      <p class="problem" role="alert">
        {toWords(type)}: {note ?? "The service gave no reason."}
      </p>
    );
  return (
    <>
      <p class="problem" role="alert">
        What was locked is not what was agreed, so the service does not act on this escrow. Clear
        the error once you have noted it.
      </p>
      <MismatchTable differences={differences} />
    </>
  );
}

/** An action whose time has not come, or is over, says so. */
function StepLine({ step, now }: { step: OfferedStep; now: number }) {
  const { action, notBefore, deadline } = step;
  const isOpen = isStepOpen(step, now);
  const isEarly = now < (notBefore ?? 0);
  return (
    <li>
      <div>
        {!isOpen && <strong>{action.label}</strong>}
        {isOpen && deadline !== null && (
          <strong title={formatDate(deadline)}>
            Possible for {formatRelativeTime(deadline, now).replace("in ", "")}
          </strong>
        )}
        <p class="none">{action.description}</p>
      </div>
      {isOpen ? (
        <button
          type="button"
          class={action.isFinal ? "final" : ""}
          onClick={() => changeQuery({ do: action.name })}
        >
          {action.label}
        </button>
      ) : (
        <span class="none" title={formatDate((isEarly ? notBefore : deadline) ?? now)}>
          {isEarly ? `Possible ${formatRelativeTime(notBefore ?? 0, now)}` : "Its time is over"}
        </span>
      )}
    </li>
  );
}
