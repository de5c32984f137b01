import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTokenBroker, type TokenBroker } from '../../../client/index.ts';
import { startServer } from '../../../client/serve/server.ts';
import { createFakeBroker } from '../../../client/testing.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { shellVariables, startOwnBroker, tokenServiceUrl } from '../../support/processes/local-broker.ts';
import { answerWith } from '../../unit/client/loopback-server.ts';
import { answering, runCommandLine } from '../commands/shared/command-line.ts';
import { AUTHLIB, EXAMPLES, GO, JAVA, SERVE_KEY, useLanguages } from './languages/languages.ts';
import { ROLE, ROLE_VARIABLES, startScriptedBroker } from './scripted-broker.ts';

const start = useLanguages([GO, JAVA, AUTHLIB]);

describe.each([GO, JAVA, AUTHLIB])('the refused token in $title', (language) => {
  describe.skipIf(!language.isThere)('docs/examples', () => {
    it('asks once for all threads, and after `service … --revoke` reports the token once', async () => {
      const { url, standInUrl, shell, asked } = await serveLocalBroker();
      const order = start(language, { TOKEN_URL: `${url}/token`, ORIGIN: standInUrl });
      const whoami = `${standInUrl}/customer-insights/v1/whoami`;
      expect(await order('get', 20, whoami)).toEqual(Array(20).fill('200'));
      const revoke = ['service', 'customer-insights', '--revoke', '--environment', 'local'];
      expect(await runCommandLine(revoke, shell)).toMatchObject({ exitCode: 0 });
      expect(await order('get', 20, whoami)).toEqual(Array(20).fill('200'));
      expect(asked).toEqual([undefined, expect.stringMatching(/^[0-9a-f]{16}$/)]);
    });

    it('repeats a request whose body can be sent again, and gives the 401 of another one back', async () => {
      const { fake, variables, api } = await startWorld();
      const order = start(language, variables);
      expect(await order('post', 1, api.url, 'first')).toEqual(['200']);
      fake.revoke();
      expect(await order('post', 1, api.url, 'second')).toEqual(['200']);
      fake.revoke();
      expect(await order('stream', 1, api.url, 'third')).toEqual(['401']);
      // Its report serves the next call.
      expect(await order('get', 1, api.url)).toEqual(['200']);
      expect(api.requests.map(({ body }) => body)).toEqual(['first', 'second', 'second', 'third', '']);
      expect(fake.requests).toHaveLength(3);
    });

    it('gives the first 401 back when the broker stands by its token', async () => {
      const { fake, variables, api } = await startWorld();
      const order = start(language, variables);
      await order('get', 1, api.url);
      fake.revoke();
      fake.fail('refused-again', { times: 1 });
      expect(await order('get', 1, api.url)).toEqual(['401']);
      expect([api.requests.length, fake.requests.length]).toEqual([2, 2]);
    });

    it('gives no other host the token, neither directly nor by a redirect', async () => {
      const { variables, api, foreign } = await startWorld();
      const order = start(language, variables);
      expect(await order('get', 1, foreign.url)).toEqual(['200']);
      expect(await order('get', 1, `${api.url}/elsewhere`)).toEqual([expect.stringMatching(/^(?:200|302)$/)]);
      expect(api.requests[0]?.headers.authorization).toMatch(/^Bearer fake-token-1$/);
      expect(foreign.requests.length).toBeGreaterThan(0);
      for (const { headers } of foreign.requests) expect(headers.authorization).toBeUndefined();
    });

    it.each([
      ['credential-rejected', /credential-rejected|server_error/],
      ['token-endpoint-unavailable', /token-endpoint-unavailable/],
    ] as const)('shares a failure among all threads that wait, and names it: %s', async (type, named) => {
      const { api, foreign } = await startWorld();
      const rejected = slowly(() => Promise.reject(new Problem(type, 'It is wrong.')));
      const url = await serve({ token: rejected.answer, whoami: () => Promise.reject(new Error()) });
      const outcomes = await start(language, { TOKEN_URL: `${url}/token`, ORIGIN: api.url })('get', 20, api.url);
      expect(outcomes).toHaveLength(20);
      for (const outcome of outcomes) expect(outcome).toMatch(named);
      expect([rejected.calls(), api.requests, foreign.requests]).toEqual([1, [], []]);
    });
  });
});

