/**
 * The local chain as a server on 127.0.0.1. It serves any number of chains, each behind a
 * provider's API at `/{name}/api/v0` and other providers' at `/{name}/{profile}`, and `/_control` for other
 * processes.
 */

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PROFILES } from "../blockfrost/profiles.ts";
import { createChain, type DevnetChainOptions } from "../ledger/chain.ts";
import type { GenesisFunds } from "../ledger/genesis.ts";
import { type ControlHandler, createControl } from "./control.ts";
import { keepingServer } from "./keeping.ts";
import { createNode, type DevnetNode } from "./node.ts";

export interface DevnetOptions {
  /** TCP port; a free one when omitted. */
  port?: number;
  /** What chains that are created over HTTP start with, when the request does not say. */
  funds?: GenesisFunds[];
}

export interface Devnet {
  /** Origin without a trailing slash. */
  url: string;
  /** By name. */
  chains: ReadonlyMap<string, DevnetNode>;
  /**
   * Adds a chain, independent of all others.
   *
   * @param name letters, digits, `-`; also the chain's seed unless the options have one
   * @throws RangeError when the name is taken or malformed.
   */
  createChain(name: string, options: DevnetChainOptions): DevnetNode;
  /** Serves `POST /_control/{chain}/{action}`; the handler's result is the JSON of the answer. */
  onControl(action: string, handler: ControlHandler): void;
  /** Stops listening and drops every connection, answered or not. */
  close(): Promise<void>;
}

/** Chain and profile; the profiles of the provider's API have a version. */
const BASE_PATH = /^\/([A-Za-z0-9-]+)\/(?:(api|mirror|ryo|dolos|platform)\/v0|(ogmios))(?=[/?]|$)/;
const CONTROL_PATH = /^\/_control\//;

/** Starts a devnet without chains. */
export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const chains = new Map<string, DevnetNode>();

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? "/";
    if (CONTROL_PATH.test(target)) return control.handle(target, request, response);
    const base = BASE_PATH.exec(target);
    const node = chains.get(base?.[1] ?? "");
    if (!base || !node) {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: `No chain is served at ${target}` }));
      return;
    }
    const rest = target.slice(base[0].length);
    const profile = PROFILES.find((one) => one === (base[2] ?? base[3]));
    return node.handle(rest.startsWith("/") ? rest : `/${rest}`, request, response, profile);
  }

  const server = keepingServer((request, response) => {
    route(request, response).catch((error: unknown) => {
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const devnet: Devnet = {
    url,
    chains,
    createChain(name, chainOptions) {
      if (!/^[A-Za-z0-9-]+$/.test(name)) throw new RangeError(`"${name}" is no name for a chain`);
      if (chains.has(name)) throw new RangeError(`Chain ${name} exists`);
      const chain = createChain({ seed: name, ...chainOptions });
      const node = createNode(name, `${url}/${name}/api/v0`, chain);
      chains.set(name, node);
      return node;
    },
    onControl: (action, handler) => control.on(action, handler),
    close: () =>
      new Promise((resolve, reject) => {
        for (const node of chains.values()) node.mineEvery(null);
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
  const control = createControl(chains, ({ name = randomUUID(), funds, ...chainOptions }) =>
    devnet.createChain(name, { ...chainOptions, funds: funds ?? options.funds ?? [] }),
  );
  return devnet;
}
