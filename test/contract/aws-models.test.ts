import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createHookReporter } from '../../functions/aws/codedeploy.ts';
import { createDynamoDB } from '../../functions/aws/dynamodb.ts';
import { createCircuitBreaker } from '../../functions/aws/pair-table/circuit-breaker.ts';
import { createPairTable } from '../../functions/aws/pair-table/table.ts';
import { createSealer } from '../../functions/aws/sealing/sealing.ts';
import { createSealingKeys } from '../../functions/aws/sealing/sealing-key.ts';
import { createSecretReader, createSecretsManager } from '../../functions/aws/secrets-manager.ts';
import { EMPTY_RECORD, type PairRecord } from '../../functions/broker/pair/record.ts';
import { SECRET_STATES } from '../../functions/vocabulary.ts';
import { serve } from '../../local/loopback.ts';
import { ACCESS, START } from '../support/example.ts';
import { exampleToken } from '../support/pair/pair-examples.ts';
import { exampleKey, IN_TIME, keysOf, TABLE } from '../support/pair/pair-table.ts';

/** AWS's common errors, which belong to no operation's list, with the source of each. */
const COMMON_ERRORS: Readonly<Record<string, string>> = {
  'https://docs.aws.amazon.com/secretsmanager/latest/apireference/CommonErrors.html':
    'AccessDeniedException NotAuthorized ThrottlingException',
  'https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html': 'ValidationException',
};

/** Where the names of AWS's errors stand, and the operations that can answer with them. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'calls.ts': ['GetSecretValue', 'GetItem', 'UpdateItem', 'PutLifecycleEventHookExecutionStatus'],
  'secrets-manager.ts': ['GetSecretValue'],
};

/** Words of these files that are our own, or name no error. */
const OWN_WORDS = /^(OutOfTime|KMSAccessDenied|MarkedForDeletion|AnotherSecret|NoSecretValue|GetSecretValue)$/;

/** One Python for each release of botocore, whose data are AWS's service models. */
const judges = ['python3', '/usr/bin/python3'].flatMap((python): [string, string][] => {
  const { stdout } = spawnSync(python, ['-c', 'import botocore; print(botocore.__version__)'], { encoding: 'utf8' });
  return stdout ? [[stdout.trim(), python]] : [];
});
const none = judges.length > 0 ? '' : ' (skipped: python3 with botocore is not installed)';

describe.skipIf(none)(`AWS's service models${none}`, () => {
  let sent: readonly object[] = [];
  beforeAll(async () => {
    sent = await ownRequests();
  });

  describe.each(none ? [['', '']] : [...new Map(judges)])('of botocore %s', (_, python) => {
    it('know every request, by target, version, members and types', () => {
      const verdicts = judge(python, sent);
      expect(verdicts.flatMap(({ faults }) => faults)).toEqual([]);
      expect(new Set(verdicts.map(({ operation }) => operation))).toEqual(new Set(FILES['calls.ts']));
    });

    it.each(Object.entries(FILES))('or AWS’s common errors have every name in %s', (file, operations) => {
      const verdicts = judge(python, sent).filter(({ operation }) => operations.includes(operation));
      const known = verdicts.flatMap(({ errors }) => errors).concat(Object.values(COMMON_ERRORS).join(' ').split(' '));
      const named = namedErrors(file);
      expect(named.filter(({ matches }) => !known.some(matches)).map(({ word }) => word)).toEqual([]);
      expect(named).not.toEqual([]);
    });

    it('know the errors of the operations by which commands change a secret, and the words that they document', () => {
      const asked = CHANGES.map((operation) => {
        const contentType = 'application/x-amz-json-1.1';
        return { service: 'secretsmanager', target: `secretsmanager.${operation}`, contentType, body: '{}' };
      });
      const verdicts = judge(python, asked);
      for (const [name, words] of SECRET_STATES) {
        const known = verdicts.filter(({ errors }) => errors.includes(name));
        expect(known.length, name).toBeGreaterThan(1);
        // AWS documents no words about replicas.
        if (!words.source.includes('replica')) expect(known.map((each) => each.words[name]).join()).toMatch(words);
      }
      const full = verdicts.filter(({ errors }) => errors.includes('LimitExceededException'));
      expect(full.map(({ operation }) => operation)).toEqual(['PutSecretValue', 'UpdateSecretVersionStage']);
    });
  });
});

