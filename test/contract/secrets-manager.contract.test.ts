import { SecretsManager } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { motoIsInstalled, startMoto } from '../support/moto.ts';
import { startSecretsManager } from '../support/stand-ins.ts';
import { type Call, MOTO_DIFFERENCES, ROLE, SAME } from './secrets-manager-scenarios.ts';

const noMoto = motoIsInstalled ? '' : ' (skipped: moto_server is not installed)';

describe('the stand-in for Secrets Manager', () => {
  it.each(Object.entries(MOTO_DIFFERENCES))('follows AWS, though in moto %s', async (scenario, { calls, aws }) => {
    const standIn = await startSecretsManager({ keys: [{ ...credentials, role: ROLE, mayReadSecrets: true }] });
    onTestFinished(standIn.close);
    expect((await answers(standIn, scenario, calls)).at(-1)).toMatchObject(aws);
  });
});

describe.skipIf(!motoIsInstalled)(`moto${noMoto}`, () => {
  let moto: Server;
  beforeAll(async () => {
    moto = await startMoto();
  });
  afterAll(() => moto.close());

  it.each(Object.entries(SAME))('answers like the stand-in: %s', async (scenario, calls) => {
    const standIn = await startSecretsManager();
    onTestFinished(standIn.close);
    expect(await answers(standIn, scenario, calls)).toEqual(await answers(moto, scenario, calls));
  });
});

interface Server {
  readonly url: string;
  readonly close: () => Promise<void>;
}

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'example' };

async function answers({ url: endpoint }: Server, scenario: string, calls: readonly Call[]): Promise<unknown[]> {
  const aws = new SecretsManager({ endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
  const name = `contract/${scenario.replaceAll(/[^a-z]+/gi, '_')}`;
  const given = [];
  for (const call of calls) {
    given.push(comparable(await call(aws, name).catch((error: Error) => ({ refused: error.name }))));
  }
  aws.destroy();
  return given;
}

/** Leaves out what differs from run to run: dates, request ids, ARN suffixes, accounts, and the order of stages. */
function comparable(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value) => {
    if (key === '$metadata' || key.endsWith('Date') || value === null) return undefined;
    if (key === 'ARN') return String(value).replace(/:\d+:secret:(.*)-\w{6}$/, ':<account>:secret:$1-<suffix>');
    if (key === 'Message') return undefined;
    return Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value.toSorted() : value;
  });
}
