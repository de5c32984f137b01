import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSecretsManager } from '../support/stand-ins.ts';

const isInstalled = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'aws')));
const note = isInstalled ? '' : ' (skipped: the AWS command line is not installed)';

describe.skipIf(!isInstalled)(`the AWS command line${note}`, () => {
  it('creates, reads and misses secrets of the stand-in', async () => {
    const { url, close } = await startSecretsManager();
    onTestFinished(close);
    const env = {
      PATH: process.env.PATH,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'example',
      AWS_CONFIG_FILE: '/dev/null',
    };
    const aws = async (command: string, ...options: string[]) => {
      const words = ['secretsmanager', command, ...options, '--output', 'json'];
      return JSON.parse((await promisify(execFile)('aws', words, { env })).stdout);
    };

    await aws('create-secret', '--name', 'acme', '--secret-string', 'one', '--tags', 'Key=services,Value=one two');

    expect(await aws('get-secret-value', '--secret-id', 'acme')).toMatchObject({ Name: 'acme', SecretString: 'one' });
    expect(await aws('list-secrets', '--filters', 'Key=name,Values=acme')).toMatchObject({
      SecretList: [{ Name: 'acme', Tags: [{ Key: 'services', Value: 'one two' }] }],
    });
    await expect(aws('get-secret-value', '--secret-id', 'unknown')).rejects.toThrow('ResourceNotFoundException');
  });
});
