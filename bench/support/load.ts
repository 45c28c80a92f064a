/** A closed-loop HTTP client: each connection sends its next request when it has the answer. */
import { Agent, get } from "node:http";
import { percentile } from "./statistics.ts";

export interface LoadOptions {
  /** Makes the URL of each request. */
  url(): string;
  headers: Record<string, string>;
  /** Keep-alive connections, each with one request under way. */
  connections: number;
  warmUpMs: number;
  durationMs: number;
  /** CPU milliseconds that the server has spent so far. */
  cpuMs(): number;
}

export interface LoadResult {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuMsPerRequest: number;
  bytesPerResponse: number;
}

/**
 * Loads a server for a while, after a warm-up that is not counted.
 *
 * @throws on the first answer that is not 2xx, and on any error of a connection
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  try {
    await sendUntil(agent, options, performance.now() + options.warmUpMs);

    const cpuBefore = options.cpuMs();
    const begun = performance.now();
    const answers = await sendUntil(agent, options, begun + options.durationMs);
    const seconds = (performance.now() - begun) / 1000;
    const cpuSpent = options.cpuMs() - cpuBefore;

    const latencies = answers.map(({ ms }) => ms);
    return {
      requestsPerSecond: answers.length / seconds,
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      cpuMsPerRequest: cpuSpent / answers.length,
      bytesPerResponse: Math.round(
        answers.reduce((sum, { bytes }) => sum + bytes, 0) / answers.length,
      ),
    };
  } finally {
    agent.destroy();
  }
}

interface Answer {
  ms: number;
  bytes: number;
}

/** Sends on every connection until `end`, and waits for the last answers. */
async function sendUntil(agent: Agent, options: LoadOptions, end: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  const connection = async () => {
    while (performance.now() < end) answers.push(await send(agent, options));
  };
  await Promise.all(Array.from({ length: options.connections }, connection));
  return answers;
}

function send(agent: Agent, options: LoadOptions): Promise<Answer> {
  const url = options.url();
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, headers: options.headers }, (response) => {
      const { statusCode = 0 } = response;
      const isGood = statusCode >= 200 && statusCode < 300;
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (!isGood) chunks.push(chunk);
      });
      response.on("end", () => {
        if (isGood) resolve({ ms: performance.now() - begun, bytes });
        else reject(new Error(`GET ${url}: ${statusCode} ${Buffer.concat(chunks)}`));
      });
      response.on("error", reject);
    });
    request.on("error", (cause) => reject(new Error(`GET ${url}: ${cause.message}`, { cause })));
  });
}
