/**
 * Compiles the Solidity sources of this folder into `compiled.json`, which is committed:
 *
 *     npx node devnet/evm/contracts/compile.ts
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

interface CompilerOutput {
  errors?: { severity: string; formattedMessage: string }[];
  contracts: Record<
    string,
    Record<string, { evm: { bytecode: { object: string }; deployedBytecode: { object: string } } }>
  >;
}

// The compiler is CommonJS without types: its whole interface is JSON text in, JSON text out.
const solc: { compile(input: string): string } = createRequire(import.meta.url)("solc");
const folder = new URL("./", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".sol"));

const output: CompilerOutput = JSON.parse(
  solc.compile(
    JSON.stringify({
      language: "Solidity",
      sources: Object.fromEntries(
        names.map((name) => [name, { content: readFileSync(new URL(name, folder), "utf8") }]),
      ),
      settings: {
        evmVersion: "paris",
        viaIR: true,
        optimizer: { enabled: true, runs: 200 },
        metadata: { bytecodeHash: "none" },
        outputSelection: { "*": { "*": ["evm.bytecode.object", "evm.deployedBytecode.object"] } },
      },
    }),
  ),
);
const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
if (errors.length > 0) throw new Error(errors.map((one) => one.formattedMessage).join("\n"));

const compiled = Object.fromEntries(
  Object.values(output.contracts).flatMap((contracts) =>
    Object.entries(contracts)
      .filter(([, { evm }]) => evm.bytecode.object !== "")
      .map(([name, { evm }]) => [
        name,
        {
          bytecode: `0x${evm.bytecode.object}`,
          deployedBytecode: `0x${evm.deployedBytecode.object}`,
        },
      ]),
  ),
);
writeFileSync(new URL("compiled.json", folder), `${JSON.stringify(compiled, null, 2)}\n`);
