/** The suites' own set-up and tear-down. Jest has them in two files. */
const { PEER_SUITES = "." } = process.env;

export default async function setUp(): Promise<() => Promise<void>> {
  const load = async (name: string) => {
    const path = `${PEER_SUITES}/tests/e2e/setup/${name}.ts`;
    const loaded = (await import(/* @vite-ignore */ path)) as { default: () => Promise<void> };
    return loaded.default;
  };
  await (await load("globalSetup"))();
  return await load("globalTeardown");
}
