import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { GOOD, PAIR, startClientWorld } from './client-world.ts';

const SECRET = 'example-secret-access-key';

describe('the signature', () => {
  it('covers the body, the host, the content type and the session token', async () => {
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET, sessionToken: 'example-session' };
    const { broker, server } = await startClientWorld(GOOD, { credentials });
    await broker.token(PAIR);

    const [request] = server.requests;
    expect(request?.headers).toMatchObject({
      'x-amz-date': '20261101T100000Z',
      'x-amz-security-token': 'example-session',
      'x-amz-content-sha256': createHash('sha256')
        .update(request?.body ?? '')
        .digest('hex'),
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20261101\/us-east-1\/lambda\/aws4_request, SignedHeaders=accept;content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
      ),
    });
  });

  it('is made anew for every request, with its credentials and its time', async () => {
    let attempts = 0;
    const credentials = async () => ({ accessKeyId: `AKID${attempts}`, secretAccessKey: SECRET });
    const { broker, clock, server } = await startClientWorld(GOOD, { credentials, cache: false });
    for (attempts of [1, 2]) {
      clock.now += 1_000;
      await broker.token(PAIR);
    }

    const [first, second] = server.requests.map(({ headers }) => headers);
    expect([first?.['x-amz-date'], second?.['x-amz-date']]).toEqual(['20261101T100001Z', '20261101T100002Z']);
    expect(first?.authorization).toContain('Credential=AKID1/');
    expect(second?.authorization).toContain('Credential=AKID2/');
  });
});

const botocore = spawnSync('python3', ['-c', 'import botocore']).status === 0;
describe.skipIf(!botocore)(`an independent verifier${botocore ? '' : ' (skipped: python3 has no botocore)'}`, () => {
  it.each(['us-east-1', 'eu-central-1'])('calculates the same signature for %s', async (region) => {
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET };
    const { broker, server } = await startClientWorld(GOOD, { region, credentials });
    await broker.token({ ...PAIR, minTtl: 60 });

    const [request] = server.requests;
    const script = fileURLToPath(new URL('botocore-signature.py', import.meta.url));
    const input = JSON.stringify({ ...request, origin: server.url, region, secret: SECRET });
    const { status, stdout, stderr } = spawnSync('python3', [script], { input, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    expect(request?.headers.authorization).toBe(stdout.trim());
  });
});
