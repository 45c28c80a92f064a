/**
 * Requests to receivers, agents and providers that one invocation sends at the same time. The
 * platform gives an invocation six connections, and a request that hangs keeps its connection: two
 * are left for D1 and queues.
 */
export const MAX_CONCURRENT_FETCHES = 4;

/** Jobs of the cron that only use D1 and run at the same time, with the two connections that are left. */
export const MAX_CONCURRENT_JOBS = 2;
