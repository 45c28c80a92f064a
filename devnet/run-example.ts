/**
 * `npm run example -- NAME` runs a program of `examples/` against the running `npm start`. `SERVICE_URL`
 * and `SERVICE_TOKEN` name another service, and `LISTEN_PORT` another port for an example that is a server.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join, parse } from "node:path";
import { fileURLToPath } from "node:url";
import { type ApiAccess, ask } from "./client/api.ts";
import { DEFAULT_URL, EXAMPLE_ORIGINS } from "./origins.ts";
import { developmentSecrets } from "./secrets.ts";

const FOLDER = fileURLToPath(new URL("../examples", import.meta.url));
const CLIENT = new URL("../client/index.ts", import.meta.url).href;
/** Resolves the name of the client's package, which is installed nowhere in this repository. */
const RESOLVE_CLIENT = `import { registerHooks } from "node:module";
  const resolve = (name, context, next) =>
    next(name === "agent-payment-service-client" ? "${CLIENT}" : name, context);
  registerHooks({ resolve });`;
const PRELOAD = `--import=data:text/javascript,${encodeURIComponent(RESOLVE_CLIENT)}`;

/** Where an example listens, by its name without extension. */
const ORIGINS: Record<string, string> = {
  "receive-webhooks": EXAMPLE_ORIGINS.webhooks,
  "sell-a-job": EXAMPLE_ORIGINS.agent,
  "x402-express": "http://127.0.0.1:9002",
  "x402-hono": "http://127.0.0.1:9003",
};
/** What runs a file, by its extension. */
const COMMANDS: Record<string, (file: string, host: string) => [string, ...string[]]> = {
  ".ts": (file) => [process.execPath, PRELOAD, file],
  ".py": (file) => ["python3", file],
  ".go": (file) => ["go", "run", file],
  ".php": (file, host) => ["php", "-q", "-S", host, file],
};
const EVENTS = ["PAYMENT_ON_CHAIN_STATUS_CHANGED", "PURCHASE_ON_CHAIN_STATUS_CHANGED"];

/** @throws with one clear line when the example cannot be run */
async function runExample(wanted: string | undefined): Promise<number> {
  const files = readdirSync(FOLDER).filter((one) => parse(one).ext in COMMANDS);
  const file = files.find((one) => one === wanted || one === `${wanted}.ts`);
  const names = files.map((one) => one.replace(/\.ts$/, "")).join(", ");
  if (!file)
    throw new Error(`${wanted ? `no example is named ${wanted}` : "name an example"}: ${names}`);
  const { SERVICE_URL: url = DEFAULT_URL, SERVICE_TOKEN } = process.env;
  const token = SERVICE_TOKEN ?? developmentSecrets().ADMIN_KEY;
  await requireService({ url, token });

  const { name, ext } = parse(file);
  const origin = new URL(ORIGINS[name] ?? EXAMPLE_ORIGINS.agent);
  origin.port = process.env.LISTEN_PORT ?? origin.port;
  const env = { SERVICE_URL: url, SERVICE_TOKEN: token, LISTEN_PORT: origin.port };
  const command = COMMANDS[ext]?.(join(FOLDER, file), origin.host);
  if (!command) throw new Error(`nothing runs files ${ext}`);
  if (name in ORIGINS) console.log(`${file} listens at ${origin.origin}`);
  if (name !== "receive-webhooks") return run(command, env);
  await unsubscribe({ url, token }, origin.href);
  const webhook = { url: origin.href, name: "Example", Events: EVENTS };
  const { secret } = await ask<{ secret: string }>({ url, token }, "POST", "/webhooks", webhook);
  try {
    return await run(command, { ...env, WEBHOOK_SECRET: secret });
  } finally {
    await unsubscribe({ url, token }, origin.href);
  }
}

/** @throws when no service answers, or when it refuses the key */
async function requireService({ url, token }: ApiAccess): Promise<void> {
  const request = fetch(`${url}/api/v1/api-key-status`, { headers: { token } });
  const answer = await request.catch(() => null);
  if (!answer)
    throw new Error(`no service answers at ${url}: run npm start in another terminal first`);
  if (!answer.ok)
    throw new Error(
      `${url} refuses the API key (${answer.status}): set SERVICE_TOKEN to one of its keys`,
    );
}

/** Deletes the webhooks to a URL: one may have stayed when its receiver was killed. */
async function unsubscribe(access: ApiAccess, url: string): Promise<void> {
  const path = "/webhooks?limit=50";
  const { Webhooks } = await ask<{ Webhooks: { id: string; url: string }[] }>(access, "GET", path);
  for (const { id } of Webhooks.filter((one) => one.url === url))
    await ask(access, "DELETE", "/webhooks", { webhookId: id });
}

/** Runs a command to its end, which this process hastens when it is to end. @returns its exit code */
async function run(
  [command = "", ...args]: string[],
  env: Record<string, string>,
): Promise<number> {
  const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, ...env } });
  let isStopped = false;
  const stop = (signal: NodeJS.Signals) => {
    isStopped = true;
    child.kill(signal);
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return isStopped ? 0 : (code ?? 1);
  } catch (error) {
    throw new Error(`${command} cannot be run: ${(error as Error).message}`);
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

try {
  process.exitCode = await runExample(process.argv[2]);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