describe.each([GO, JAVA])('a Lambda function in $title', (language) => {
  describe.skipIf(!language.isThere)('docs/examples', () => {
    it('asks once for all threads, signed with a session token, and keeps the token', async () => {
      const { variables, asked } = await startScriptedBroker(slowly(async () => answerOf(200, TOKEN)).answer);
      const order = start(language, variables);
      expect(await order('token', 20, 'acme', 'x')).toEqual(Array(20).fill(TOKEN.access_token));
      expect(await order('token', 1, 'acme', 'x')).toEqual([TOKEN.access_token]);
      expect(asked).toEqual([['/token', '{"client":"acme","service":"x"}']]);
    });

    it('tells the type and the request of a problem to all who waited, and repeats nothing', async () => {
      const { variables, asked } = await startScriptedBroker(slowly(async () => answerOf(424, PROBLEM)).answer);
      const order = start(language, variables);
      const told = expect.stringMatching(/^credential-rejected\b.*\brequest r-1\b/);
      expect(await order('token', 20, 'acme', 'x')).toEqual(Array(20).fill(told));
      expect(asked).toHaveLength(1);
      expect(await order('token', 1, 'acme', 'x')).toEqual([told]);
      expect(asked).toHaveLength(2);
    });

    it('quotes nothing of a refusal by AWS, which repeats the signed request', async () => {
      const { url } = await answering(
        answerWith(403, { Type: 'User', message: `No:\nx-amz-security-token:${ROLE.sessionToken}` }),
      );
      const [told] = await start(language, { ...ROLE_VARIABLES, TOKEN_BROKER_URL: url })('token', 1, 'acme', 'x');
      expect(told).toMatch(/^http-403\b.*AWS or a proxy/);
      expect(told).not.toContain('x-amz-');
    });

    it('says that there was no answer', async () => {
      const order = start(language, { ...ROLE_VARIABLES, TOKEN_BROKER_URL: 'http://127.0.0.1:9' });
      expect(await order('token', 1, 'acme', 'x')).toEqual([expect.stringContaining('network-error')]);
    });
  });
});

describe('the examples to copy', () => {
  it.each([
    ['token_broker.py', 130],
    ['fake_token_broker.py', 30],
    ['refused_token.py', 60],
    ['refused_token.go', 60],
    ['RefusedToken.java', 60],
    ['token_broker.go', 70],
    ['TokenBroker.java', 100],
  ])('%s has at most %d lines of 120 characters', (file, most) => {
    const lines = readFileSync(join(EXAMPLES, file), 'utf8').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(most);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });
});

const TOKEN = { access_token: 'the-token', token_type: 'Bearer', expires_in: 3600, fingerprint: '0123456789abcdef' };
const PROBLEM = {
  type: 'credential-rejected',
  title: 'The service rejected the client credential',
  detail: 'The credential was rejected, and is not sent again.',
  retryable: false,
  request_id: 'r-1',
};

function answerOf(statusCode: number, json: object) {
  return { statusCode, body: JSON.stringify(json) };
}

/** Answers so late that all threads of a program wait by then, and counts the calls. */
function slowly<Answer>(answerNow: () => Promise<Answer>) {
  let calls = 0;
  const answer = async () => {
    calls += 1;
    await setTimeout(1_000);
    return answerNow();
  };
  return { answer, calls: () => calls };
}

async function serve(broker: Pick<TokenBroker, 'token' | 'whoami'>): Promise<string> {
  const server = await startServer({ broker, key: SERVE_KEY, port: 0, note: () => undefined });
  onTestFinished(() => server.close(0));
  return server.url;
}

/** `serve` in front of the local broker, and what it was asked to replace. */
async function serveLocalBroker() {
  const local = await startOwnBroker();
  const shell = shellVariables(local);
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = shell;
  const { token, whoami } = createTokenBroker({ url: local.url, credentials: { accessKeyId, secretAccessKey } });
  const asked: (string | undefined)[] = [];
  const counting: typeof token = (request) => {
    asked.push(request.refused);
    return token(request);
  };
  const url = await serve({ token: counting, whoami });
  return { url, standInUrl: tokenServiceUrl(local), shell, asked };
}

/** `serve` in front of a fake broker, an API that takes its tokens, and a host that is none of the API's. */
async function startWorld() {
  const fake = createFakeBroker();
  const foreign = await answering(answerWith(200, {}));
  const api = await answering((response, { url, headers }) => {
    const isAccepted = fake.accepts((headers.authorization ?? '').replace('Bearer ', ''));
    if (url === '/elsewhere') response.writeHead(302, { location: foreign.url }).end();
    else response.writeHead(isAccepted ? 200 : 401).end();
  });
  const variables = { TOKEN_URL: `${await serve(fake.broker)}/token`, ORIGIN: api.url };
  return { fake, variables, api, foreign };
}
