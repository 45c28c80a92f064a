/** How the console shows amounts of x402, and where it looks up what is on an EVM chain. */
import { afterEach, describe, expect, test } from "vitest";
import { readExplorerUrls } from "../../console/build.ts";
import {
  evmDefaultAssets,
  evmTokenKey,
  evmTokens,
  findEvmToken,
  formatEvmAmount,
  formatEvmToken,
  listEvmTokens,
} from "../../console/ui/evm-tokens.ts";
import {
  buildBody,
  describeToken,
  findProblem,
  readInitialValues,
} from "../../console/ui/form-values.ts";
import type { Field } from "../../console/ui/resource.ts";

const BASE = "eip155:8453";
const USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";

afterEach(() => {
  evmTokens.value = new Map();
  evmDefaultAssets.value = new Map();
});

describe("formatEvmAmount", () => {
  test("shows whole units of a token whose decimals the service knows, on its chain alone", () => {
    evmTokens.value = new Map([[evmTokenKey(BASE, USDC), { decimals: 6, symbol: "USDC" }]]);
    expect(formatEvmAmount("1234500000", BASE, USDC.toLowerCase())).toBe("1 234.5 USDC");
    expect(formatEvmAmount("10000", "eip155:1", USDC)).toBe(
      "10 000 minor units of 0x833589fC…A02913",
    );
  });

  test("names a token without a symbol by its address, and the coin that pays the gas", () => {
    evmTokens.value = new Map([[evmTokenKey(BASE, USDC), { decimals: 6, symbol: null }]]);
    expect(formatEvmToken(BASE, USDC)).toBe("0x833589fC…A02913");
    expect(formatEvmAmount("1500000000000000000", BASE, "native")).toBe("1.5 native coin");
  });

  test("takes the decimals of the answer itself before others", () => {
    expect(formatEvmAmount("25", BASE, USDC, 1)).toBe("2.5 0x833589fC…A02913");
  });
});

describe("findEvmToken", () => {
  test("finds a token by its address, or as the one that its chain is paid in", () => {
    evmTokens.value = new Map([[evmTokenKey(BASE, USDC), { decimals: 6, symbol: "USDC" }]]);
    evmDefaultAssets.value = new Map([[BASE, USDC]]);
    const known = { name: "USDC", decimals: 6 };
    expect(findEvmToken(USDC)).toEqual(known);
    expect(findEvmToken("", BASE)).toEqual(known);
    expect(findEvmToken("native")).toEqual({ name: "native coins", decimals: 18 });
    expect(listEvmTokens().map(({ id, label }) => [id, label])).toEqual([
      [USDC.toLowerCase(), "USDC"],
    ]);
  });

  test("knows no decimals of another chain's token, nor where two chains differ", () => {
    evmTokens.value = new Map([
      [evmTokenKey(BASE, USDC), { decimals: 6, symbol: "USDC" }],
      [evmTokenKey("eip155:1", USDC), { decimals: 18, symbol: "USDC" }],
    ]);
    expect(findEvmToken(USDC).decimals).toBe(null);
    expect(findEvmToken(USDC, "eip155:10").decimals).toBe(null);
    expect(findEvmToken(USDC, "eip155:1").decimals).toBe(18);
  });
});

describe("the form of an amount", () => {
  const field: Field = {
    ...{ name: "remainingAmount", label: "May pay", as: "amount", from: "remainingAmount" },
    token: (_, row) => findEvmToken((row as { asset: string }).asset),
  };
  const row = { asset: USDC, remainingAmount: "1234500000" };

  test("holds and sends the row's minor units in whole units of its token", () => {
    evmTokens.value = new Map([[evmTokenKey(BASE, USDC), { decimals: 6, symbol: "USDC" }]]);
    const values = readInitialValues([field], row);
    expect(values).toEqual({ remainingAmount: "1 234.5" });
    expect(buildBody([field], values, row)).toEqual({ remainingAmount: "1234500000" });
    expect(findProblem(field, { remainingAmount: "0.1234567" }, row)).toBe(
      "must be an amount of USDC with at most 6 decimals",
    );
  });

  test("takes minor units where the decimals are not known, and says so", () => {
    evmTokens.value = new Map();
    const values = readInitialValues([field], row);
    expect(buildBody([field], values, row)).toEqual({ remainingAmount: "1234500000" });
    expect(describeToken(findEvmToken(USDC))).toBe(
      "In minor units: the decimals of 0x833589fC…A02913 are not known.",
    );
  });
});

describe("readExplorerUrls", () => {
  test("has an explorer for known chains, and none for a local one", () => {
    const urls = readExplorerUrls({});
    expect(urls[BASE]).toBe("https://basescan.org/{page}/{id}");
    expect(urls.Mainnet).toBe("https://cexplorer.io/{page}/{id}");
    expect(urls["eip155:31337"]).toBeUndefined();
  });

  test("takes the address of a variable in place of the default, empty for none", () => {
    const urls = readExplorerUrls({
      EXPLORER_URL_EIP155_31337: "http://localhost:4000/{page}/{id}",
      EXPLORER_URL_EIP155_8453: "",
      EXPLORER_URL_PREPROD: "https://explorer.example.com/{page}/{id}",
      EXPLORER_URL: "https://ignored.example.com",
    });
    expect(urls["eip155:31337"]).toBe("http://localhost:4000/{page}/{id}");
    expect(urls[BASE]).toBe("");
    expect(urls.Preprod).toBe("https://explorer.example.com/{page}/{id}");
  });
});
