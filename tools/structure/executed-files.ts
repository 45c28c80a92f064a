/**
 * Prints which files of the service run for one `POST /purchase` up to its stored lock, and for one
 * `POST /x402/settle`. A file runs when one of its functions does; what a module does when it is loaded
 * does not count. V8's own coverage is no option, because workerd does not let its profiler be enabled.
 *
 *     npx node tools/structure/executed-files.ts [purchase] [settle]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { UNLIMITED } from "../../bench/platform/invocation.ts";
import { quoteJobs, withAgent } from "../../bench/support/escrows.ts";
import { Limits } from "../../bench/support/limits.ts";
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "../../bench/support/service.ts";
import { startPaymentChain } from "../../bench/x402/chain.ts";
import { ourFacilitators } from "../../bench/x402/facilitators.ts";
import { startCountingProxy } from "../../bench/x402/proxy.ts";
import { buildWorker } from "../../devnet/build.ts";
import { until } from "../../devnet/client/wait.ts";
import { wrappedBundle } from "../../devnet/wrapped-bundle.ts";
import { markFunctions } from "./mark-functions.ts";

const PATH = "/executed-files";
/** Work that earlier requests left behind ends within this time. */
const QUIET_MS = 3_000;

/** Answers with the files that ran since the last such request. */
const WRAPPER = `import * as service from "./service.mjs";
export default {
  ...service.default,
  fetch(request, env, context) {
    if (new URL(request.url).pathname !== "${PATH}") return service.default.fetch(request, env, context);
    const files = [...globalThis.executedFiles];
    globalThis.executedFiles.clear();
    return Response.json(files);
  },
};`;

const folder = mkdtempSync(join(tmpdir(), "executed-"));
try {
  const { path } = await buildWorker(join(folder, "built"));
  const copy = join(folder, "marked");
  const bundle = wrappedBundle(
    path,
    copy,
    WRAPPER,
    (name) => `export const ${name} = service.${name};`,
  );
  const map = readFileSync(`${path}.map`, "utf8");
  writeFileSync(
    join(copy, "service.mjs"),
    markFunctions(readFileSync(path, "utf8"), map, dirname(path)),
  );
  const limits = new Limits();
  const context: BenchContext = { bundle, folder, quick: true, limits, platform: UNLIMITED };
  const names = process.argv.slice(2);
  const requests = { purchase: executePurchase, settle: executeSettlement };
  for (const [name, execute] of Object.entries(requests)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const files = await execute(context);
    console.log(`${name}: ${files.length} files`);
    for (const file of files) console.log(`  ${file}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The provider never answers to the transaction, so that nothing happens after the lock is stored. */
function executePurchase(context: BenchContext): Promise<string[]> {
  return withAgent(context, "Web3ChainV2", async (service, node) => {
    const [body] = await quoteJobs(service, "Web3ChainV2", 1);
    if (!body) throw new Error("nothing was quoted");
    node.faults.add({ match: "^/tx/submit", hang: true });
    return executedFiles(service, async () => {
      const path = "/api/v1/purchase";
      const { id } = await call<{ id: string }>(service, path, { method: "POST", body });
      const locks = service.host.d1
        .prepare("SELECT count(*) AS stored FROM escrow_transaction WHERE record_id = ?")
        .bind(id);
      const isStored = async () => (await locks.first<number>("stored")) === 1;
      await until(isStored, { what: "a stored lock", everyMs: 10, limitMs: 60_000 });
    });
  });
}

async function executeSettlement(context: BenchContext): Promise<string[]> {
  const chain = await startPaymentChain();
  const proxy = await startCountingProxy(chain.node.url);
  const service = await startBenchService(context, { LOOPBACK_ORIGINS: proxy.url });
  try {
    const [facilitator] = await ourFacilitators(service, proxy, chain);
    const terms = chain.newTerms();
    const settle = await facilitator?.open(terms);
    const [payment] = await chain.sign(terms, 1);
    if (!settle || !payment) throw new Error("there is no payment to settle");
    return await executedFiles(service, async () => {
      const { success, errorReason } = await settle(payment);
      if (!success) throw new Error(`the payment was not settled: ${errorReason}`);
    });
  } finally {
    await service.host.close();
    await proxy.close();
    await chain.node.close();
  }
}

/** The files of which a function ran while `run` did, sorted. */
async function executedFiles({ host }: BenchService, run: () => Promise<void>): Promise<string[]> {
  const take = async () => (await (await fetch(`${host.url}${PATH}`)).json()) as string[];
  await setTimeout(QUIET_MS);
  await take();
  await run();
  return (await take()).sort();
}
