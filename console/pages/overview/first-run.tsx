/** What a deployment that has nothing yet is led through: a source, wallets, the first agent. */
import { SELDOM_MS, useLive } from "../../api/live.ts";
import { call } from "../../api/request.ts";
import { may } from "../../api/session.ts";
import { network, pageHref } from "../../ui/route.ts";

interface Progress {
  sourceId: string | null;
  hasSeller: boolean;
  hasBuyer: boolean;
  hasAgent: boolean;
}

interface Source {
  id: string;
  SellingWallets: unknown[];
  PurchasingWallets: unknown[];
}

async function readProgress(signal: AbortSignal): Promise<Progress> {
  const query = { network: network.value, limit: "100" };
  const { ExtendedPaymentSources: sources } = await call<{ ExtendedPaymentSources: Source[] }>(
    { method: "GET", path: "/payment-source-extended", query },
    signal,
  );
  const { Assets } = await call<{ Assets: unknown[] }>(
    { method: "GET", path: "/registry", query: { network: network.value, limit: "1" } },
    signal,
  );
  return {
    sourceId: sources[0]?.id ?? null,
    hasSeller: sources.some(({ SellingWallets }) => SellingWallets.length > 0),
    hasBuyer: sources.some(({ PurchasingWallets }) => PurchasingWallets.length > 0),
    hasAgent: Assets.length > 0,
  };
}

/** @param hasSource - whether the network has a payment source; with wallets and agents, nothing is shown */
export function FirstRun({ hasSource }: { hasSource: boolean }) {
  const live = useLive(
    `first run ${network.value} ${hasSource}`,
    async (signal) => (may("Admin") ? readProgress(signal) : null),
    SELDOM_MS,
  );
  const progress = live.data;
  if (!progress) return null;
  const { sourceId, hasSeller, hasBuyer, hasAgent } = progress;
  if (sourceId !== null && (hasSeller || hasBuyer)) return null;
  const steps = [
    {
      isDone: sourceId !== null,
      href: pageHref("sources", "", { do: "create" }),
      title: "Create a payment source",
      about: "From the provider's key and the contract's administrators.",
    },
    {
      isDone: hasSeller,
      href: pageHref("wallets", "", { do: "create" }),
      title: "Create a selling wallet",
      about: `Its mnemonic is shown once: write it down, and confirm that you have. The payment source's id is ${sourceId ?? "shown in Sources"}.`,
    },
    {
      isDone: hasBuyer,
      href: pageHref("wallets", "", { do: "create" }),
      title: "Create a purchasing wallet, if agents here shall buy",
      about: "Send it what it shall pay with.",
    },
    {
      isDone: hasAgent,
      href: pageHref("agents", "", { tab: "registered", do: "register" }),
      title: "Register the first agent",
      about: "The selling wallet pays for its token: send it a little of the native coin first.",
    },
  ];
  return (
    <section class="panel" aria-label="First steps">
      <h2>First steps on {network.value}</h2>
      <ol>
        {steps.map(({ isDone, href, title, about }) => (
          <li key={title}>
            {isDone ? (
              <>✓ {title}</>
            ) : (
              <>
                <a href={href}>{title}</a>
                <p class="about">{about}</p>
              </>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
