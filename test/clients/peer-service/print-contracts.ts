/**
 * Run in the peer's folder, with its packages: prints its contracts with the terms of the local chain, in the
 * form of `ESCROW_CONTRACTS`.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

type Code = { code: string };

const [address = "", receiver = "", permille, cooldown, signatures] = process.argv.slice(2);
const load = (version: string) =>
  import(
    pathToFileURL(
      join(process.cwd(), `packages/payment-source-${version}/src/contract-generator.ts`),
    ).href
  );
const [v1, v2] = await Promise.all([load("v1"), load("v2")]);
const escrowV1 = await v1.getPaymentScriptV1(
  ...[address, address, address, receiver],
  ...[Number(permille), Number(cooldown), "Preprod"],
);
const policyV1 = await v1.getRegistryScriptV1(escrowV1.smartContractAddress, "Preprod");
const admins = [address, address, address];
const escrowV2 = await v2.getPaymentScriptV2(
  ...[admins, Number(signatures), Number(cooldown), "Preprod"],
);
const policyV2 = await v2.getRegistryScriptV2("Preprod");
const scripts = (escrow: { script: Code }, policy: { script: Code }) => ({
  language: "PlutusV3",
  escrow: escrow.script.code,
  policy: policy.script.code,
});
process.stdout.write(
  JSON.stringify({
    Web3ChainV1: scripts(escrowV1, policyV1),
    Web3ChainV2: scripts(escrowV2, policyV2),
  }),
);
