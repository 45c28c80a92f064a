/** What keys need of viem, alone: an import of all its `accounts` brings the word lists of nine languages. */
import { loadViem } from "../../packages.ts";

export const { generatePrivateKey, privateKeyToAddress } = await loadViem();
