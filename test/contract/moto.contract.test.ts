import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ACCESS } from '../support/example.ts';
import { EXAMPLE_KEY, startSecretsManager } from '../support/processes/stand-ins.ts';
import { describePairStore, onServer } from './pair-store-contract.ts';

/** One call of the real SDK about a secret; `name` belongs to the scenario alone. */
type SecretsManagerCall = (aws: SecretsManager, name: string) => Promise<unknown>;

/** Version ids are chosen by the caller, so that the answers of two servers can be compared. */
const V1 = '11111111-1111-4111-8111-111111111111';
const V2 = '22222222-2222-4222-8222-222222222222';
const V3 = '33333333-3333-4333-8333-333333333333';
/** The role that the tests' own key belongs to, as far as a server can be told. */
const ROLE = 'arn:aws:iam::111111111111:role/token-broker-local';

const listPages: SecretsManagerCall = async (aws, name) => {
  await aws.createSecret({ Name: `${name}/a`, ClientRequestToken: V1 });
  const options = { MaxResults: 1, Filters: [{ Key: 'name' as const, Values: [name] }] };
  const { NextToken, SecretList: first } = await aws.listSecrets(options);
  return [first, (await aws.listSecrets({ ...options, NextToken })).SecretList];
};

type Operation = Extract<keyof SecretsManager, `${string}Secret${string}` | `${string}Resource${string}`>;

/** An operation on the secret of the scenario. */
const on =
  (operation: Operation, members: object = {}): SecretsManagerCall =>
  (aws, SecretId) =>
    Reflect.apply(aws[operation], aws, [{ SecretId, ...members }]);

const create: SecretsManagerCall = (aws, Name) =>
  aws.createSecret({ Name, SecretString: 'one', ClientRequestToken: V1 });
const describeSecret = on('describeSecret');
const deleteSecret = on('deleteSecret');
const restore = on('restoreSecret');
const getPolicy = on('getResourcePolicy');
const deletePolicy = on('deleteResourcePolicy');
const putPolicy = (ResourcePolicy: string) => on('putResourcePolicy', { ResourcePolicy });
const untag = on('untagResource', { TagKeys: ['tag-0', 'missing'] });
const tag = (...values: readonly string[]) =>
  on('tagResource', { Tags: values.map((Value, index) => ({ Key: `tag-${index}`, Value })) });
const get = (VersionStage?: string, VersionId?: string) => on('getSecretValue', { VersionStage, VersionId });
const put = (ClientRequestToken: string, SecretString: string, VersionStages?: readonly string[]) =>
  on('putSecretValue', { ClientRequestToken, SecretString, VersionStages });
const move = (VersionStage: string, RemoveFromVersionId?: string, MoveToVersionId?: string) =>
  on('updateSecretVersionStage', { VersionStage, RemoveFromVersionId, MoveToVersionId });
const list =
  (beginning = '', more: object = {}): SecretsManagerCall =>
  (aws, name) =>
    aws.listSecrets({ Filters: [{ Key: 'name', Values: [name + beginning] }], ...more });

/** A policy that keeps a role from the value of a secret. */
function denial(role: string): string {
  const what = { Effect: 'Deny', Principal: '*', Action: 'secretsmanager:GetSecretValue', Resource: '*' };
  const Statement = [{ ...what, Condition: { ArnEquals: { 'aws:PrincipalArn': role } } }];
  return JSON.stringify({ Version: '2012-10-17', Statement });
}

const pending = [create, put(V2, 'two', ['AWSPENDING'])];
const replaced = [create, put(V2, 'two')];
const stages = [get('AWSCURRENT'), get('AWSPREVIOUS'), get('AWSPENDING')];
const ALL = { IncludePlannedDeletion: true };