const CHANGES = ['PutSecretValue', 'DeleteSecret', 'TagResource', 'PutResourcePolicy', 'UpdateSecretVersionStage'];

/** The requests of all adapters, each named for the service of its signature. */
async function ownRequests(): Promise<readonly object[]> {
  const sent: object[] = [];
  const note = (headers: Readonly<Record<string, unknown>>, body: string) => {
    const [, service] = /Credential=[^/]+\/\d+\/[^/]+\/([^/]+)\//.exec(`${headers.authorization}`) ?? [];
    sent.push({ service, target: headers['x-amz-target'], contentType: headers['content-type'], body });
    return { status: 200, headers: {}, body: Buffer.from('{}') };
  };
  const access: Parameters<typeof createDynamoDB>[0] = { ...ACCESS, send: async (one) => note(one.headers, one.body) };
  const now = () => START;

  const sealer = createSealer('dev', keysOf(exampleKey()));
  const table = createPairTable({
    dynamodb: createDynamoDB(access),
    tableName: TABLE,
    sealer,
    now,
    breakerFor: (operation) => createCircuitBreaker(operation, now),
  });
  const pair = { client: 'acme', service: 'customer-insights' };
  const full: PairRecord = { ...EMPTY_RECORD, token: exampleToken(), lease: { id: 'call-1', until: START } };
  await table.read(pair, IN_TIME);
  await table.replace(pair, { record: EMPTY_RECORD, tag: undefined }, full, IN_TIME);
  await table.replace(pair, { record: full, tag: 'tag' }, EMPTY_RECORD, IN_TIME);
  for (const change of [table.disable, table.enable]) await change(pair, new AbortController().signal);

  const secrets = { environment: 'dev', secretsManager: createSecretsManager(access), now };
  await createSecretReader(secrets)('acme', 'AWSCURRENT');
  await createSealingKeys(secrets).named('11111111-1111-4111-8111-111111111111');

  const codedeploy = await serve(async ({ headers, body }) =>
    note(Object.fromEntries(headers), `${Buffer.from(body)}`),
  );
  const { accessKeyId, secretAccessKey } = ACCESS.credentials;
  vi.stubEnv('AWS_REGION', ACCESS.region).stubEnv('AWS_ENDPOINT_URL_CODEDEPLOY', codedeploy.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId).stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey);
  const hook = { deploymentId: 'd-EXAMPLE', lifecycleEventHookExecutionId: 'example' };
  for (const status of ['Succeeded', 'Failed']) await createHookReporter('test')({ ...hook, status });
  vi.unstubAllEnvs();
  await codedeploy.close();
  return sent;
}

type Verdict = Readonly<{
  operation: string;
  faults: readonly string[];
  errors: readonly string[];
  words: Readonly<Record<string, string>>;
}>;

function judge(python: string, sent: readonly object[]): readonly Verdict[] {
  const script = fileURLToPath(new URL('aws-models.py', import.meta.url));
  return JSON.parse(execFileSync(python, [script], { input: JSON.stringify(sent), encoding: 'utf8' }));
}

/** The names in the literals of a file. A text is compared with a whole name, a pattern with a part of it. */
function namedErrors(file: string) {
  const source = readFileSync(new URL(`../../functions/aws/${file}`, import.meta.url), 'utf8');
  const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|^import .*$/gm, '');
  const literals = code.matchAll(/(includes\()?'([^'\n]*)'|\/((?:[^/\\\n]|\\.)+)\/[a-z]*/g);
  return [...literals].flatMap(([, isSought, text = '', pattern = text]) => {
    const words = pattern.split('|').map((word) => word.replace(/[\^$()?:]/g, ''));
    const isWhole = pattern === text && words.length === 1 && isSought === undefined;
    return words
      .filter((word) => /^[A-Z]\w*[a-z]\w*$/.test(word) && !OWN_WORDS.test(word))
      .map((word) => ({ word, matches: (name: string) => (isWhole ? name === word : name.includes(word)) }));
  });
}
