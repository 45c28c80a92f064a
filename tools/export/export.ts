/**
 * `npm run export`: writes the records of a network, a wallet or a key to the standard output, one JSON
 * object a line.
 */
import { parseArgs } from "node:util";
import { exportRecords } from "./export-records.ts";

const USAGE = `npm run --silent export -- --network=NAME [options] > FILE   exports records as NDJSON

  --network=NAME   Preprod, Mainnet, or an EVM chain such as eip155:8453
  --wallet=ID      only records of this wallet
  --key=ID         only records of this API key

SERVICE_URL is where the service is, and SERVICE_TOKEN an Admin's key.
`;

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      network: { type: "string" },
      wallet: { type: "string" },
      key: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const { SERVICE_URL, SERVICE_TOKEN } = process.env;
  if (!values.network) throw new Error("--network: is missing; --help lists the options");
  if (!SERVICE_URL || !SERVICE_TOKEN)
    throw new Error("SERVICE_URL and SERVICE_TOKEN must be in the environment");
  const lines = exportRecords({
    serviceUrl: SERVICE_URL,
    token: SERVICE_TOKEN,
    network: values.network,
    walletId: values.wallet,
    keyId: values.key,
  });
  for await (const line of lines) {
    const isWritten = process.stdout.write(`${JSON.stringify(line)}\n`);
    if (!isWritten) await new Promise((done) => process.stdout.once("drain", done));
  }
}

try {
  await run();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
