/** What keys need of viem, alone: an import of all its `accounts` brings the word lists of nine languages. */
export { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
