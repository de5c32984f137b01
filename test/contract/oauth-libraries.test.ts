import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTokenBroker } from '../../client/index.ts';
import { startServer } from '../../client/serve/server.ts';
import { serve as serveLoopback } from '../../local/loopback.ts';
import { execute } from '../e2e/commands/shared/command-line.ts';
import { runs, sign } from '../support/aws/signers.ts';
import { GO_COMMAND } from '../support/processes/go.ts';
import { useLocalBroker } from '../support/processes/local-broker.ts';

/** Programs with libraries that others wrote; each asks for a token, for one that is denied, and for the first one again. */
const FOLDER = fileURLToPath(new URL('./oauth-libraries', import.meta.url));

const OAUTH4WEBAPI = [process.execPath, 'oauth4webapi.mjs'];

const LIBRARIES: readonly (readonly [name: string, command: readonly string[] | undefined])[] = [
  ['simple-oauth2', [process.execPath, 'simple-oauth2.mjs']],
  ['oauth4webapi', OAUTH4WEBAPI],
  ['requests-oauthlib', python('with_requests_oauthlib.py', 'requests_oauthlib')],
  ['Authlib', python('with_authlib.py', 'authlib')],
  ['golang.org/x/oauth2', go('client_credentials.go', 'golang.org/x/oauth2')],
];

const broker = useLocalBroker();

describe.each(LIBRARIES)('%s', (_, command) => {
  const skipped = command === undefined ? ' (skipped: it is not installed)' : '';

  it.skipIf(command === undefined)(`gets a token of serve, raises a denial, and asks again${skipped}`, async () => {
    const { url, key, asked } = await startServing();
    const { told, stderr } = await run(command, { TOKEN_URL: `${url}/token`, KEY: key });

    const token = told[0]?.token;
    expect(told, stderr).toEqual([{ token }, { denied: 'unauthorized_client' }, { again: token }]);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(asked).toEqual(['acme', 'globex', 'acme']);
  });
});

it('oauth4webapi is a client of the broker itself, behind a proxy that signs', async () => {
  const { url, close } = await serveLoopback(async ({ method, path, headers: received, body }) => {
    const kept = received.filter(([name]) => ['content-type', 'accept'].includes(name.toLowerCase()));
    const request = { method, url: broker().url + path, headers: Object.fromEntries(kept), body };
    const headers = await sign(request, REPORTING, new Date());
    const answer = await fetch(request.url, { method, headers, body: Buffer.from(body) });
    return { status: answer.status, headers: { 'content-type': 'application/json' }, body: await answer.text() };
  });
  onTestFinished(close);
  const { told, stderr } = await run(OAUTH4WEBAPI, { TOKEN_URL: `${url}/token`, KEY: 'not-looked-at' });
  const token = expect.stringMatching(/^[\w-]{43}$/);
  expect(told, stderr).toEqual([{ token }, { denied: 'unauthorized_client' }, { again: token }]);
});

/** May act for `acme` alone. */
const REPORTING = { accessKeyId: 'AKIDLOCALREPORTING', secretAccessKey: 'local-reporting-secret' };

async function startServing() {
  const key = 'the-key-of-this-test-and-of-no-other';
  const asked: string[] = [];
  const own = createTokenBroker({ url: broker().url, credentials: REPORTING });
  const token: typeof own.token = (request) => {
    asked.push(request.client);
    return own.token(request);
  };
  const server = await startServer({ broker: { ...own, token }, key, port: 0, note: () => undefined });
  onTestFinished(() => server.close(0));
  return { url: server.url, key, asked };
}

/** The command of a Python that has the module: the one of the system, or the first on the path. */
function python(file: string, module: string): readonly string[] | undefined {
  const found = ['/usr/bin/python3', 'python3'].find((command) => runs(command, '-c', `import ${module}`));
  return found === undefined ? undefined : [found, file];
}

/** The command that runs a file, if Debian's packages of Go have the module. */
function go(file: string, module: string): readonly string[] | undefined {
  const [env = '', ...command] = GO_COMMAND;
  return runs(env, ...command, 'list', module) ? [...GO_COMMAND, 'run', file] : undefined;
}

/** Runs a program of the folder; tells the JSON of each line that it wrote. */
async function run(command: readonly string[] = [], variables: Readonly<Record<string, string>>) {
  const { stdout, stderr } = await execute(command, variables, FOLDER);
  return { told: stdout.split('\n').flatMap((line): readonly Told[] => (line === '' ? [] : JSON.parse(line))), stderr };
}

type Told = Readonly<Record<'token' | 'denied' | 'again', string | undefined>>;
