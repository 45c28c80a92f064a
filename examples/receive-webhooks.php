<?php
// Receives webhooks: checks their signatures (https://www.standardwebhooks.com), prints events.
// The answer of `POST /webhooks` has the secret: `npm run example` subscribes, sets WEBHOOK_SECRET
// and runs `php -S 127.0.0.1:9000 receive-webhooks.php`.

function isGenuine(string $secret, string $body): bool {
    $sent = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (abs(time() - (int) $sent) > 300) return false;
    $key = base64_decode(substr($secret, strlen('whsec_')), true);
    $signed = ($_SERVER['HTTP_WEBHOOK_ID'] ?? '') . ".$sent.$body";
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $one)
        if (hash_equals($expected, $one)) return true;
    return false;
}

http_response_code(500); // PHP answers 200 after an error, and the event would not be sent again
if (!$secret = getenv('WEBHOOK_SECRET')) {
    error_log('Set WEBHOOK_SECRET, which POST /webhooks answers.');
    exit;
}
$body = file_get_contents('php://input');
if (!isGenuine($secret, $body)) {
    http_response_code(400);
    exit('bad signature');
}
$event = json_decode($body, true); // an id may come twice: dedupe by it
file_put_contents('php://stdout', "{$event['type']} {$event['id']}\n");
http_response_code(204);
