import { isLoopback } from "../src/http/outbound/fetch-public.ts";

/** Port of `npm start` unless `PORT` names another. */
export const DEFAULT_PORT = "8787";
/** Where `npm run example` looks for the service unless `SERVICE_URL` names another. */
export const DEFAULT_URL = `http://127.0.0.1:${DEFAULT_PORT}`;

/** Where the programs of the examples and guides listen that the service calls. */
export const EXAMPLE_ORIGINS = {
  webhooks: "http://127.0.0.1:9000",
  agent: "http://127.0.0.1:9001",
  guideAgent: "http://127.0.0.1:9004",
};

/**
 * Reads what `--origins` lists, comma separated: origins on this machine that the service may reach.
 *
 * @throws in one line when one is something else
 */
export function readOrigins(text: string): string[] {
  return text.split(",").map((part) => {
    const url = URL.canParse(part.trim()) ? new URL(part.trim()) : null;
    if (!url || !isLoopback(url) || url.href !== `${url.origin}/`)
      throw new Error(
        `--origins: ${part.trim() || "an empty entry"} is no origin on this machine, such as http://127.0.0.1:9000`,
      );
    return url.origin;
  });
}
