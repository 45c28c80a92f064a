/** The agent registry: what a page costs, and how long all agents take to be checked. */
import type { D1Database } from "@cloudflare/workers-types";
import { until } from "../devnet/client/wait.ts";
import { contractOf } from "../devnet/contracts/index.ts";
import { mintToken } from "../devnet/demo/actors/registry.ts";
import { ACTOR_FUNDS, SELLERS } from "../devnet/demo/actors/wallets.ts";
import { startAgents } from "../devnet/demo/agents.ts";
import { startDevnet } from "../devnet/server/server.ts";
import { NETWORKS } from "../src/chain/network.ts";
import { openDb } from "../src/db/client.ts";
import { readProfile } from "../src/registry/entries/profile.ts";
import { buildAgentEntryQuery } from "../src/registry/payment-information.ts";
import { buildRegistryDiffQuery } from "../src/registry/registry-diff.ts";
import { searchPage } from "../src/registry/search/search-page.ts";
import { findActiveRegistrySource } from "../src/registry/sources/list-registry-sources.ts";
import { EntryChanges } from "../src/registry/sync/changes.ts";
import { commitChanges } from "../src/registry/sync/commit-changes.ts";
import { readCursor } from "../src/registry/sync/cursor.ts";
import { countingD1 } from "../test/support/d1.ts";
import { benchHealth, CHECK_EVERY_S, countOf } from "./registry-health.ts";
import { metadata } from "./registry-metadata.ts";
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "./support/service.ts";
import { percentile } from "./support/statistics.ts";
import type { Row } from "./support/table.ts";

const CONNECTIONS = 16;
const PER_BATCH = 100;

/** Pages of the registry, and the health checks of all its agents. */
export async function benchRegistry(
  context: BenchContext,
): Promise<{ reads: Row[]; health: Row[] }> {
  const count = context.quick ? 500 : 10_000;
  const devnet = await startDevnet();
  const agents = await startAgents();
  const chain = devnet.createChain("registry", { funds: ACTOR_FUNDS, autoMine: true });
  const service = await startBenchService(context, {
    BLOCKFROST_URL_PREPROD: chain.url,
    LOOPBACK_ORIGINS: agents.url,
    PROVIDER_CALLS_PER_SECOND: "10000",
    HEALTH_CHECK_INTERVAL_S: String(CHECK_EVERY_S),
  });
  try {
    const token = mintToken(
      chain.chain,
      contractOf("Web3ChainV1"),
      SELLERS[0],
      metadata("real", `${agents.url}/real`),
    );
    const sourceId = await createSource(service);
    await loadEntries(service.host.d1, sourceId, count, agents.url);
    const health = await benchHealth(service, sourceId, count, agents, context.quick);
    const reads = await benchReads(service, token.unit, context.quick);
    return { reads, health };
  } finally {
    await service.host.close();
    await agents.close();
    await devnet.close();
  }
}

/** Creates the source and waits for the one agent that is on the chain. */
async function createSource(service: BenchService): Promise<string> {
  const { id } = await call<{ id: string }>(service, "/api/v1/registry-source", {
    method: "POST",
    body: {
      network: "Preprod",
      policyId: contractOf("Web3ChainV1").policy.hash,
      rpcProviderApiKey: "local",
    },
  });
  await until(async () => (await countOf(service.host.d1, "TRUE")) === 1, {
    what: "the agent that is on the chain",
  });
  return id;
}

/** Writes entries with the service's own writer. */
async function loadEntries(
  d1: D1Database,
  sourceId: string,
  count: number,
  agentsUrl: string,
): Promise<void> {
  const database = () => openDb({ DB: d1 }, "Preprod");
  const policyId = contractOf("Web3ChainV1").policy.hash;
  const source = { id: sourceId, network: "Preprod", policyId, url: null } as const;
  for (let i = 0; i < count; i += PER_BATCH) {
    const cursor = await readCursor(database(), sourceId);
    if (!cursor) throw new Error("the source has no cursor");
    const changes = new EntryChanges([], new Set(), Date.now());
    for (let n = i; n < Math.min(i + PER_BATCH, count); n++) {
      const profile = readProfile(metadata(`agent ${n}`, `${agentsUrl}/agent-${n}`));
      if (!profile.ok) throw new Error(profile.reason);
      const identifier = policyId + n.toString(16).padStart(64, "0");
      changes.setState(changes.entryOf(source, identifier), {
        supply: "1",
        profile: profile.profile,
        reason: null,
      });
    }
    await commitChanges(database(), cursor, changes, cursor.recent);
  }
}

