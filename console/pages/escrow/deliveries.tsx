/** The deliveries of one escrow's events, with their attempts. */
import { POLL_INTERVAL_MS, useLiveData } from "../../api/live.ts";
import { callApi } from "../../api/request.ts";
import { Problem } from "../../ui/action-dialog.tsx";
import { splitWords } from "../../ui/format.ts";
import { pageHref } from "../../ui/route.ts";
import { RecordList, Tag, Time } from "../../ui/value.tsx";

interface Delivery {
  id: string;
  webhookId: string;
  event: string;
  status: string;
  createdAt: string;
  AttemptLog: object[];
}

const MAX_EVENTS = "50";

export function Deliveries({ id }: { id: string }) {
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
    <section class="card" aria-label="Events and deliveries">
      <h2>Events and deliveries</h2>
      <p>
        <a href={pageHref("webhooks", "", { tab: "deliveries", recordId: id })}>
          In the delivery log
        </a>
        , where each can be delivered again.
      </p>
      {live.error && <Problem problem={live.error} />}
      {live.data && deliveries.length === 0 && <p class="none">No endpoint received this event.</p>}
      <ul>
        {deliveries.map(({ id: event, webhookId, event: kind, status, createdAt, AttemptLog }) => (
          <li key={`${event} ${webhookId}`}>
            {splitWords(kind)} <Tag name={status} /> <Time value={createdAt} /> ·{" "}
            <a href={pageHref("webhooks", "", { on: webhookId })}>endpoint</a>
            {AttemptLog.length > 0 && <RecordList records={AttemptLog} />}
          </li>
        ))}
      </ul>
    </section>
  );
}
