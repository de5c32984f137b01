import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSecretsManagerClient } from '../../../functions/aws/secrets-manager.ts';

describe('a client for a first call', () => {
  it('reads an answer that is too long to come in one part', async () => {
    const SecretString = 'ö'.repeat(500_000);
    const { read } = await start((response) => response.end(JSON.stringify({ SecretString })));
    expect((await read()).SecretString === SecretString).toBe(true);
  });

  it('fails when an answer breaks off', async () => {
    const { read } = await start((response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{"SecretString":"', () => response.destroy());
    });
    await expect(read()).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('does not log', () => {
    const names = createSecretsManagerClient({ region: 'eu-west-1' }).middlewareStack.identify().join();
    expect(names).toContain('hostHeaderMiddleware');
    expect(names).not.toContain('loggerMiddleware');
  });
});

async function start(answer: (response: ServerResponse) => unknown) {
  const server = createServer((request, response) => request.resume().on('end', () => answer(response)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const secretsManager = createSecretsManagerClient({
    endpoint: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'example' },
  });
  onTestFinished(() => {
    secretsManager.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { read: () => secretsManager.send(new GetSecretValueCommand({ SecretId: 'acme' })) };
}
