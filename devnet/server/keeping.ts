import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A server that never closes idle connections. If it closed a connection just as a client used it
 * again, a submission would be lost.
 */
export function keepingServer(listener: RequestListener): Server {
  return createServer({ keepAliveTimeout: 0 }, listener);
}

/**
 * Listens on 127.0.0.1.
 *
 * @param portFile - has the port of the last start, which is taken again unless it is in use; left out:
 *   any free port
 * @returns the port
 */
export async function listenLocally(server: Server, portFile?: string): Promise<number> {
  const last = portFile && existsSync(portFile) ? Number(readFileSync(portFile, "utf8")) : 0;
  try {
    await once(server.listen(last, "127.0.0.1"), "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    await once(server.listen(0, "127.0.0.1"), "listening");
  }
  const { port } = server.address() as AddressInfo;
  if (portFile) writeFileSync(portFile, String(port));
  return port;
}
