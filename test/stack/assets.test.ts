import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTokenBroker } from '../../client/token-broker.ts';
import { BILLING, deployWorld } from './deployed-world.ts';

let world: Awaited<ReturnType<typeof deployWorld>>;
// The CDK bundles three functions.
beforeAll(async () => {
  world = await deployWorld();
}, 180_000);
afterAll(() => world.close());

const PAIR = { client: 'acme', service: 'customer-insights' };

describe('the assets of a deployment, alone in processes of their own', () => {
  it('issue a token to a caller who signs', async () => {
    const broker = createTokenBroker({ url: world.url, credentials: BILLING, maxAttempts: 1 });
    const { accessToken, expirySource } = await broker.token(PAIR);
    expect(world.tokenService.issued(accessToken)).toBe(true);
    expect(expirySource).toBe('response');
    // The output of a process may arrive after its answer.
    await vi.waitFor(() => {
      expect(lines(world.functions.token)).toContainEqual(
        expect.objectContaining({ outcome: 'issued', pair: 'acme/customer-insights', version: '1' }),
      );
    }, 60_000);
  });

  it('load neither undici nor the streams of browsers for a token, of the service or from memory', async () => {
    const broker = createTokenBroker({ url: world.url, credentials: BILLING, cache: false });
    const requests = world.tokenService.requests.length;
    await broker.token(PAIR);
    expect(world.tokenService.requests).toHaveLength(requests);
    const loaded = await world.functions.token.modules();
    expect(loaded).toContain('NativeModule https');
    expect(loaded.filter((name) => /undici|webstreams/.test(name))).toEqual([]);
  });

  it('check every pair on schedule, and find that a stranger is refused', async () => {
    const run = await world.functions.health.invoke({ source: 'aws.scheduler' });
    expect(run).toMatchObject({
      clients: 1,
      checked: [{ finding: 'accepted' }, { finding: 'accepted' }],
      missed: [],
      probe: { condition: 'denied' },
      reported: { failures: [] },
    });
  });

  it('ask a new version before a caller does, and find nothing against it', async () => {
    await world.functions.releaseCheck.invoke({ DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'execution-1' });
    expect(world.codedeploy.reports).toEqual([
      { deploymentId: 'd-1', lifecycleEventHookExecutionId: 'execution-1', status: 'Succeeded' },
    ]);
  });

  it('write lines of JSON and no secret', () => {
    const written = Object.values(world.functions).reduce((all, each) => all + each.written(), '');
    expect(lines({ written: () => written }).length).toBeGreaterThan(5);
    expect(written).not.toMatch(/marked/);
  });
});

describe.each(['token', 'health', 'releaseCheck'] as const)('the %s function', (name) => {
  it('does not start without the variables that the template sets, and names each of them', async () => {
    const names = Object.keys(world.variablesOf(name));
    expect(names.length).toBeGreaterThanOrEqual(3);
    const failure = await world.start(name, {}).catch(String);
    const [, missing = ''] = /The environment variables (.*) must be set\./.exec(`${failure}`) ?? [];
    expect(missing.split(', ').toSorted()).toEqual(names.toSorted());
  });
});

it('a function does not start with variables with which Node would write secrets or run other code', async () => {
  const NODE_OPTIONS = '--enable-source-maps --import data:text/javascript,';
  const leaking = { NODE_DEBUG: 'net', NODE_DEBUG_NATIVE: 'tls', NODE_OPTIONS };
  await expect(world.start('token', { ...world.variablesOf('token'), ...leaking })).rejects.toThrow(
    `The environment variables ${Object.keys(leaking).join(', ')} must not be set: Node would write secrets.`,
  );
});

function lines({ written }: { readonly written: () => string }): readonly Record<string, unknown>[] {
  return written()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}
