import { EVENT_KINDS } from "../../src/events/event-kinds.ts";

const KINDS = EVENT_KINDS.map((kind) => `('${kind}', '', 'observer', 'observer')`).join(", ");

/** SQL: subscribes no endpoint to every kind, so that the service stores the events that tests read. */
export const OBSERVE_EVENTS_SQL = `INSERT INTO webhook_subscription (kind, source_id, audience, endpoint_id) VALUES ${KINDS}`;
