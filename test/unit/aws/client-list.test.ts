import { describe, expect, it, onTestFinished } from 'vitest';
import { serveAws } from '../../../bin/local/aws/server.ts';
import { createClientList } from '../../../functions/aws/client-secrets.ts';
import { createSecretsManagerClient } from '../../../functions/aws/secrets-manager.ts';
import type { Fault } from '../../support/aws-faults.ts';
import { EXAMPLE_KEY, repeatAtOnce, startSecretsManager } from '../../support/stand-ins.ts';

describe('the list of clients', () => {
  it('has every client of the environment, page by page, with its tag', async () => {
    const { store, calls, listClients } = await start();
    for (let index = 0; index < 250; index += 1) store.create(`token-broker/dev/client-${index}`);
    store.create('token-broker/dev/acme', { Tags: [{ Key: 'services', Value: 'customer-insights' }] });

    const { clients } = await listClients();
    expect(calls).toEqual(['ListSecrets', 'ListSecrets', 'ListSecrets']);
    expect(clients).toHaveLength(251);
    expect(new Set(clients.map(({ client }) => client)).size).toBe(251);
    expect(clients).toContainEqual({ client: 'acme', services: 'customer-insights' });
    expect(clients).toContainEqual({ client: 'client-7', services: undefined });
  });

  it('has nothing of other environments, what is planned for deletion, and tells what cannot be a client', async () => {
    const { store, listClients } = await start();
    const others = ['token-broker/dev-2/acme', 'token-broker/prod/acme', 'token-broker-keys/dev/sealing', 'dev/acme'];
    for (const name of others) store.create(name);
    store.create('token-broker/dev/deleted').deletion = { goneAt: Number.MAX_SAFE_INTEGER };
    store.create('token-broker/dev/globex');
    store.create('token-broker/dev/globex/backup');
    expect(await listClients()).toEqual({
      clients: [
        { client: 'deleted', services: undefined },
        { client: 'globex', services: undefined },
      ],
      ignored: ['globex/backup'],
    });
  });

  it('is empty when there is no client', async () => {
    const { listClients } = await start();
    expect(await listClients()).toEqual({ clients: [], ignored: [] });
  });

  it('has each client once and only those that were meant, however AWS compares names and cuts pages', async () => {
    const pages = [
      { SecretList: [{ Name: 'token-broker/dev/acme' }, { Name: 'token-broker/DEV/loud' }], NextToken: 'more' },
      { SecretList: [], NextToken: 'still more' },
      { SecretList: [{ Name: 'token-broker/dev/acme' }, {}] },
    ];
    const listClients = await connectTo(() => pages.shift());
    expect(await listClients()).toEqual({ clients: [{ client: 'acme', services: undefined }], ignored: [] });
  });
});

describe('a list that cannot be had', () => {
  it('is asked for again when AWS throttles', async () => {
    const { store, listClients, failWith } = await start();
    store.create('token-broker/dev/acme');
    failWith('throttled', 1);
    expect(await listClients()).toMatchObject({ clients: [{ client: 'acme' }] });
  });

  it.each([
    ['access-denied', 'AccessDeniedException'],
    ['internal-error', 'InternalServiceError'],
    ['garbage', 'SyntaxError'],
    ['reset', 'ECONNRESET'],
    ['hang', 'OutOfTime'],
    ['stall', 'OutOfTime'],
  ] satisfies [Fault, string][])('is an error that says no more than one word: %s', async (fault, word) => {
    const { store, listClients, failWith } = await start(word === 'OutOfTime' ? { timeoutMs: 20 } : {});
    store.create('token-broker/dev/acme');
    failWith(fault);
    const error = await listClients().catch((thrown: unknown) => thrown);
    expect(error).toEqual(new Error(`The clients cannot be listed: ${word}`));
    expect(error).not.toHaveProperty('cause');
  });

  it('is an error also when it begins well and has no end', async () => {
    const page = { SecretList: [{ Name: 'token-broker/dev/acme' }], NextToken: 'x' };
    const listClients = await connectTo(() => page, 20);
    await expect(listClients()).rejects.toThrow('The clients cannot be listed: OutOfTime');
  });
});

async function start({ timeoutMs = 10_000 } = {}) {
  const standIn = await startSecretsManager();
  onTestFinished(standIn.close);
  return { ...standIn, listClients: connect(standIn.url, timeoutMs) };
}

/** A list that comes in these pages. */
async function connectTo(nextPage: () => object | undefined, timeoutMs = 10_000) {
  const operations = { ListSecrets: nextPage };
  const server = await serveAws({ service: 'secretsmanager', protocol: 'json', operations, keys: [EXAMPLE_KEY] });
  onTestFinished(server.close);
  return connect(server.url, timeoutMs);
}

function connect(endpoint: string, timeoutMs: number) {
  repeatAtOnce();
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };
  const secretsManager = createSecretsManagerClient({ endpoint, maxAttempts: 2, region: 'us-east-1', credentials });
  onTestFinished(() => secretsManager.destroy());
  return createClientList({ environment: 'dev', secretsManager, timeoutMs });
}
