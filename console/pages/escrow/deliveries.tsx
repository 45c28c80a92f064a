/** The deliveries of one escrow's events, with their attempts. */
import { useState } from "preact/hooks";
import { POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { callApi } from "../../api/request.ts";
import { Problem } from "../../ui/problem.tsx";
import { pageHref } from "../../ui/route.ts";
import { RecordList, Tag, Time } from "../../ui/value.tsx";
import { toWords } from "../../ui/words.ts";

interface Delivery {
  id: string;
  webhookId: string;
  event: string;
  status: string;
  createdAt: string;
  AttemptLog: object[];
}

const MAX_EVENTS = "50";

/** Folded: what it shows is read when it is opened. */
export function Deliveries({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Events and deliveries</summary>
      {isOpen && <DeliveryList id={id} />}
    </details>
  );
}

function DeliveryList({ id }: { id: string }) {
  const live = useLiveData(
    `deliveries ${id}`,
    (signal) =>
      callApi<{ Deliveries: Delivery[] }>(
        {
          method: "GET",
          path: "/webhooks/deliveries",
          query: { recordId: id, limit: MAX_EVENTS },
        },
        signal,
      ),
    POLL_INTERVAL_MS,
  );
  const deliveries = live.data?.Deliveries ?? [];
  return (
    <>
      {live.error && <Problem problem={live.error} />}
      {live.data && deliveries.length === 0 && <p class="none">No endpoint received an event.</p>}
      <ul>
        {deliveries.map(({ id: event, webhookId, event: kind, status, createdAt, AttemptLog }) => (
          <li key={`${event} ${webhookId}`}>
            {toWords(kind)} <Tag name={status} /> <Time value={createdAt} /> ·{" "}
            <a href={pageHref("webhooks", "", { on: webhookId })}>endpoint</a>
            {AttemptLog.length > 0 && <RecordList records={AttemptLog} />}
          </li>
        ))}
      </ul>
      <p>
        <a href={pageHref("webhooks", "", { tab: "deliveries", recordId: id })}>
          Send them again in the delivery log
        </a>
      </p>
    </>
  );
}
