/**
 * Loaded into the peer's process: the local chain's provider answers what the process asks the public
 * provider of the chain. Nothing else of the process is changed.
 */
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";

const HOST = "cardano-preprod.blockfrost.io";
const PREFIX = "/api/v0";
const provider = new URL(process.env.PEER_PROVIDER ?? "");

const request = https.request.bind(https) as (...args: unknown[]) => http.ClientRequest;

function redirect(...args: unknown[]): http.ClientRequest {
  const [first, second, third] = args;
  const isAddress = typeof first === "string" || first instanceof URL;
  const address = isAddress ? new URL(first) : null;
  const options = ((isAddress ? second : first) ?? {}) as http.RequestOptions;
  const onResponse = (isAddress ? third : second) as (response: http.IncomingMessage) => void;
  const host = options.hostname ?? options.host ?? address?.hostname;
  if (host !== HOST) return request(...args);
  const path = options.path ?? `${address?.pathname}${address?.search}`;
  const {
    agent: _,
    servername: __,
    ...kept
  } = options as http.RequestOptions & {
    servername?: string;
  };
  return http.request(
    {
      ...kept,
      protocol: "http:",
      host: provider.hostname,
      hostname: provider.hostname,
      port: provider.port,
      path: `${provider.pathname}${path.slice(PREFIX.length)}`,
      headers: { ...(kept.headers as http.OutgoingHttpHeaders), host: provider.host },
    },
    onResponse,
  );
}

https.request = redirect as typeof https.request;
syncBuiltinESMExports();
