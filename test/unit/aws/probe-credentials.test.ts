import { STSClient } from '@aws-sdk/client-sts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProbeCredentials } from '../../../functions/aws/probe-credentials.ts';
import { motoIsInstalled, startMoto } from '../../support/moto.ts';
import { startSts } from '../../support/stand-ins.ts';

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
    const { read, failWith } = await start(PROBE.role, 300);
    failWith(fault);
    await expect(read()).rejects.toThrow();
  });
});

describe.skipIf(!motoIsInstalled)(
  'the credentials of the probe from moto (skipped where moto_server is not installed)',
  () => {
    it('are complete', async () => {
      const moto = await startMoto();
      onTestFinished(moto.close);
      const { accessKeyId, secretAccessKey, sessionToken } = await connect(moto.url, PROBE.role, 10_000)();
      for (const part of [accessKeyId, secretAccessKey, sessionToken]) expect(part).toMatch(/^\S{16,}$/);
    });
  },
);

async function start(roleArn: string, timeoutMs = 10_000) {
  const standIn = await startSts({ roles: [PROBE] });
  onTestFinished(standIn.close);
  return { ...standIn, read: connect(standIn.url, roleArn, timeoutMs) };
}

function connect(endpoint: string, roleArn: string, timeoutMs: number) {
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };
  const sts = new STSClient({ endpoint, region: 'us-east-1', credentials, requestHandler: { requestTimeout: 2_000 } });
  onTestFinished(() => sts.destroy());
  return createProbeCredentials({ sts, roleArn, timeoutMs });
}
