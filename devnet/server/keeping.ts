import { createServer, type RequestListener, type Server } from "node:http";

/**
 * A server that never ends a connection for idling: one that ends just as it is used again loses what
 * is sent on it, and a submission is not repeated.
 */
export function keepingServer(listener: RequestListener): Server {
  return createServer({ keepAliveTimeout: 0 }, listener);
}