/** The scenarios in which the stand-in and moto must give the same answers. */
const SAME: Readonly<Record<string, readonly SecretsManagerCall[]>> = {
  'a put makes its version AWSCURRENT': [...replaced, ...stages, put(V3, 'three'), get(undefined, V1), ...stages],
  'a put as AWSPENDING leaves others alone': [
    ...pending,
    get(),
    ...stages,
    put(V3, 'three', ['AWSPENDING']),
    ...stages,
  ],
  'AWSPENDING is promoted by moving AWSCURRENT to it': [...pending, move('AWSCURRENT', V1, V2), ...stages],
  'AWSCURRENT goes back to AWSPREVIOUS, and the two swap': [...replaced, move('AWSCURRENT', V2, V1), ...stages],
  'what does not exist is not found': [get(), describeSecret, put(V1, 'x'), deleteSecret, restore, tag()],
  'a secret is marked for deletion': [create, deleteSecret, get('AWSCURRENT'), list(), list('', ALL), deleteSecret],
  'a secret is restored': [create, deleteSecret, restore, get('AWSCURRENT'), list()],
  'tags are added, replaced and removed': [create, tag('a b', 'x'), tag('a'), list(), untag, describeSecret],
  'a resource policy is put and deleted': [create, putPolicy(denial('x')), getPolicy, get(), deletePolicy, getPolicy],
  'secrets are listed by the beginning of their name, page by page': [create, list('/no-such-name'), listPages],
};

/** Moto 5 differs from AWS here; the stand-in follows AWS. Named by moto's behaviour, with AWS's answer at the end. */
const MOTO_DIFFERENCES: readonly (readonly [string, object, readonly SecretsManagerCall[]])[] = [
  [
    'a promotion leaves what is read without a stage',
    { VersionId: V2 },
    [...pending, move('AWSCURRENT', V1, V2), get()],
  ],
  ['AWSCURRENT can be removed', refused('InvalidParameterException'), [create, move('AWSCURRENT', V1)]],
  ['a deleted secret can be changed', refused('InvalidRequestException'), [create, deleteSecret, put(V2, 'two')]],
  ['a policy keeps no caller out', refused('AccessDeniedException'), [create, putPolicy(denial(ROLE)), get()]],
  ['a policy may be any text', refused('MalformedPolicyDocumentException'), [create, putPolicy('no policy')]],
];

function refused(name: string) {
  return { refused: name };
}

it.each(MOTO_DIFFERENCES)('the stand-in follows AWS, though in moto %s', async (scenario, aws, calls) => {
  const standIn = await startSecretsManager({ keys: [{ ...EXAMPLE_KEY, role: ROLE }] });
  onTestFinished(standIn.close);
  expect((await answers(standIn.url, scenario, calls)).at(-1)).toMatchObject(aws);
});

const COMMAND = 'moto_server';

/** Whether `moto_server`, which is not from npm, can be started here. */
const motoIsInstalled = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, COMMAND)));

const noMoto = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';
describe.skipIf(!motoIsInstalled)(`moto${noMoto}`, () => {
  let moto: Awaited<ReturnType<typeof startMoto>>;
  beforeAll(async () => {
    moto = await startMoto();
  });
  afterAll(() => moto.close());

  it.each(Object.entries(SAME))('answers like the stand-in: %s', async (scenario, calls) => {
    const standIn = await startSecretsManager();
    onTestFinished(standIn.close);
    expect(await answers(standIn.url, scenario, calls)).toEqual(await answers(moto.url, scenario, calls));
  });

  // It answers from several threads and checks a condition apart from the write that it guards: it is asked in turn.
  const shared = async () => onServer({ url: moto.url, close: async () => undefined });
  describePairStore('has the pair table', shared, { isAtomic: false });
});

async function answers(endpoint: string, scenario: string, calls: readonly SecretsManagerCall[]): Promise<unknown[]> {
  const aws = new SecretsManager({ ...ACCESS, endpoint, maxAttempts: 1 });
  const name = `contract/${scenario.replaceAll(/[^a-z]+/gi, '_')}`;
  const given = [];
  for (const call of calls) {
    given.push(comparable(await call(aws, name).catch((error: Error) => ({ refused: error.name }))));
  }
  return given;
}

/** Leaves out the differences between runs: dates, request ids, ARN suffixes, accounts, and the order of stages. */
function comparable(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value) => {
    if (key === '$metadata' || key === 'Message' || key.endsWith('Date') || value === null) return undefined;
    if (key === 'ARN') return String(value).replace(/:\d+:secret:(.*)-\w{6}$/, ':<account>:secret:$1-<suffix>');
    return Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value.toSorted() : value;
  });
}

/** Starts moto, which plays the APIs of AWS in memory, on a free port of 127.0.0.1. */
async function startMoto(): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const child = spawn(COMMAND, ['-H', '127.0.0.1', '-p', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const started = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1];
      if (started !== undefined) resolve(started);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`moto_server ended with ${code}: ${said}`)));
  });
  return {
    url,
    close: async () => {
      child.kill();
      await ended;
    },
  };
}
