/**
 * An inbox provider for the demo and the tests: `GET /{slug}/public` shows what was published for the
 * slug, as the providers of this protocol do, or answers 404.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { keepingServer } from "../server/keeping.ts";

/** What is published for a slug: JSON, or a status in place of it. */
export interface PublicPage {
  /** Default 200. */
  status?: number;
  body?: unknown;
}

export interface InboxProvider {
  /** Origin without a trailing slash. */
  url: string;
  /** Publishes a page for a slug. */
  publish(slug: string, page: PublicPage): void;
  close(): Promise<void>;
}

/**
 * Starts a provider on a free port of 127.0.0.1. Tests in other processes publish with
 * `POST /_control` and `{slug, status?, body?}`.
 */
export async function startInboxProvider(): Promise<InboxProvider> {
  const pages = new Map<string, PublicPage>();
  const publish = (slug: string, page: PublicPage) => void pages.set(slug, page);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, slug = "", view] = (request.url ?? "").split("/");
    if (request.method === "POST" && slug === "_control") {
      const { slug: published, ...page } = JSON.parse(await textOf(request));
      publish(published, page);
      response.end("{}");
      return;
    }
    const page = view === "public" ? pages.get(decodeURIComponent(slug)) : undefined;
    if (!page) {
      response.writeHead(404).end("Inbox slug not found");
      return;
    }
    response.writeHead(page.status ?? 200, {
      "content-type": "application/json",
      "cache-control": "no-store",
    });
    response.end(JSON.stringify(page.body ?? {}));
  }

  const server = keepingServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(400).end(String(error));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    publish,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString("utf8");
}
