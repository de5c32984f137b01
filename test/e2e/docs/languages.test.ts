import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { createTokenBroker, type TokenBroker } from '../../../client/index.ts';
import { startServer } from '../../../client/serve/server.ts';
import { createFakeBroker } from '../../../client/testing.ts';
import { Problem } from '../../../functions/broker/problem.ts';
import { runs } from '../../support/aws/signers.ts';
import { shellVariables, startOwnBroker, tokenServiceUrl } from '../../support/processes/local-broker.ts';
import { answerWith } from '../../unit/client/loopback-server.ts';
import { answering, runCommandLine } from '../commands/shared/command-line.ts';

const EXAMPLES = fileURLToPath(new URL('../../../docs/examples', import.meta.url));
const PROGRAMS = fileURLToPath(new URL('./languages', import.meta.url));

const GO = {
  GO111MODULE: 'off',
  GOPATH: '/usr/share/gocode',
  GOCACHE: join(tmpdir(), 'token-broker-go-cache'),
  HOME: PROGRAMS,
};

interface Language {
  readonly name: string;
  /** What it needs on this machine. */
  readonly needs: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Compiles the examples and the program, which lie in one folder. */
  readonly compile?: (files: readonly string[]) => readonly string[];
  readonly command: readonly string[];
}

const packages = ['golang.org/x/oauth2/clientcredentials', 'github.com/aws/aws-sdk-go-v2/aws/signer/v4'];
const variables = Object.entries(GO).map((one) => one.join('='));

const GO_LANGUAGE: Language = {
  name: 'Go',
  needs: ['env', ...variables, 'go', 'list', ...packages],
  env: GO,
  compile: (files) => ['go', 'build', '-o', 'program', ...files.filter((file) => file.endsWith('.go'))],
  command: ['./program'],
};
const JAVA: Language = {
  name: 'Java',
  needs: ['javac', '--release', '17', '-version'],
  compile: (files) => ['javac', ...files.filter((file) => file.endsWith('.java'))],
  command: ['java', '-XX:TieredStopAtLevel=1', '-cp', '.', 'Main'],
};
const AUTHLIB: Language = {
  name: 'Authlib',
  needs: ['/usr/bin/python3', '-c', 'import authlib.integrations.requests_client'],
  command: ['/usr/bin/python3', '-B', 'main.py'],
};

const isThere = ({ needs: [command = '', ...args] }: Language) => runs(command, ...args);
const described = (languages: readonly Language[]) =>
  languages.map((language) => {
    const is = isThere(language) ? '' : ' (skipped: it is not installed)';
    return { ...language, title: language.name + is, is };
  });

describe.each(described([GO_LANGUAGE, JAVA, AUTHLIB]))('the refused token in $title', ({ is, ...language }) => {
  describe.skipIf(is !== '')('docs/examples', () => {
    const start = useLanguage(language);

    it('asks once for all threads, and after `service … --revoke` reports the token once', async () => {
      const { url, standInUrl, shell, asked } = await serveLocalBroker();
      const { order } = start({ TOKEN_URL: `${url}/token`, ORIGIN: standInUrl });
      const whoami = `${standInUrl}/customer-insights/v1/whoami`;
      expect(await order('get', 20, whoami)).toEqual(Array(20).fill('200'));
      const revoke = ['service', 'customer-insights', '--revoke', '--environment', 'local'];
      expect(await runCommandLine(revoke, shell)).toMatchObject({ exitCode: 0 });
      expect(await order('get', 20, whoami)).toEqual(Array(20).fill('200'));
      expect(asked).toEqual([undefined, expect.stringMatching(/^[0-9a-f]{16}$/)]);
    });

    it('repeats a request whose body can be sent again, and gives the 401 of another one back', async () => {
      const { fake, variables, api } = await startWorld();
      const { order } = start(variables);
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
      const { order } = start(variables);
      await order('get', 1, api.url);
      fake.revoke();
      fake.fail('refused-again', { times: 1 });
      expect(await order('get', 1, api.url)).toEqual(['401']);
      expect([api.requests.length, fake.requests.length]).toEqual([2, 2]);
    });

    it('gives no other host the token, neither directly nor by a redirect', async () => {
      const { variables, api, foreign } = await startWorld();
      const { order } = start(variables);
      expect(await order('get', 1, foreign.url)).toEqual(['200']);
      expect(await order('get', 1, `${api.url}/elsewhere`)).toEqual([expect.stringMatching(/^(?:200|302)$/)]);
      expect(api.requests[0]?.headers.authorization).toMatch(/^Bearer fake-token-1$/);
      expect(foreign.requests.length).toBeGreaterThan(0);
      for (const { headers } of foreign.requests) expect(headers.authorization).toBeUndefined();
    });

    it('shares a failure among all threads that wait', async () => {
      const { api, foreign } = await startWorld();
      const rejected = slowly(() => Promise.reject(new Problem('credential-rejected', 'It is wrong.')));
      const url = await serve({ token: rejected.answer, whoami: () => Promise.reject(new Error()) });
      const outcomes = await start({ TOKEN_URL: `${url}/token`, ORIGIN: api.url }).order('get', 20, api.url);
      expect(outcomes).toHaveLength(20);
      for (const outcome of outcomes) expect(outcome).toMatch(/credential-rejected|invalid_client/);
      expect([rejected.calls(), api.requests, foreign.requests]).toEqual([1, [], []]);
    });
  });
});

