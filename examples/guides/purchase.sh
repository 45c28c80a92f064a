# Accepts a quote of an agent of the demo, and shows the purchase: run it in bash or zsh.
BASE=http://127.0.0.1:8787
KEY=…   # the admin key
post() { curl -s "$BASE/api/v1$1" -H "token: $KEY" -d "$2"; }
from() { node -p "const { data } = JSON.parse(fs.readFileSync(0)); $1"; }
at() { node -p "new Date(Date.now() + $1 * 60_000).toISOString()"; }

AGENT=$(post /registry-entry-search '{"network": "Preprod", "query": "Steady translator"}' | from 'data.entries[0].agentIdentifier')
JOB='"network": "Preprod", "agentIdentifier": "'$AGENT'", "identifierFromPurchaser": "'$(openssl rand -hex 10)'", "inputHash": "'$(printf 'Guten Tag' | openssl dgst -sha256 -r | cut -c 1-64)'"'
QUOTE=$(post /payment "{$JOB, \"payByTime\": \"$(at 10)\", \"submitResultTime\": \"$(at 16)\"}")

TERMS=$(from '(({ blockchainIdentifier, sellerVKey: sellerVkey, payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime }) =>
  JSON.stringify({ blockchainIdentifier, sellerVkey, payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime }).slice(1, -1))(data)' <<< "$QUOTE")
post /purchase "{$JOB, $TERMS}" | from data.NextAction.requestedAction    # FundsLockingRequested

ID='"network": "Preprod", "blockchainIdentifier": "'$(from data.blockchainIdentifier <<< "$QUOTE")'"'
state() { post /purchase/resolve-blockchain-identifier "{$ID}" | from data.onChainState; }
state    # null, and within seconds FundsLocked
