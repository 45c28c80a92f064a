/** What one deregistration costs: CPU of workerd for building and signing a burn. */
import { until } from "../devnet/client/wait.ts";
import { publishScripts } from "../devnet/demo/actors/publish.ts";
import { ACTOR_FUNDS } from "../devnet/demo/actors/wallets.ts";
import { startDevnet } from "../devnet/server/server.ts";
import { createSource, register } from "./support/selling.ts";
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "./support/service.ts";
import type { Row } from "./support/table.ts";

/** CPU milliseconds that one burn may cost. */
const LIMIT_MS = 1_500;
const POLL_MS = 20;
/** So long for one transaction means that the wallet's object has stopped. */
const STOPPED_AFTER_MS = 60_000;

interface Registration {
  id: string;
  state: string;
  error: string | null;
  agentIdentifier: string;
}

/**
 * Registers agents and deregisters them again through the API, one after another. CPU is counted
 * from the request until the signed transaction is stored: routes, D1, the opening of the wallet's
 * key, building, evaluating and signing. The first of each kind also loads the code.
 */
export async function benchRegistration(context: BenchContext): Promise<Row[]> {
  const rounds = context.quick ? 2 : 10;
  const devnet = await startDevnet();
  try {
    const node = devnet.createChain("bench", { funds: ACTOR_FUNDS, autoMine: true });
    publishScripts(node.chain);
    const service = await startBenchService(context, {
      BLOCKFROST_URL_PREPROD: node.url,
      LOOPBACK_ORIGINS: devnet.url,
      PROVIDER_CALLS_PER_SECOND: "1000000",
    });
    try {
      await createSource(service);
      const mints: number[] = [];
      const burns: number[] = [];
      for (let round = 0; round <= rounds; round++) {
        const before = service.cpuMs();
        const { id } = await register<Registration>(service, "A measured agent");
        await reach(service, id, "RegistrationInitiated");
        mints.push(service.cpuMs() - before);
        const { agentIdentifier } = await reach(service, id, "RegistrationConfirmed");
        const confirmed = service.cpuMs();
        await call(service, "/api/v1/registry/deregister", {
          method: "POST",
          body: { network: "Preprod", agentIdentifier },
        });
        await reach(service, id, "DeregistrationInitiated");
        burns.push(service.cpuMs() - confirmed);
        await reach(service, id, "DeregistrationConfirmed");
      }
      const rows = [
        { transaction: "first mint", "CPU ms": mints[0] ?? 0, limit: "" },
        { transaction: "later mints", "CPU ms": mean(mints.slice(1)), limit: "" },
        { transaction: "first burn", "CPU ms": burns[0] ?? 0, limit: String(LIMIT_MS) },
        { transaction: "later burns", "CPU ms": mean(burns.slice(1)), limit: String(LIMIT_MS) },
      ];
      const longest = Math.max(...burns);
      context.limits.timed(
        longest > LIMIT_MS ? `a burn took ${longest} ms CPU, its limit is ${LIMIT_MS} ms` : null,
      );
      return rows;
    } finally {
      await service.host.close();
    }
  } finally {
    await devnet.close();
  }
}

const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;

/** Waits for a state, or one beyond it. @throws when the registration fails or stands still */
async function reach(service: BenchService, id: string, state: string): Promise<Registration> {
  const initiated = state.endsWith("Initiated");
  const look = async () => {
    const path = `/api/v1/registry?network=Preprod&searchQuery=${id}`;
    const { Assets } = await call<{ Assets: Registration[] }>(service, path);
    const found = Assets[0];
    const isBeyond = initiated && found?.state === state.replace("Initiated", "Confirmed");
    if (found && (found.state === state || isBeyond)) return found;
    if (!found || found.state.endsWith("Failed"))
      throw new Error(`the registration is ${found?.state ?? "gone"}: ${found?.error}`);
    // The cron's part: what was sent is looked for at once.
    if (!initiated) await service.host.scheduled();
    return null;
  };
  return until(look, { what: state, everyMs: POLL_MS, limitMs: STOPPED_AFTER_MS });
}