describe.each(described([GO_LANGUAGE, JAVA]))('a Lambda function in $title', ({ is, ...language }) => {
  describe.skipIf(is !== '')('docs/examples', () => {
    const start = useLanguage(language);

    it('gets a token of the local broker', async () => {
      const tokens = await start(shellVariables(await startOwnBroker())).order('token', 1, 'acme', 'customer-insights');
      expect(tokens).toEqual([expect.stringMatching(/^[\w-]{43}$/)]);
    });

    it('asks once for all threads, signed with a session token, and keeps the token', async () => {
      const { variables, calls } = await startScriptedBroker({ status: 200, json: TOKEN });
      const { order } = start(variables);
      expect(await order('token', 20, 'acme', 'x')).toEqual(Array(20).fill(TOKEN.access_token));
      expect(await order('token', 1, 'acme', 'x')).toEqual([TOKEN.access_token]);
      expect(calls()).toBe(1);
    });

    it('tells the type and the request of a problem to all who waited, and repeats nothing', async () => {
      const { variables, calls } = await startScriptedBroker({ status: 424, json: PROBLEM });
      const { order } = start(variables);
      const told = expect.stringMatching(/^credential-rejected\b.*\brequest r-1\b/);
      expect(await order('token', 20, 'acme', 'x')).toEqual(Array(20).fill(told));
      expect(calls()).toBe(1);
      expect(await order('token', 1, 'acme', 'x')).toEqual([told]);
      expect(calls()).toBe(2);
    });

    it('quotes nothing of a refusal by AWS, which repeats the signed request', async () => {
      const { url } = await answering(answerWith(403, { message: `No:\nx-amz-security-token:${ROLE.sessionToken}` }));
      const [told] = await start({ ...ROLE_VARIABLES, TOKEN_BROKER_URL: url }).order('token', 1, 'acme', 'x');
      expect(told).toMatch(/^http-403\b/);
      expect(told).not.toContain('x-amz-');
    });

    it('says that there was no answer', async () => {
      const { order } = start({ ...ROLE_VARIABLES, TOKEN_BROKER_URL: 'http://127.0.0.1:9' });
      expect(await order('token', 1, 'acme', 'x')).toEqual([expect.stringContaining('network-error')]);
    });

    it.skipIf(language.name !== 'Java')("has the signatures of AWS's vectors", async () => {
      const { order } = start(ROLE_VARIABLES);
      for (const [name, { body = '', headers, signature }] of Object.entries(VECTORS)) {
        const fields = { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z', ...headers };
        const [told = ''] = await order('sign', 1, body, ...Object.entries(fields).flat());
        expect(told.split('Signature=')[1], name).toBe(signature);
      }
    });
  });
});

describe('the examples to copy', () => {
  it.each([
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

interface Vector {
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signature: string;
}

/** Of AWS's test suite for Signature Version 4: POSTs to `/` of `example.amazonaws.com`. */
const VECTORS: Readonly<Record<string, Vector>> = {
  'post-vanilla': {
    headers: {},
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  'post-header-key-sort': {
    headers: { 'my-header1': 'value1' },
    signature: 'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  },
  'post-x-www-form-urlencoded': {
    body: 'Param1=value1',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
  'post-x-www-form-urlencoded-parameters': {
    body: 'Param1=value1',
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf8' },
    signature: '1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe',
  },
  'post-sts-header-before': {
    headers: {
      'x-amz-security-token':
        'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==',
    },
    signature: '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
  },
};

const TOKEN = { access_token: 'the-token', token_type: 'Bearer', expires_in: 3600, fingerprint: '0123456789abcdef' };
const PROBLEM = {
  type: 'credential-rejected',
  title: 'The service rejected the client credential',
  detail: 'The credential was rejected, and is not sent again.',
  retryable: false,
  request_id: 'r-1',
};

const ROLE = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'ASIAEXAMPLE',
  secretAccessKey: 'session/secret+',
  sessionToken: 'IQoJb3JpZ2luX2VjE+/token==',
};

const ROLE_VARIABLES = {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: ROLE.accessKeyId,
  AWS_SECRET_ACCESS_KEY: ROLE.secretAccessKey,
  AWS_SESSION_TOKEN: ROLE.sessionToken,
};

/** A Function URL that lets one role in and always answers the same. */
async function startScriptedBroker({ status, json }: { readonly status: number; readonly json: object }) {
  const { answer: handler, calls } = slowly(async () => ({ statusCode: status, body: JSON.stringify(json) }));
  const { url, close } = await startFunctionUrl({ handler, callers: [ROLE], port: 0 });
  onTestFinished(close);
  return { variables: { ...ROLE_VARIABLES, TOKEN_BROKER_URL: url }, calls };
}

/** Answers after so long that all threads of a program are waiting by then; counts the calls. */
function slowly<Answer>(answerNow: () => Promise<Answer>) {
  let calls = 0;
  const answer = async () => {
    calls += 1;
    await setTimeout(1_000);
    return answerNow();
  };
  return { answer, calls: () => calls };
}

const KEY = 'the-key-of-this-test-and-of-no-other';

async function serve(broker: Pick<TokenBroker, 'token' | 'whoami'>): Promise<string> {
  const server = await startServer({ broker, key: KEY, port: 0, note: () => undefined });
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

type Variables = Readonly<Record<string, string>>;

/** What the programs need for the part of them that a test does not use. */
const UNUSED: Variables = {
  KEY,
  ORIGIN: 'http://127.0.0.1:9',
  TOKEN_URL: 'http://127.0.0.1:9/token',
  TOKEN_BROKER_URL: 'http://127.0.0.1:9',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'example',
};

/** Compiles the program of a language once for a suite; gives the function that starts it for one test. */
function useLanguage({ compile, command: [command = '', ...args], env: compilerEnv }: Language) {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'language-'));
    for (const from of [EXAMPLES, PROGRAMS]) {
      for (const file of readdirSync(from)) copyFileSync(join(from, file), join(folder, file));
    }
    if (compile === undefined) return;
    const [compiler = '', ...files] = compile(readdirSync(folder));
    const { status, stderr } = spawnSync(compiler, files, {
      cwd: folder,
      env: { ...process.env, ...compilerEnv },
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(status).toBe(0);
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  return (variables: Variables) => {
    const env = { PATH: process.env.PATH, ...UNUSED, ...variables };
    const child = spawn(command, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    /** Carries out an order so many times at once; tells the outcomes. */
    const order = async (kind: string, times: number, ...more: readonly string[]): Promise<readonly string[]> => {
      child.stdin.write(`${[kind, times, ...more].join('\t')}\n`);
      return JSON.parse((await lines.next()).value ?? '[]');
    };
    return { order };
  };
}
