import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startFunctionUrl } from '../../../local/function-url/server.ts';
import { createBrokerWorld } from '../../support/broker-world.ts';
import { PAIR } from '../../support/example.ts';
import { blocks } from '../../support/readme.ts';
import { startUntrustedServer } from '../../support/services/certificates.ts';
import { issued, problem } from '../../unit/client/broker-answers.ts';
import {
  type Answer,
  answerWith,
  type LoopbackServer,
  startLoopbackServer,
} from '../../unit/client/loopback-server.ts';
import { answering, ended, ROOT } from '../commands/shared/command-line.ts';
import { GO, JAVA, type Language, PYTHON, runToItsEnd, usePrograms } from './languages/languages.ts';
import { ROLE, ROLE_VARIABLES } from './role.ts';

/** test/unit/client plays the same days for JavaScript. */
const LANGUAGES = [PYTHON, GO, JAVA];
let proxy: LoopbackServer;
beforeAll(async () => {
  proxy = await startLoopbackServer(answerWith(200, token(1)));
});
afterAll(() => proxy.close());
const at = usePrograms(LANGUAGES, ({ proxied }) => ({ ...ROLE_VARIABLES, ...proxied?.(proxy.url) }));
const CALLERS = readFileSync(join(ROOT, 'docs/callers.md'), 'utf8');

