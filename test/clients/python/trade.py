"""Sells and buys a job with pip-masumi, and prints what came of it as JSON.

    python trade.py COPY URL TOKEN AGENT SELLER_VKEY
"""
import asyncio
import json
import sys
import types

import stand_ins

COPY, URL, TOKEN, AGENT, SELLER_VKEY = sys.argv[1:]
stand_ins.install()
# Without the package's __init__, which imports a web server.
package = types.ModuleType("masumi")
package.__path__ = [f"{COPY}/masumi"]
sys.modules["masumi"] = package

from masumi.config import Config  # noqa: E402
from masumi.payment import Payment  # noqa: E402
from masumi.purchase import Purchase  # noqa: E402

PURCHASER = "0123456789abcdef0123"
JOB = {"text": "Guten Tag"}


async def wait_for(payment, identifier, state):
    while True:
        status = await payment.check_payment_status_by_identifier(identifier)
        if status["data"] and status["data"]["onChainState"] == state:
            return
        await asyncio.sleep(0.5)


async def main():
    config = Config(payment_service_url=URL, payment_api_key=TOKEN)
    payment = Payment(
        agent_identifier=AGENT,
        config=config,
        network="Preprod",
        identifier_from_purchaser=PURCHASER,
        input_data=JOB,
    )
    quote = (await payment.create_payment_request())["data"]
    identifier = quote["blockchainIdentifier"]
    purchase = Purchase(
        config=config,
        blockchain_identifier=identifier,
        seller_vkey=SELLER_VKEY,
        agent_identifier=AGENT,
        pay_by_time=quote["payByTime"],
        submit_result_time=quote["submitResultTime"],
        unlock_time=quote["unlockTime"],
        external_dispute_unlock_time=quote["externalDisputeUnlockTime"],
        identifier_from_purchaser=PURCHASER,
        input_data=JOB,
    )
    bought = await purchase.create_purchase_request()
    await wait_for(payment, identifier, "FundsLocked")
    delivered = await payment.complete_payment(identifier, "Good day")
    await wait_for(payment, identifier, "ResultSubmitted")
    refund = await purchase.request_refund()
    print(json.dumps({
        "bought": bought["data"]["NextAction"]["requestedAction"],
        "delivered": delivered["data"]["NextAction"]["requestedAction"],
        "refund": refund["data"]["NextAction"]["requestedAction"],
    }))


asyncio.run(main())
