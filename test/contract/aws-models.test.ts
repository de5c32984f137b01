import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { serve } from '../../bin/local/loopback.ts';
import { createHookReporter } from '../../functions/aws/codedeploy.ts';
import { createDynamoDB } from '../../functions/aws/dynamodb.ts';
import { createPairTable } from '../../functions/aws/pair-table/table.ts';
import { createSealer } from '../../functions/aws/sealing/sealing.ts';
import { createSealingKeys } from '../../functions/aws/sealing/sealing-key.ts';
import { createSecretReader, createSecretsManager } from '../../functions/aws/secrets-manager.ts';
import { EMPTY_RECORD, type PairRecord } from '../../functions/broker/pair/record.ts';
import { ACCESS, START } from '../support/example.ts';
import { exampleToken } from '../support/pair/pair-examples.ts';
import { exampleKey, IN_TIME, keysOf, TABLE } from '../support/pair/pair-table.ts';

/** A request as it went out, named for the service of its signature. */
interface Sent {
  readonly service: string;
  readonly target: string;
  readonly contentType: string;
  readonly body: string;
}

type Verdict = Readonly<{ operation?: string; faults: readonly string[]; errors: readonly string[] }>;

/** One Python for each release of botocore, whose data are AWS's service models. */
const JUDGES = new Map(
  ['python3', '/usr/bin/python3'].flatMap((python) => {
    const version = run(python, '-c', 'import botocore; print(botocore.__version__)');
    return version === undefined ? [] : [[version.trim(), python] as [string, string]];
  }),
);
const none = JUDGES.size > 0 ? '' : ' (skipped: python3 with botocore is not installed)';
const judges: [string, string][] = none === '' ? [...JUDGES] : [['', '']];

/** AWS's common errors, which belong to no operation's list, with the source of each. */
const COMMON_ERRORS: Readonly<Record<string, string>> = {
  'https://docs.aws.amazon.com/secretsmanager/latest/apireference/CommonErrors.html':
    'AccessDeniedException InvalidClientTokenId NotAuthorized RequestExpired ThrottlingException ValidationError',
  'https://docs.aws.amazon.com/lambda/latest/api/CommonErrors.html':
    'ExpiredTokenException RequestTimeoutException UnrecognizedClientException',
  'https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html':
    'AccessDeniedException ThrottlingException UnrecognizedClientException ValidationException',
  'CLOCK_SKEW_ERROR_CODES of @smithy/core/retry':
    'InvalidSignatureException RequestInTheFuture RequestTimeTooSkewed SignatureDoesNotMatch',
  'THROTTLING_ERROR_CODES of @smithy/core/retry': 'LimitExceededException TooManyRequestsException',
};

/** Where the names of AWS's errors stand, and the operations that can answer with them. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'calls.ts': ['GetSecretValue', 'GetItem', 'UpdateItem', 'PutLifecycleEventHookExecutionStatus'],
  'secrets-manager.ts': ['GetSecretValue'],
  'pair-table/table.ts': ['GetItem', 'UpdateItem'],
};

/** Words of these files that are our own, or name no error. */
const OWN_WORDS = new Set(
  'OutOfTime KMSAccessDenied ExplicitDeny AnotherSecret NoSecretValue GetSecretValue'.split(' '),
);

/** Has no source: an unknown name is `unavailable` once issue 36 row 8 is in, and then it goes. */
const AWAITS_36 = new Set(['KMSInvalidStateException']);

describe.skipIf(none)(`AWS's service models${none}`, () => {
  let sent: readonly Sent[] = [];
  beforeAll(async () => {
    sent = await ownRequests();
  });

  it.each(judges)('of botocore %s know every request, by target, version, members and types', (_, python) => {
    const verdicts = judge(python, sent);
    expect(verdicts.flatMap(({ faults }) => faults)).toEqual([]);
    expect(new Set(verdicts.map(({ operation }) => operation))).toEqual(new Set(FILES['calls.ts']));
  });

  it.each(judges)('of botocore %s, or AWS’s pages of common errors, know every error that is named', (_, python) => {
    const verdicts = judge(python, sent);
    const common = Object.values(COMMON_ERRORS).flatMap((names) => names.split(' '));
    for (const [file, operations] of Object.entries(FILES)) {
      const ofOperations = verdicts.filter(({ operation }) => operations.includes(operation ?? ''));
      const known = [...common, ...ofOperations.flatMap(({ errors }) => errors)];
      const named = namedErrors(file);
      expect(named.filter(({ matches }) => !known.some(matches)).map(({ word }) => `${file}: ${word}`)).toEqual([]);
      expect(named, file).not.toEqual([]);
    }
  });
});

