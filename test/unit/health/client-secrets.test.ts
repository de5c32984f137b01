import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClientList, createSecretDescriber, parseSecretEvent } from '../../../functions/health/client-secrets.ts';
import { jsonApi, serveAws } from '../../../local/aws/server.ts';
import documented from '../../contract/recorded-events/secret-label-updated.json' with { type: 'json' };
import type { Fault } from '../../support/aws/faulty-endpoint.ts';
import { ACCESS } from '../../support/example.ts';
import { EXAMPLE_KEY, repeatAtOnce, startSecretsManager } from '../../support/processes/stand-ins.ts';
import { eventOf } from '../functions/health-function-world.ts';

describe('the list of clients', () => {
  it('has every client of the environment, page by page, with its tag, also when AWS throttles once', async () => {
    const { store, operations, failWith, listClients } = await start();
    for (let index = 0; index < 250; index += 1) store.create(`token-broker/dev/client-${index}`);
    store.create('token-broker/dev/acme', {
      Tags: [
        { Key: 'services', Value: 'customer-insights' },
        { Key: 'expires:v1', Value: '2027-03-01T00:00:00.000Z' },
      ],
    });
    failWith('throttled', 1);

    const clients = await listClients();
    expect(operations).toEqual(Array(4).fill('ListSecrets'));
    expect(new Set(clients.map(({ client }) => client)).size).toBe(251);
    const expiries = new Map([['v1', '2027-03-01T00:00:00.000Z']]);
    expect(clients).toContainEqual({ client: 'acme', services: 'customer-insights', expiries });
    expect(clients).toContainEqual({ client: 'client-7', services: undefined, expiries: new Map() });
  });

  it('has restorable clients, none of other environments, and no secrets that are of no client', async () => {
    const { store, listClients } = await start();
    expect(await listClients()).toEqual([]);
    const others = ['token-broker/dev-2/acme', 'token-broker/prod/acme', 'token-broker-keys/dev/sealing', 'dev/acme'];
    for (const name of [...others, 'token-broker/dev/globex/backup']) store.create(name);
    store.create('token-broker/dev/deleted').deletion = { goneAt: Number.MAX_SAFE_INTEGER };
    expect(await listClients()).toMatchObject([{ client: 'deleted', services: undefined }]);
  });

  it('has each client once and only those that were meant, however AWS compares names and cuts pages', async () => {
    const pages = [
      { SecretList: [{ Name: 'token-broker/dev/acme' }, { Name: 'token-broker/DEV/loud' }], NextToken: 'more' },
      { SecretList: [], NextToken: 'still more' },
      { SecretList: [{ Name: 'token-broker/dev/acme' }, {}] },
    ];
    const operations = { ListSecrets: () => pages.shift() };
    const server = await serveAws([jsonApi('secretsmanager', 'secretsmanager', operations)], { keys: [EXAMPLE_KEY] });
    onTestFinished(server.close);
    const { listClients } = connect(server.url);
    expect(await listClients()).toMatchObject([{ client: 'acme', services: undefined }]);
  });

  it.each([
    ['access-denied', 'AccessDeniedException'],
    ['hang', 'OutOfTime'],
  ] satisfies [Fault, string][])('is an error that says no more than one word: %s', async (fault, word) => {
    const { store, listClients, failWith } = await start(word === 'OutOfTime' ? 20 : undefined);
    store.create('token-broker/dev/acme');
    failWith(fault);
    const error = await listClients().catch((thrown: unknown) => thrown);
    expect(error).toEqual(new Error(`The clients cannot be listed: ${word}`));
    expect(error).not.toHaveProperty('cause');
  });
});

it('the description of a client has its tag and the version in use', async () => {
  const { store, describeClient } = await start();
  const Tags = [
    { Key: 'team', Value: 'payments' },
    { Key: 'services', Value: 'customer-insights' },
  ];
  const { versions } = store.create('token-broker/dev/acme', { Tags });
  expect(await describeClient('acme')).toEqual({ services: 'customer-insights', currentVersion: undefined });
  for (const version of ['v1', 'v2']) versions.add(version, { SecretString: 'x' });
  expect(await describeClient('acme')).toEqual({ services: 'customer-insights', currentVersion: 'v2' });
});

it('a client without a secret, or before its deletion, has no description, and a failure is one word', async () => {
  const { store, failWith, describeClient } = await start();
  store.create('token-broker/dev/deleted').deletion = { goneAt: Number.MAX_SAFE_INTEGER };
  for (const client of ['deleted', 'no-such-client']) expect(await describeClient(client)).toBeUndefined();
  failWith('access-denied');
  const error = new Error('The secret of acme cannot be described: AccessDeniedException');
  await expect(describeClient('acme')).rejects.toThrow(error);
});

describe('an event of Secrets Manager', () => {
  const EVENT = eventOf({ name: 'token-broker/test/acme', arn: 'arn', versionId: 'v2', label: 'AWSCURRENT' });
  const { detail, ...ENVELOPE } = EVENT;
  const withDetail = (changes: object) => ({ ...EVENT, detail: { ...detail, ...changes } });

  /** @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/event-detail-secret-label-updated-secretsmanager.html */
  it('is read as AWS documents it: the client, and the version that it has now', () => {
    const { versionId: version } = documented.detail;
    const ofClient = { ...documented, detail: { ...documented.detail, name: 'token-broker/test/acme' } };
    expect(parseSecretEvent(ofClient, 'test')).toEqual({ kind: 'promotion', client: 'acme', version });
    expect(parseSecretEvent(documented, 'test')).toEqual({ kind: 'foreign' });
  });

  it.each([undefined, null, 7, {}, { source: 'aws.s3' }, [EVENT]])(
    'is not %j, which is for a run over all pairs',
    (event) => {
      expect(parseSecretEvent(event, 'test')).toBeUndefined();
    },
  );

  it.each([
    { source: EVENT.source },
    { ...EVENT, 'detail-type': 'AWS API Call via CloudTrail' },
    ...['AWSPENDING', 'my-label'].map((labelUpdated) => withDetail({ labelUpdated })),
    ...['token-broker/prod/acme', 'token-broker/test2/acme', 'token-broker/test/', 'Token-Broker/test/acme']
      .concat('token-broker/test/acme/copy', 'token-broker/test/acme\n', 'other/token-broker/test/acme')
      .map((name) => withDetail({ name })),
  ])('that is none of a client of this environment is foreign: %j', (event) => {
    expect(parseSecretEvent(event, 'test')).toEqual({ kind: 'foreign' });
  });

  it.each([
    ENVELOPE,
    { ...EVENT, detail: JSON.stringify(detail) },
    ...['name', 'labelUpdated', 'versionId'].flatMap((member) =>
      [undefined, '', ['x']].map((value) => withDetail({ [member]: value })),
    ),
    ...['v2\nforged line', 'v'.repeat(65)].map((versionId) => withDetail({ versionId })),
  ])('of another shape is malformed: %j', (event) => {
    expect(parseSecretEvent(event, 'test')).toEqual({ kind: 'malformed' });
  });
});

async function start(timeoutMs?: number) {
  const standIn = await startSecretsManager();
  onTestFinished(standIn.close);
  return { ...standIn, ...connect(standIn.url, timeoutMs) };
}

function connect(endpoint: string, timeoutMs = 10_000) {
  repeatAtOnce();
  const secretsManager = new SecretsManagerClient({ ...ACCESS, endpoint, maxAttempts: 2 });
  const asked = { environment: 'dev', secretsManager, timeoutMs };
  return { listClients: createClientList(asked), describeClient: createSecretDescriber(asked) };
}
