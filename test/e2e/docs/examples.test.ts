import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startFunctionUrl } from '../../../bin/local/function-url/server.ts';
import { hasSigner, runs } from '../../support/aws/signers.ts';
import { readContract, responseOf } from '../../support/contract/openapi.ts';
import {
  type LocalBrokerProcess,
  printedVariables,
  startLocalBroker,
  tokenServiceUrl,
} from '../../support/processes/local-broker.ts';
import { blocks } from '../../support/readme.ts';

const FOLDER = fileURLToPath(new URL('../../../docs/examples', import.meta.url));

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
const noBotocore = hasSigner('botocore') ? '' : ' (skipped: python3 with botocore is not installed)';

const WITH_CLIENT: Example = {
  file: 'with-client.ts',
  command: [process.execPath, '--import', new URL('../../support/client-package.ts', import.meta.url).href],
  missing: '',
  repeatsAtOnce: true,
};

const EXAMPLES: readonly Example[] = [
  { file: 'with-curl.sh', command: ['sh'], missing: noCurl, repeatsAtOnce: false },
  { file: 'with-botocore.py', command: ['python3'], missing: noBotocore, repeatsAtOnce: true },
  { file: 'with-aws4fetch.js', command: [process.execPath], missing: '', repeatsAtOnce: true },
  WITH_CLIENT,
];

it('every example has a test', () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(EXAMPLES.map(({ file }) => file).toSorted());
});

const CONTRACT = readContract();

const TOKEN = answered(200, 'application/json', 'token');

let broker: LocalBrokerProcess;
beforeAll(async () => {
  broker = await startLocalBroker();
});
afterAll(async () => {
  expect(await broker.end()).toMatchObject({ exitCode: 0 });
});

describe.each(EXAMPLES)('docs/examples/$file', (example) => {
  describe.skipIf(example.missing !== '')(`run by its language${example.missing}`, () => {
    it('gets a token from the local broker with the variables that it prints', async () => {
      const { error, stdout, stderr } = await run(example, 'acme', printedVariables(broker));
      expect({ error, stderr }).toEqual({ error: null, stderr: '' });
      expect(stdout).toMatch(/\b[0-9a-f]{16}\b/);
    });

    it('fails with the problem that kept it from a token', async () => {
      const { error, stdout, stderr } = await run(example, 'initech', printedVariables(broker));
      expect(error).toMatchObject({ code: expect.any(Number) });
      expect(stdout + stderr).toContain('credential-rejected');
    });

    it('does not repeat a problem that no repetition solves', async () => {
      const missing = answered(424, 'application/problem+json', 'credential-missing');
      const { variables, requests } = await startScriptedBroker([missing, TOKEN]);
      expect(await run(example, 'acme', variables)).toMatchObject({ error: { code: expect.any(Number) } });
      expect(requests).toHaveLength(1);
    });

    if (!example.repeatsAtOnce) return;

    it('repeats a retryable problem, after `Retry-After`', async () => {
      const unavailable = answered(503, 'application/problem+json', 'secrets-unavailable', { 'retry-after': '0' });
      const { variables, requests } = await startScriptedBroker([unavailable, TOKEN]);
      const { stdout } = await run(example, 'acme', variables);
      expect(stdout).toContain('0123456789abcdef');
      expect(requests).toHaveLength(2);
    });
  });
});

it('docs/examples/with-client.ts and the three lines of README.md call a service with a token', async () => {
  const service = `${tokenServiceUrl(broker)}/customer-insights/v1/whoami`;
  const example = await run(WITH_CLIENT, 'acme', printedVariables(broker), service);
  expect(example.stdout + example.stderr).toContain('the service answered 200');

  const [lines = '', ...others] = blocks('js');
  expect(others).toEqual([]);
  const script = `${lines}\nprocess.stdout.write(String(answer.status));`;
  const variables = { ...printedVariables(broker), SERVICE_URL: service };
  const { stdout, stderr } = await execute(
    [...WITH_CLIENT.command, '--input-type=module', '--eval', script],
    variables,
  );
  expect({ stdout, stderr }).toEqual({ stdout: '200', stderr: '' });
});

/** An example of an answer from the contract. */
function answered(status: number, mediaType: string, example: string, headers: object = {}) {
  const value = responseOf(CONTRACT, '/token', status)?.response.content?.[mediaType]?.examples?.[example]?.value;
  return { statusCode: status, headers: { 'content-type': mediaType, ...headers }, body: JSON.stringify(value) };
}

const ROLE = {
  role: 'arn:aws:iam::111111111111:role/billing',
  accessKeyId: 'ASIAEXAMPLE',
  secretAccessKey: 'session/secret+',
  sessionToken: 'IQoJb3JpZ2luX2VjE+/token==',
};

/** A Function URL that lets one role in, signed with its session token, and gives these answers in turn. */
async function startScriptedBroker(answers: readonly object[]) {
  const requests: unknown[] = [];
  const handler = async (event: unknown) => answers[requests.push(event) - 1];
  const { url, close } = await startFunctionUrl({ handler, callers: [ROLE], port: 0 });
  onTestFinished(close);
  const variables = {
    TOKEN_BROKER_URL: `${url}/`,
    AWS_REGION: 'us-east-1',
    AWS_DEFAULT_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: ROLE.accessKeyId,
    AWS_SECRET_ACCESS_KEY: ROLE.secretAccessKey,
    AWS_SESSION_TOKEN: ROLE.sessionToken,
  };
  return { variables, requests };
}

type Variables = Readonly<Record<string, string>>;

function run({ file, command }: Example, client: string, variables: Variables, ...more: string[]) {
  return execute([...command, join(FOLDER, file), client, 'customer-insights', ...more], variables);
}

/** With nothing of this machine's AWS set-up in reach. */
function execute([command = '', ...args]: readonly string[], variables: Variables) {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true', ...variables };
  return new Promise<{ error: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(command, args, { env }, (error, stdout, stderr) => resolve({ error, stdout, stderr }));
  });
}
