import json, os, pathlib, sys, urllib.parse, urllib.request

for name in ["SERVICE_URL", "SERVICE_TOKEN"]:
    if not os.environ.get(name):
        sys.exit(f"{name} is not set: npm start prints the URL and a key")
STAMP = "nextActionOrOnChainStateOrResultLastChangedAt"
FILE = pathlib.Path(__file__).with_name("position")

def page(position):
    query = {"network": "Preprod", "limit": 100}
    if position:
        query |= {"lastUpdate": position[0], "cursorId": position[1]}
    url = f"{os.environ['SERVICE_URL']}/api/v1/purchase/diff?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(url, headers={"token": os.environ["SERVICE_TOKEN"]})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["data"]["Purchases"]

position = json.loads(FILE.read_text()) if FILE.exists() else None
while True:
    # The last item comes again, unless it has changed since.
    news = [one for one in page(position) if [one[STAMP], one["id"]] != position]
    if not news:
        break
    for item in news:
        print(item["id"], item["onChainState"])
        position = [item[STAMP], item["id"]]
        FILE.write_text(json.dumps(position))
