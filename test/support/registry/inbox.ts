import { env } from "cloudflare:workers";
import type { Env } from "../../../src/env.ts";
import { verifyDueInboxes } from "../../../src/inbox/verify-due-inboxes.ts";
import { RegistrationFixture } from "./registration-fixture.ts";
import { settleRegistry } from "./registry-sync.ts";

/** An inbox registration, as far as tests look. */
export interface ShownInbox {
  id: string;
  status: string;
  statusUpdatedAt: string;
  agentIdentifier: string;
  agentSlug: string;
  linkedEmail: string | null;
  [field: string]: unknown;
}

/** A fixture whose policy is followed as a registry source, and an inbox provider to publish at. */
export async function openInbox(type: "Web3ChainV1" | "Web3ChainV2" = "Web3ChainV1") {
  const fixture = await RegistrationFixture.open({ type });
  const source = await fixture.followPolicy();
  const bindings = {
    LOOPBACK_ORIGINS: `${env.DEVNET_URL},${env.INBOX_URL}`,
    INBOX_PROVIDER_URL_PREPROD: `${env.INBOX_URL}/`,
  };
  fixture.bindings = bindings;
  const slug = `slug-${fixture.chain.name}-${type.toLowerCase()}`;
  return {
    fixture,
    source,
    slug,
    register: (overrides: object = {}, headers: Record<string, string> = {}) =>
      fixture.ask(
        "POST",
        "/inbox-agents",
        {
          network: "Preprod",
          sellingWalletVkey: fixture.sellers[0].vkey,
          name: "An inbox",
          description: "Takes letters",
          agentSlug: slug,
          ...overrides,
        },
        headers,
      ),
    deregister: (agentIdentifier: string | null, headers: Record<string, string> = {}) =>
      fixture.ask(
        "POST",
        "/inbox-agents/deregister",
        { agentIdentifier, network: "Preprod" },
        headers,
      ),
    sync: () => settleRegistry(fixture.chain, source),
    /** One run of the cron's job, with every registration due that is ever asked for. */
    verify: async (overrides: Partial<Env> = {}) => {
      await env.DB.prepare(
        "UPDATE inbox_registration SET due_at = 0 WHERE due_at IS NOT NULL",
      ).run();
      await verifyDueInboxes(fixture.env(overrides), "test");
    },
    async publish(page: object, status = 200, at = slug) {
      await fetch(`${env.INBOX_URL}/_control`, {
        method: "POST",
        body: JSON.stringify({ slug: at, status, body: page }),
      });
    },
    async listed(path = "", body: object = {}): Promise<ShownInbox[]> {
      const answer = await fixture.ask<{ registrations: ShownInbox[] }>(
        "POST",
        `/inbox-agent-registration${path}`,
        { network: "Preprod", ...body },
      );
      return answer.data.registrations;
    },
    diff(body: object = {}): Promise<ShownInbox[]> {
      return this.listed("-diff", { statusUpdatedAfter: "1970-01-01", limit: 50, ...body });
    },
    refresh: async (agentIdentifier: string | null, headers: Record<string, string> = {}) => {
      const answer = await fixture.ask<{ registration: ShownInbox }>(
        "POST",
        "/inbox-agent-registration-refresh/",
        { network: "Preprod", agentIdentifier },
        headers,
      );
      // An error has no data.
      const registration: Partial<ShownInbox> = answer.data?.registration ?? {};
      return { code: answer.status, ...registration };
    },
  };
}

/** One inbox agent on the chain and in the registry, not verified yet. */
export async function registeredInbox(type?: "Web3ChainV1" | "Web3ChainV2") {
  const inbox = await openInbox(type);
  const { id } = (await inbox.register()).data;
  await inbox.fixture.settle();
  await inbox.sync();
  const { agentIdentifier } = await inbox.fixture.shown(id, "/inbox-agents");
  return { ...inbox, id, agentIdentifier: agentIdentifier ?? "" };
}