describe.each(LANGUAGES)('a bad day of a function in $title', (language) => {
  describe.skipIf(!language.isThere)('that uses the file to copy', () => {
    it('asks once for all threads, at a URL with a slash, and keeps a token with every character', async () => {
      const access_token = 'ab"cd\\ef!~';
      const answer = answerWith(200, { ...token(1), access_token });
      const { order, requests } = await play(language, () => answer, 200, '/');
      expect(await order('token', 20, 'acme', 'x')).toEqual(Array(20).fill(access_token));
      expect(await order('token', 1, 'acme', 'x')).toEqual([access_token]);
      expect(requests).toMatchObject([{ url: '/token', body: expect.stringMatching(/"acme".*"x"}$/) }]);
    });

    it('says the type and the request of a problem to all who waited, and repeats nothing, whatever a proxy adds', async () => {
      const rejected = problem('credential-rejected', { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' });
      const { order, requests } = await play(language, () => rejected, 1_000);
      const told = expect.stringMatching(/^credential-rejected\b.*\brequest request-1\b/);
      expect(await order('token', 20, 'acme', 'x')).toEqual(Array(20).fill(told));
      expect(requests).toHaveLength(1);
      expect(await order('token', 1, 'acme', 'x')).toEqual([told]);
      expect(requests).toHaveLength(2);
    });

    it('replaces a refused token once for all threads, and keeps its successor', async () => {
      const { order, requests } = await play(language, (n) => answerWith(200, token(n)), 200);
      await order('token', 1, 'acme', 'x');
      expect(await order('token', 20, 'acme', 'x', 'token-1')).toEqual(Array(20).fill('token-2'));
      expect(await order('token', 1, 'acme', 'x', 'token-1')).toEqual(['token-2']);
      expect(await order('token', 1, 'acme', 'x')).toEqual(['token-2']);
      expect(requests.map(({ body }) => JSON.parse(body).refused)).toEqual([undefined, token(1).fingerprint]);
    });

    it('waits once for a service that does not know its new token yet, and hands on its later refusals', async () => {
      const { url, clock, audited } = await startBroker();
      const [order, pair] = [at(language, url), [PAIR.client, PAIR.service]];
      await order('token', 1, ...pair);
      clock.now += 4_000;
      const startedAt = performance.now();
      expect(await order('token', 20, ...pair, 'token-1')).toEqual(Array(20).fill('token-1'));
      expect(performance.now() - startedAt).toBeGreaterThan(990);
      clock.now += 10_000;
      expect(await order('token', 1, ...pair, 'token-1')).toEqual(['token-2']);
      clock.now += 10_000;
      expect(await order('token', 1, ...pair, 'token-2')).toEqual([expect.stringMatching(language.handsOn)]);
      expect(await order('token', 1, ...pair)).toEqual(['token-2']);
      expect(audited.map(({ outcome }) => outcome)).toEqual(['issued', 'refused-again', 'issued', 'refused-again']);
    });

    it('serves a kept token while the broker cannot reach its table, and names that to others', async () => {
      const away = problem('table-unavailable');
      const { order } = await play(language, (n) => (n === 1 ? answerWith(200, token(1)) : away));
      const told = [expect.stringMatching(/^retryable table-unavailable\b/)];
      await order('token', 1, 'acme', 'x');
      expect(await order('token', 1, 'acme', 'y')).toEqual(told);
      expect(await order('token', 1, 'acme', 'x')).toEqual(['token-1']);
      expect(await order('token', 1, 'acme', 'x', 'token-1')).toEqual(told);
    });

    it('asks again after a freeze, in which the kept connection died', async () => {
      const served = new WeakSet<object>();
      const { url } = await answering((response, request) => {
        const { socket } = response.req;
        if (served.has(socket)) socket.destroy();
        else answerWith(200, token(1, 0))(response, request);
        served.add(socket);
      });
      const order = at(language, url);
      expect(await order('token', 1, 'acme', 'x')).toEqual(['token-1']);
      expect(await order('token', 1, 'acme', 'x')).toEqual(['token-1']);
    });

    it('returns a living token at once while the service of another pair hangs', async () => {
      const hung = Promise.withResolvers<ServerResponse>();
      const { url } = await answering((response, request) => {
        if (request.body.includes('hung')) hung.resolve(response);
        else answerWith(200, token(1))(response, request);
      });
      const order = at(language, url);
      await order('token', 1, 'acme', 'x');
      const asked = order('token', 1, 'acme', 'hung');
      const waiting = await hung.promise;
      expect(await order('token', 1, 'acme', 'x')).toEqual(['token-1']);
      expect(waiting.destroyed).toBe(false);
      waiting.writeHead(424).end();
      await asked;
    });

    it('names each refusal by AWS, and quotes nothing of the request that it repeats', async () => {
      let refusal: Answer | undefined;
      const { url } = await answering((...exchange) => refusal?.(...exchange));
      for (const [name, message, named, namedInPython] of REFUSALS_BY_AWS) {
        refusal = answerWith(403, { Type: 'User', message }, { 'x-amzn-ErrorType': name });
        const [told] = await at(language, url)('token', 1, 'acme', 'x');
        expect(told).toMatch(language === PYTHON && namedInPython ? namedInPython : named);
        expect(told).toMatch(/^(?!.*x-amz-)[^\n]{10,250}$/);
      }
    });

    it('names DNS, TLS and a closed port by the types of their errors', async () => {
      const urls = ['https://broker.invalid', await startUntrustedServer(), 'http://127.0.0.1:10'];
      const told = urls.map((url) => at(language, url)('token', 1, 'acme', 'x'));
      const named = language.causes.map((cause) => [expect.stringMatching(`^retryable network-error.*\\W${cause}`)]);
      expect(await Promise.all(told)).toEqual(named);
    });
  });
});

describe.each([GO, JAVA])('the file to copy for $title', (language) => {
  describe.skipIf(!language.isThere)('in a program', () => {
    it('lets a caller go who waits no longer, and fails no other', async () => {
      const { order } = await play(language, () => answerWith(200, token(1)), 1_000);
      const others = order('token', 9, 'acme', 'x');
      expect(await order('impatient', 1, 'acme', 'x')).toEqual([
        expect.stringMatching(/interrupted|deadline exceeded/),
      ]);
      expect(await others).toEqual(Array(9).fill('token-1'));
    });

    it('signs for the region that the URL names', async () => {
      const order = at(language, 'http://abcdefghij.lambda-url.eu-west-1.on.aws/');
      expect(await order('token', 1, 'acme', 'x')).toEqual(['token-1']);
      expect(proxy.requests.at(-1)?.headers.authorization).toContain('/eu-west-1/lambda/');
    });

    it('calls a service with the program of docs/callers.md, and once more after a 401', async () => {
      const api = await answering((response, { headers: { authorization } }) => {
        response.writeHead(authorization === 'Bearer token-2' ? 200 : 401).end();
      });
      const { url, requests } = await play(language, (n) => answerWith(200, token(n)));
      const variables = { ...ROLE_VARIABLES, TOKEN_BROKER_URL: url };
      const [program = ''] = blocks(language === GO ? 'go' : 'java', CALLERS);
      expect(await runToItsEnd(language, program, variables, api.url)).toEqual(ended(0, '200\n'));
      expect([requests.length, api.requests.length]).toEqual([2, 2]);
    });
  });
});

describe('Lambda freezes or forks', () => {
  it.skipIf(!PYTHON.isThere)('Python: a child process does not wait for a lock of its parent', async () => {
    const { url } = await answering(answerWith(200, token(1)));
    expect(await at(PYTHON, url)('fork', 1, 'acme', 'x')).toEqual(['True']);
  });

  // @see openjdk/jdk#27469
  it.skipIf(!JAVA.isThere)(
    'Java: an answer that stalls after its headers ends in time, and frees its pair',
    async () => {
      const { url, requests } = await answering((response, request) => {
        if (requests.length === 1) response.writeHead(200, { 'content-length': '500' }).write('{"acc');
        else answerWith(200, token(1))(response, request);
      });
      const order = at(JAVA, url);
      const told = expect.stringMatching(/^retryable network-error\b.*Timeout/);
      expect(await order('brief', 1, 'acme', 'x')).toEqual([told]);
      expect(await order('token', 1, 'acme', 'x')).toEqual(['token-1']);
    },
  );

  it.skipIf(!GO.isThere)('Go: no call waits for a request under way, and a token ends on the wall clock', async () => {
    const hung = Promise.withResolvers<ServerResponse>();
    const { url, requests } = await answering((response, request) => {
      if (requests.length === 1) hung.resolve(response);
      else answerWith(200, token(1))(response, request);
    });
    const order = at(GO, url);
    const asked = order('token', 1, 'acme', 'x');
    const waiting = await hung.promise;
    expect(await order('frozen', 1, 'acme', 'x')).toEqual(['token-1']);
    expect(waiting.destroyed).toBe(false);
    waiting.destroy();
    await asked;
    // The other clock stops meanwhile.
    expect(await order('clock', 1, 'acme', 'x')).toEqual(['wall clock']);
  });
});

const REPEATED = `No:\nx-amz-security-token:${ROLE.sessionToken}`;
/** Only Python reads the message, too. */
const REFUSALS_BY_AWS: readonly (readonly [name: string, message: string, named: RegExp, namedInPython?: RegExp])[] = [
  ['AccessDeniedException', REPEATED, /^aws-forbidden\b.*policy/],
  ['ExpiredTokenException', REPEATED, /^aws-security-token-expired\b.*expired/],
  ['IncompleteSignatureException', REPEATED, /^aws-refused\b/],
  ['InvalidSignatureException:http://internal.example.com/', REPEATED, /^aws-signature-mismatch\b.*secret/],
  ['UnrecognizedClientException', REPEATED, /^aws-security-token-invalid\b.*belong/],
  ['NewException', REPEATED, /^http-403\b.*AWS or a proxy.*NewException/, /^aws-refused\b.*identity/],
  ['', REPEATED, /^http-403\b.*AWS or a proxy/, /^aws-refused\b.*identity/],
  ['', `Not today.\n${'x'.repeat(300)}`, /^http-403\b/, /^aws-refused: Not today\.$/],
  ['', 'Signature expired: 20260101T000000Z is now earlier', /^http-403\b/, /^aws-signature-expired\b.*clock/],
  ['', 'Credential should be scoped to a valid region.', /^http-403\b/, /^aws-wrong-scope\b.*AWS_REGION/],
];

/** A broker with the real rules behind a Function URL. */
async function startBroker() {
  const world = createBrokerWorld();
  const { url, close } = await startFunctionUrl({ handler: world.invoke, callers: [ROLE], port: 0 });
  onTestFinished(close);
  return { ...world, url };
}

/**
 * A broker that answers a program. With `ms`, it answers so late that all threads of a program wait by then, or that
 * most do where a late thread changes nothing.
 */
async function play(language: Language, nth: (n: number) => Answer, ms = 0, slash = '') {
  const { url, requests } = await answering(async (...exchange) => {
    const answer = nth(requests.length);
    if (ms > 0) await setTimeout(ms);
    answer(...exchange);
  });
  return { url, order: at(language, url + slash), requests };
}

/** The n-th token of a broker. */
function token(n: number, expires_in = 3_600) {
  const access_token = `token-${n}`;
  const fingerprint = createHash('sha256').update(access_token).digest('hex').slice(0, 16);
  return issued(Date.now(), { access_token, fingerprint, expires_in });
}
