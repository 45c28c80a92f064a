import { createServer, type RequestListener, type Server } from "node:http";

/**
 * A server that never closes idle connections. If it closed a connection just as a client used it
 * again, a submission would be lost.
 */
export function keepingServer(listener: RequestListener): Server {
  return createServer({ keepAliveTimeout: 0 }, listener);
}
