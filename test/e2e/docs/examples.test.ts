import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runs } from '../../support/aws/signers.ts';
import { readContract, responseOf } from '../../support/contract/openapi.ts';
import { useLocalBroker } from '../../support/processes/local-broker.ts';
import { blocks } from '../../support/readme.ts';
import { type Answer, answerWith } from '../../unit/client/loopback-server.ts';
import { answering, ended, execute, ROOT } from '../commands/shared/command-line.ts';
import { ROLE, ROLE_VARIABLES } from './role.ts';

const FOLDER = join(ROOT, 'docs/examples');

interface Example {
  readonly file: string;
  readonly command: readonly string[];
  /** Why it cannot be run here. */
  readonly missing: string;
  /** Whether it repeats at once when `Retry-After` says so; curl takes 0 for nothing, and waits. */
  readonly repeatsAtOnce: boolean;
}

const noCurl = runs('curl', '--aws-sigv4', 'aws:amz', '--fail-with-body', '--version')
  ? ''
  : ' (skipped: curl is not installed, or too old)';
const noBotocore = runs('python3', '-c', 'import botocore.auth')
  ? ''
  : ' (skipped: python3 with botocore is not installed)';

const WITH_CLIENT: Example = {
  file: 'with-client.mjs',
  command: [process.execPath, '--import', new URL('../../support/client-package.ts', import.meta.url).href],
  missing: '',
  repeatsAtOnce: true,
};

const EXAMPLES: readonly Example[] = [
  { file: 'with-curl.sh', command: ['sh'], missing: noCurl, repeatsAtOnce: false },
  { file: 'token_broker.py', command: ['python3'], missing: noBotocore, repeatsAtOnce: true },
  { file: 'with-aws4fetch.js', command: [process.execPath], missing: '', repeatsAtOnce: true },
  WITH_CLIENT,
];

/** Files to copy that are no programs. */
const TESTED_ELSEWHERE: Readonly<Record<string, string>> = {
  'fake_token_broker.py': './python.test.ts',
  'token_broker.go': './languages/languages.ts',
  'TokenBroker.java': './languages/languages.ts',
};

it('every example has a test, and few lines of at most 120 characters', () => {
  const tested = [...EXAMPLES.map(({ file }) => file), ...Object.keys(TESTED_ELSEWHERE)];
  expect(readdirSync(FOLDER).toSorted()).toEqual(tested.toSorted());
  for (const [file, test] of Object.entries(TESTED_ELSEWHERE)) {
    expect(readFileSync(new URL(test, import.meta.url), 'utf8')).toContain(file);
  }
  for (const file of tested.filter((name) => /broker/i.test(name)))
    expect(readFileSync(join(FOLDER, file), 'utf8')).toMatch(/^(.{0,120}\n){30,167}$/);
});

const CONTRACT = readContract();

const TOKEN = answered(200, 'application/json', 'token');

const broker = useLocalBroker();

describe.each(EXAMPLES)('docs/examples/$file', (example) => {
  describe.skipIf(example.missing !== '')(`run by its language${example.missing}`, () => {
    it('gets a token from the local broker with the variables that it prints', async () => {
      expect(await run(example, 'acme', broker().shell())).toEqual(ended(0, /\b[0-9a-f]{16}\b/));
    });

    it.each([
      ['its usage when an argument is missing', [], `${example.file} <client> <service>`],
      ['a variable when none is set', ['a', 'b'], /TOKEN_BROKER_URL|url of the broker|AWS_ACCESS_KEY_ID|accessKeyId/],
    ])('names %s', async (_, args, told) => {
      const { exitCode, stdout, stderr } = await execute([...example.command, join(FOLDER, example.file), ...args], {});
      expect(exitCode).toBeGreaterThan(0);
      expect(stdout + stderr).toMatch(told);
    });

    it('fails with a problem that no repetition solves, and does not repeat it', async () => {
      const missing = answered(424, 'application/problem+json', 'credential-missing');
      const { variables, requests } = await startBroker(missing, TOKEN);
      const { exitCode, stdout, stderr } = await run(example, 'acme', variables);
      expect(exitCode).toBeGreaterThan(0);
      expect(stdout + stderr).toContain('credential-missing');
      expect(requests).toHaveLength(1);
    });

    it('shows nothing of the request that AWS repeats when the secret key is wrong', async () => {
      const message = `We calculated another signature.\n\n'POST\n/token\n\nX-Amz-Security-Token:${ROLE.sessionToken}'`;
      const { variables } = await startBroker(answerWith(403, { message }));
      const { exitCode, stdout, stderr } = await run(example, 'acme', variables);
      expect(exitCode).toBeGreaterThan(0);
      expect(stdout + stderr).toMatch(/calculated another signature|aws-|403/i);
      expect(stdout + stderr).not.toContain(ROLE.sessionToken);
    });

    it('follows no redirect to another host, which would get the session token', async () => {
      const foreign = await answering(answerWith(200, {}));
      const { variables } = await startBroker(answerWith(307, '', { location: foreign.url }));
      expect((await run(example, 'acme', variables)).exitCode).toBeGreaterThan(0);
      expect(foreign.requests).toEqual([]);
    });

    if (!example.repeatsAtOnce) return;

    it('repeats a retryable problem, after `Retry-After`', async () => {
      const unavailable = answered(503, 'application/problem+json', 'secrets-unavailable', { 'retry-after': '0' });
      const { variables, requests } = await startBroker(unavailable, TOKEN);
      const { stdout } = await run(example, 'acme', variables);
      expect(stdout).toContain('0123456789abcdef');
      expect(requests).toHaveLength(2);
    });
  });
});

it('docs/examples/with-client.mjs and the program of README.md call a service with a token', async () => {
  const service = `${broker().tokenServiceUrl}/customer-insights/v1/whoami`;
  const example = await run(WITH_CLIENT, 'acme', broker().shell(), service);
  expect(example.stdout + example.stderr).toContain('the service answered 200');

  const [lines = '', ...others] = blocks('js');
  expect(others).toEqual([]);
  const ports = { 'http://127.0.0.1:8788': broker().url, 'http://127.0.0.1:8790': broker().tokenServiceUrl };
  const here = Object.entries(ports).reduce((text, [from, to]) => text.replace(from, to), lines);
  const variables = broker().shell();
  const told = await execute([...WITH_CLIENT.command, '--input-type=module', '--eval', here], variables);
  expect(told).toEqual(ended(0, /^200 \{.*\}\n$/));
});

/** An example of an answer from the contract. */
function answered(status: number, mediaType: string, example: string, headers: Variables = {}): Answer {
  const value = responseOf(CONTRACT, '/token', status)?.response.content?.[mediaType]?.examples?.[example]?.value;
  return answerWith(status, value, { 'content-type': mediaType, ...headers });
}

/** A broker that gives these answers, one after the other. */
async function startBroker(...answers: readonly Answer[]) {
  const { url, requests } = await answering((...exchange) =>
    (answers[requests.length - 1] ?? answerWith(500, {}))(...exchange),
  );
  return { variables: { ...ROLE_VARIABLES, TOKEN_BROKER_URL: url }, requests };
}

type Variables = Readonly<Record<string, string>>;

function run({ file, command }: Example, client: string, variables: Variables, ...more: string[]) {
  return execute([...command, join(FOLDER, file), client, 'customer-insights', ...more], variables);
}
