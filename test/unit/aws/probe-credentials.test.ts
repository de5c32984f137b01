import { STSClient } from '@aws-sdk/client-sts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProbeCredentials } from '../../../functions/aws/probe-credentials.ts';
import { repeatAtOnce, startSts } from '../../support/stand-ins.ts';

const PROBE = {
  role: 'arn:aws:iam::111111111111:role/probe',
  accessKeyId: 'AKIDPROBE',
  secretAccessKey: 'probe/secret+key=',
  sessionToken: 'probe<session>&token',
};

describe('the credentials of the probe', () => {
  it('are those of its role, fresh each time', async () => {
    const { read, calls } = await start(PROBE.role);
    const { role: _, ...key } = PROBE;
    expect(await read()).toEqual(key);
    expect(await read()).toEqual(key);
    expect(calls).toEqual(['AssumeRole', 'AssumeRole']);
  });

  it('are asked for again when STS fails once', async () => {
    const { read, failWith } = await start(PROBE.role);
    failWith('internal-error', 1);
    expect(await read()).toMatchObject({ accessKeyId: 'AKIDPROBE' });
  });

  it('are none when the role may not be assumed', async () => {
    const { read } = await start('arn:aws:iam::111111111111:role/another');
    await expect(read()).rejects.toMatchObject({ name: 'AccessDenied' });
  });

  it.each(['hang', 'stall', 'garbage'] as const)('are none, and soon, when STS answers with %s', async (fault) => {
    const { read, failWith } = await start(PROBE.role, 20);
    failWith(fault);
    await expect(read()).rejects.toThrow();
  });
});

async function start(roleArn: string, timeoutMs = 10_000) {
  repeatAtOnce();
  const standIn = await startSts({ roles: [PROBE] });
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };
  const sts = new STSClient({ endpoint: standIn.url, region: 'us-east-1', credentials });
  onTestFinished(async () => {
    sts.destroy();
    await standIn.close();
  });
  return { ...standIn, read: createProbeCredentials(sts, roleArn, timeoutMs) };
}