/** One request for each way in which the adapters ask. */
async function ownRequests(): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  const note = (headers: Readonly<Record<string, unknown>>, body: string) => {
    const [, service = ''] = /Credential=[^/]+\/\d+\/[^/]+\/([^/]+)\//.exec(`${headers.authorization}`) ?? [];
    sent.push({ service, target: `${headers['x-amz-target']}`, contentType: `${headers['content-type']}`, body });
  };
  const send: Parameters<typeof createDynamoDB>[0]['send'] = async ({ headers, body }) => {
    note(headers, body);
    return { status: 200, headers: {}, body: Buffer.from('{}') };
  };
  const now = () => START;

  const dynamodb = createDynamoDB({ ...ACCESS, send });
  const sealer = createSealer('dev', keysOf(exampleKey()));
  const table = createPairTable({ dynamodb, tableName: TABLE, sealer, now });
  const pair = { client: 'acme', service: 'customer-insights' };
  const empty = { record: EMPTY_RECORD, tag: undefined };
  const full: PairRecord = { ...EMPTY_RECORD, token: exampleToken(), lease: { id: 'call-1', until: START } };
  await table.read(pair, IN_TIME);
  await table.replace(pair, empty, full, IN_TIME);
  await table.replace(pair, { record: full, tag: 'tag' }, EMPTY_RECORD, IN_TIME);
  const { signal } = new AbortController();
  await table.disable(pair, signal);
  await table.enable(pair, signal);

  const secrets = { environment: 'dev', secretsManager: createSecretsManager({ ...ACCESS, send }), now };
  await createSecretReader(secrets)('acme', 'AWSCURRENT');
  await createSealingKeys(secrets).named('11111111-1111-4111-8111-111111111111');

  const codedeploy = await serve(
    async ({ headers, body }) => {
      note(Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])), `${Buffer.from(body)}`);
      return { status: 200, body: '{}' };
    },
    { port: 0 },
  );
  const { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY } = ACCESS.credentials;
  const keys = { AWS_REGION: ACCESS.region, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
  for (const [name, value] of Object.entries({ ...keys, AWS_ENDPOINT_URL_CODEDEPLOY: codedeploy.url }))
    vi.stubEnv(name, value);
  const ids = { deploymentId: 'd-EXAMPLE', lifecycleEventHookExecutionId: 'example' };
  for (const status of ['Succeeded', 'Failed']) await createHookReporter()({ ...ids, status });
  vi.unstubAllEnvs();
  await codedeploy.close();
  return sent;
}

function judge(python: string, sent: readonly Sent[]): readonly Verdict[] {
  const script = fileURLToPath(new URL('aws-models.py', import.meta.url));
  return JSON.parse(execFileSync(python, [script], { input: JSON.stringify(sent), encoding: 'utf8' }));
}

/** The names in the texts of a file, which are compared whole, and in its patterns, which are looked for within a name. */
function namedErrors(file: string) {
  const source = readFileSync(new URL(`../../functions/aws/${file}`, import.meta.url), 'utf8');
  const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|^import .*$/gm, '');
  return [...code.matchAll(/(includes\()?'([^'\n]*)'|\/((?:[^/\\\n]|\\.)+)\/[a-z]*/g)].flatMap(
    ([, isSought, text = '', pattern = text]) => {
      const words = pattern.split('|').map((word) => word.replace(/[\^$()?:]/g, ''));
      const isWhole = pattern === text && words.length === 1 && isSought === undefined;
      return words
        .filter((word) => /^[A-Z]\w*[a-z]\w*$/.test(word) && !OWN_WORDS.has(word) && !AWAITS_36.has(word))
        .map((word) => ({ word, matches: (name: string) => (isWhole ? name === word : name.includes(word)) }));
    },
  );
}

function run(command: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
}
