// Asks the token broker for a token, signed by aws4fetch: for callers that cannot use the client, because it runs
// everywhere that has fetch.
//
// Usage: node with-aws4fetch.js <client> <service>
// Needs TOKEN_BROKER_URL, AWS_REGION (that of the URL), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for a role,
// AWS_SESSION_TOKEN.
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';

const [client, service] = process.argv.slice(2);
if (service === undefined) {
  process.stderr.write('Usage: node with-aws4fetch.js <client> <service>\n');
  process.exit(2);
}

const TIMEOUT_MS = 20_000; // Longer than the broker itself can take.
const ATTEMPTS = 3;

const { TOKEN_BROKER_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;

const aws = new AwsClient({
  service: 'lambda',
  region: AWS_REGION,
  accessKeyId: AWS_ACCESS_KEY_ID,
  secretAccessKey: AWS_SECRET_ACCESS_KEY,
  sessionToken: AWS_SESSION_TOKEN,
  // By itself it repeats ten times, and knows no Retry-After.
  retries: 0,
});

/** The broker's answer: access_token, token_type, expires_in and more. Keep it until it expires. */
async function issueToken(client, service) {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await aws.fetch(new URL('/token', TOKEN_BROKER_URL), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client, service }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'manual', // Another host would get the session token.
    });
    // AWS calls even a plain text JSON.
    const body = await answer.json().catch(() => ({}));
    if (answer.status === 200) return body;

    // What has no type comes from AWS, in front of the broker.
    const { type = 'from AWS', retryable = answer.status === 429 || answer.status >= 500 } = body;
    if (!retryable || attempt === ATTEMPTS) {
      // AWS's text may repeat the signed request, session token included.
      const [said] = `${body.detail ?? body.message ?? body.Message}`.split(/\n|x-amz-/i);
      throw new Error(`${answer.status} ${type}: ${said}`);
    }
    await sleep(1_000 * Number(answer.headers.get('retry-after') ?? attempt));
  }
}

const { fingerprint, expires_in } = await issueToken(client, service);
process.stdout.write(`${fingerprint} lives ${expires_in} s\n`);
