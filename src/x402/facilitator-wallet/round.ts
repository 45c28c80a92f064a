import type { PrivateKeyAccount } from "viem";
import type { Rpc } from "../evm/rpc.ts";
import type { ChainSnapshot } from "../evm/transactions.ts";
import type { WalletStore } from "./wallet-store.ts";

/** The wallet of a pump. */
export interface SigningWallet {
  chainId: number;
  address: string;
  signer: PrivateKeyAccount;
  rpc: Rpc;
}

/** What a round of the pump works with: the stored state, and the chain as the node showed it. */
export interface Round {
  store: WalletStore;
  wallet: SigningWallet;
  chain: ChainSnapshot;
}
