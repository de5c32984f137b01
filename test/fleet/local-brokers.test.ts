import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTokenService } from '../../bin/local/token-service/server.ts';
import { WATCHED } from '../support/local-broker.ts';
import { send } from '../support/requests.ts';
import { sign } from '../support/signers.ts';
import { startDynamoDB, startSecretsManager } from '../support/stand-ins.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/local.ts', import.meta.url));
const BILLING = { accessKeyId: 'AKIDBILLING', secretAccessKey: 'billing-secret' };
const CREDENTIALS = {
  acme: { client_id: 'acme-id', secret: 'acme-secret' },
  globex: { client_id: 'globex-id', secret: 'globex-secret' },
};

let tokenService: Awaited<ReturnType<typeof startTokenService>>;
let brokers: readonly string[];
const closers: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  const accepted = Object.entries(CREDENTIALS).map(([client, credential]) => ({ client, ...credential }));
  tokenService = await startTokenService({ credentials: { 'customer-insights': accepted } });
  const [dynamodb, secretsManager] = await Promise.all([startDynamoDB(), startSecretsManager()]);
  const folder = await mkdtemp(join(tmpdir(), 'token-broker-'));
  closers.push(tokenService.close, dynamodb.close, secretsManager.close, () => rm(folder, { recursive: true }));

  const config = join(folder, 'config.json');
  const role = 'arn:aws:iam::111111111111:role/billing';
  await writeFile(
    config,
    JSON.stringify({
      services: { 'customer-insights': { authUrl: tokenService.authUrl('customer-insights') } },
      accessRules: [{ role, clients: 'all', services: 'all' }],
      callers: [{ role, ...BILLING }],
      credentials: CREDENTIALS,
    }),
  );
  const variables = {
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.url,
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'example',
    HOME: folder,
    PORT: '0',
  };
  // Both at once: each makes the table and the sealing key unless the other was faster.
  brokers = await Promise.all([startBroker(config, variables), startBroker(config, variables)]);
  // On a busy machine a program's very first steps can take longer than DynamoDB may.
  for (const broker of brokers) await askForToken(broker, 'globex');
});
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

it('two local brokers that share a table and a sealing key make one token request', async () => {
  const [one = '', two = ''] = brokers;
  const first = await askForToken(one, 'acme');
  expect(first).toMatchObject({ status: 200, headers: { 'cache-status': 'token-broker; fwd=miss' } });
  const second = await askForToken(two, 'acme');
  expect(second).toMatchObject({ status: 200, headers: { 'cache-status': 'token-broker; hit; detail=shared' } });
  expect(JSON.parse(second.body).access_token).toBe(JSON.parse(first.body).access_token);
  expect(await askForToken(two, 'acme')).toMatchObject({
    headers: { 'cache-status': 'token-broker; hit; detail=memory' },
  });
  expect(tokenService.requests.filter(({ client }) => client === 'acme')).toHaveLength(1);
});

/** Starts what `npm start -- --config FILE` starts, and says where it listens. */
async function startBroker(config: string, variables: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, [...WATCHED, PROGRAM, '--config', config], {
    env: variables,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  closers.push(() => end(child));
  for await (const line of createInterface(child.stdout)) {
    const url = /^token broker ready on (\S+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    return url;
  }
  throw new Error('the broker has ended before it was ready');
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.kill();
  await exited;
}

async function askForToken(broker: string, client: string) {
  const request = {
    method: 'POST',
    url: `${broker}/token`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client, service: 'customer-insights' }),
  };
  return send({ ...request, headers: await sign('@smithy/signature-v4', request, BILLING, new Date()) });
}