/** Requests that are measured: what is sent, and the rows that their query reads. */
async function benchReads(service: BenchService, unit: string, quick: boolean): Promise<Row[]> {
  const { d1 } = service.host;
  const { results } = await d1
    .prepare("SELECT id, status_updated_at AS stamp FROM registry_entry ORDER BY status_updated_at")
    .all<{ id: string; stamp: number }>();
  const random = () => {
    const start = results[Math.floor(Math.random() * Math.max(results.length - 50, 1))];
    if (!start) throw new Error("there are no entries");
    return start;
  };
  const diffBody = () => {
    const { id, stamp } = random();
    return {
      network: "Preprod",
      statusUpdatedAfter: new Date(stamp).toISOString(),
      cursorId: id,
      limit: 50,
    };
  };
  await call(service, "/api/v1/registry-diff", { method: "POST", body: diffBody() });
  await until(
    async () => {
      const body = { network: "Preprod", query: "agent 1", limit: 10 };
      const found = await call<{ entries: unknown[] }>(service, "/api/v1/registry-entry-search", {
        method: "POST",
        body,
      });
      return found.entries.length === 10;
    },
    { what: "the search index" },
  );
  const ms = quick ? 1_000 : 4_000;
  const kinds = [
    {
      request: "POST /registry-diff, limit 50",
      path: "/api/v1/registry-diff",
      body: diffBody,
      rows: () => rowsReadByDiff(d1, random()),
    },
    {
      request: "GET /payment-information",
      path: `/api/v1/payment-information?agentIdentifier=${unit}`,
      body: null,
      rows: () => rowsReadByInformation(d1, unit),
    },
    {
      request: "POST /registry-entry-search, one match in a hundred",
      path: "/api/v1/registry-entry-search",
      body: () => ({ network: "Preprod", query: `agent ${Math.floor(Math.random() * 90) + 10}` }),
      rows: () => rowsReadBySearch(service, "agent 42"),
    },
  ];
  const rows: Row[] = [];
  for (const { request, path, body, rows: rowsRead } of kinds)
    rows.push({
      request,
      ...(await load(service, path, body, ms)),
      "rows read": await rowsRead(),
    });
  return rows;
}

async function rowsReadByDiff(
  d1: D1Database,
  start: { id: string; stamp: number },
): Promise<number> {
  const counting = countingD1(d1 as never);
  const { sql, params } = buildRegistryDiffQuery({
    network: "Preprod",
    statusUpdatedAfter: start.stamp,
    cursorId: start.id,
    limit: 50,
  });
  await openDb({ DB: counting.d1 }).all(sql, ...params);
  return counting.rowsRead();
}

/** The entry on either network, and its source. */
async function rowsReadByInformation(d1: D1Database, unit: string): Promise<number> {
  const counting = countingD1(d1 as never);
  const database = openDb({ DB: counting.d1 });
  for (const network of NETWORKS) {
    const { sql, params } = buildAgentEntryQuery(network, unit);
    const [row] = await database.all<{ source_id: string }>(sql, ...params);
    if (row) await findActiveRegistrySource(database, row.source_id);
  }
  return counting.rowsRead();
}

async function rowsReadBySearch({ host }: BenchService, query: string): Promise<number> {
  const index = countingD1(host.searchD1 as never);
  const ledger = countingD1(host.d1 as never);
  const body = { network: "Preprod", query, limit: 10 } as const;
  await searchPage(openDb({ DB: index.d1 }), openDb({ DB: ledger.d1 }), body);
  return index.rowsRead() + ledger.rowsRead();
}

/** Sends a request over and over on several connections, after a warm-up that is not counted. */
async function load(
  service: BenchService,
  path: string,
  body: (() => object) | null,
  durationMs: number,
): Promise<Row> {
  const send = async () => {
    const begun = performance.now();
    const response = await fetch(`${service.host.url}${path}`, {
      method: body ? "POST" : "GET",
      headers: { token: service.token },
      ...(body && { body: JSON.stringify(body()) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return performance.now() - begun;
  };
  const round = async (end: number) => {
    const latencies: number[] = [];
    const work = async () => {
      while (performance.now() < end) latencies.push(await send());
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
    return latencies;
  };
  await round(performance.now() + durationMs / 4);
  const cpuBefore = service.cpuMs();
  const latencies = await round(performance.now() + durationMs);
  const cpu = service.cpuMs() - cpuBefore;
  return {
    "req/s": latencies.length / (durationMs / 1000),
    "p50 ms": percentile(latencies, 0.5),
    "p99 ms": percentile(latencies, 0.99),
    "CPU ms/req": cpu / latencies.length,
  };
}
