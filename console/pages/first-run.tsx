/** What a deployment that has nothing yet is led through: a source, wallets, a registry, the first agent. */
import { FAST_POLL_INTERVAL_MS, useLiveData } from "../api/live.ts";
import { callApi } from "../api/request.ts";
import { hasAccess } from "../api/session.ts";
import { network, pageHref } from "../ui/route.ts";
import { readCoins } from "./wallets/lacks.ts";

interface SetupProgress {
  hasSource: boolean;
  /** Address of the first selling wallet; null: there is none. */
  sellerAddress: string | null;
  /** Whether a selling wallet holds the native coin. Null: unknown. */
  hasCoins: boolean | null;
  hasBuyer: boolean;
  hasRegistry: boolean;
  /** Nobody has to be led any further. */
  isComplete: boolean;
}

interface PaymentSource {
  SellingWallets: { walletAddress: string }[];
  PurchasingWallets: unknown[];
}

async function readList(path: string, limit: number, signal: AbortSignal): Promise<unknown[]> {
  const query = { network: network.value, limit: String(limit) };
  const data = await callApi<Record<string, unknown[]>>({ method: "GET", path, query }, signal);
  return Object.values(data)[0] ?? [];
}

/** Whether one of the selling wallets holds the native coin. Null: a balance is unknown. */
async function readCoinsOfSellers(signal: AbortSignal): Promise<boolean | null> {
  const query = { walletType: "Selling", limit: "100" };
  const path = "/wallet/list";
  const { Wallets } = await callApi<{ Wallets: { network: string }[] }>(
    { method: "GET", path, query },
    signal,
  );
  const coins = Wallets.filter((wallet) => wallet.network === network.value).map(readCoins);
  if (coins.some((amount) => amount !== null && amount > 0n)) return true;
  return coins.includes(null) ? null : false;
}

/** Who only buys needs no agent; who has sold had one before it came here. */
async function readProgress(
  signal: AbortSignal,
  before: SetupProgress | null,
): Promise<SetupProgress> {
  if (before?.isComplete) return before;
  const sources = (await readList("/payment-source-extended", 100, signal)) as PaymentSource[];
  const [seller] = sources.flatMap(({ SellingWallets }) => SellingWallets);
  const hasBuyer = sources.some(({ PurchasingWallets }) => PurchasingWallets.length > 0);
  const hasSold =
    seller !== undefined &&
    ((await readList("/registry", 1, signal)).length > 0 ||
      (await readList("/payment", 1, signal)).length > 0);
  const hasCoins =
    before?.hasCoins || (seller !== undefined && !hasSold && (await readCoinsOfSellers(signal)));
  // This list has the sources of both networks.
  const registries = (await readList("/registry-source", 100, signal)) as { network: string }[];
  const hasRegistry = registries.some((registry) => registry.network === network.value);
  return {
    hasSource: sources.length > 0,
    sellerAddress: seller?.walletAddress ?? null,
    hasCoins,
    hasBuyer,
    hasRegistry,
    isComplete: hasSold || (seller === undefined && hasBuyer && hasRegistry),
  };
}

const setupStepsOf = ({
  hasSource,
  sellerAddress: seller,
  hasCoins,
  hasBuyer,
  hasRegistry,
}: SetupProgress) => [
  {
    isDone: hasSource,
    href: pageHref("sources", "", { do: "create" }),
    title: "Create a payment source",
    about:
      "From the provider's key and the contract's administrators, or by the address and policy of a contract that is there.",
  },
  {
    isDone: seller !== null,
    href: pageHref("wallets", "", { do: "create", walletType: "Selling" }),
    title: "Create a selling wallet",
    about: "Its mnemonic is shown once: write it down, and confirm that you have.",
  },
  {
    isDone: hasCoins === true,
    href: pageHref("wallets", "", { walletType: "Selling" }),
    title: "Send the native coin to the selling wallet",
    about:
      hasCoins === null
        ? "The chain provider has not reported the balance yet."
        : `The wallet pays for its agents' tokens. A little is enough. ${seller ? `Its address: ${seller}` : ""}`,
  },
  {
    isDone: hasBuyer,
    href: pageHref("wallets", "", { do: "create", walletType: "Purchasing" }),
    title: "Create a purchasing wallet, if agents here shall buy",
    about: "Send it what it shall pay with.",
  },
  {
    isDone: hasRegistry,
    href: pageHref("sources", "", { tab: "registry", do: "create" }),
    title: "Follow a registry",
    about:
      "By the policy of the payment source. Agents of this policy are then found, and shown online.",
  },
  {
    isDone: false,
    href: pageHref("agents", "", { tab: "registered", do: "register" }),
    title: "Register the first agent",
    about: "Its token is the agent on the chain. The selling wallet pays for the token.",
  },
];

/** Shown on each page that a step leads to, until the network has what it needs. */
export function FirstRun() {
  const live = useLiveData<SetupProgress | null>(
    `first run ${network.value} ${hasAccess("Admin")}`,
    async (signal, before) => (hasAccess("Admin") ? await readProgress(signal, before) : null),
    FAST_POLL_INTERVAL_MS,
  );
  const progress = live.data;
  if (!progress || progress.isComplete) return null;
  const steps = setupStepsOf(progress);
  const next = steps.find(({ isDone }) => !isDone);
  return (
    <section class="panel" aria-label="First steps">
      <header>
        <h2>First steps on {network.value}</h2>
      </header>
      <ol class="steps">
        {steps.map((step) => (
          <li key={step.title} {...(step === next && { "aria-current": "step" })}>
            {step.isDone ? <>✓ {step.title}</> : <a href={step.href}>{step.title}</a>}
            {!step.isDone && <p class="about">{step.about}</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}
