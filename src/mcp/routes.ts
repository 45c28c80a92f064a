import { Hono } from "hono";
import { authenticateBearer } from "../http/authenticate.ts";
import { readJsonBody } from "../http/body.ts";
import type { AppEnv } from "../http/context.ts";
import { runWithDeadline } from "../http/deadline.ts";
import { ApiError } from "../http/errors.ts";
import { enforceRateLimit } from "../http/rate-limit.ts";
import { createToolService, type DispatchRequest } from "./tool-service.ts";

const MCP_PATH = "/mcp";
/** An agent is waited for, and then the chain's provider. */
const TIMEOUT_MS = 25_000;

/**
 * A server of the Model Context Protocol (streamable HTTP, stateless) for agents that buy. Each message
 * is a POST, answered as JSON; there are no sessions and no streams. An API key is the bearer token.
 *
 * @param dispatch - answers requests to the API that tools make
 */
export function createMcpRoutes(dispatch: DispatchRequest): Hono<AppEnv> {
  const router = new Hono<AppEnv>({ strict: false });
  router.post(MCP_PATH, (c) =>
    runWithDeadline(c, TIMEOUT_MS, async () => {
      c.set("caller", await authenticateBearer(c));
      await enforceRateLimit(c);
      const message = await readJsonBody(c);
      // Loaded by the first message: others do not pay for it.
      const {
        handleMessage: answerMessage,
        isInitialization,
        PROTOCOL_VERSIONS,
      } = await import("./handle-message.ts");
      const version = c.req.header("mcp-protocol-version");
      const isKnown = version === undefined || PROTOCOL_VERSIONS.some((one) => one === version);
      // The body of an initialization negotiates the version: the header binds the messages after it.
      if (!isKnown && !isInitialization(message))
        throw new ApiError(
          400,
          `mcp-protocol-version: must be one of ${PROTOCOL_VERSIONS.join(", ")}`,
        );
      const token = (c.req.header("authorization") ?? "").replace(/^Bearer +/i, "").trim();
      const answer = await answerMessage(
        message,
        c.var.caller,
        createToolService(c, token, dispatch),
      );
      return answer === null ? c.body(null, 202) : c.json(answer);
    }),
  );
  return router;
}
