import { describe, expect, it } from 'vitest';
import { type Members, membersOf } from '../../../functions/broker/json.ts';
import { environments } from '../../../lib/environments.ts';
import { changed } from '../../unit/settings/example-form.ts';
import { refused, startAws } from './shared/aws-operations.ts';
import { ended, runCommandLine, writeSettings } from './shared/command-line.ts';

const PROD = 'token-broker-prod';
const BACK = ['release', 'back', '--environment', 'prod'];

it('release list shows every version, newest first, and which part of the calls it has', async () => {
  const { env } = await startWorld({ alias: { FunctionVersion: '9', weights: { 10: 0.1 } } });
  const { exitCode, stdout } = await runCommandLine(['release', 'list', '--environment', 'prod'], env);
  expect(exitCode).toBe(0);
  expect(stdout.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^VERSION +PUBLISHED +CODE +CALLS$/),
    expect.stringMatching(/^10 +2026-01-10T10:00:00Z +code-of-10-a +10 %$/),
    expect.stringMatching(/^9 +2026-01-09T10:00:00Z +code-of-9-ab +90 %$/),
    expect.stringMatching(/^8 +2026-01-08T10:00:00Z +code-of-8-ab +-$/),
  ]);
});

describe('release back', () => {
  it.each([
    [
      'prod',
      /prod \(account 2{12},.*version 9 .*access rules.*\n.*1\. .*canary: 'off'.* 2\. .*health.*release back --to 9\).* 3\. .*again/s,
    ],
    ['dev', /dev \(account 111111111111, region eu-west-1\) this command\n.*access rules.*\n$/],
  ])(
    'sends all calls of %s to the previous version, and with a canary names the next step',
    async (environment, said) => {
      const { env, state } = await startWorld();
      const result = await runCommandLine([...BACK, '--environment', environment, '--yes'], env);
      expect(result).toEqual(ended(0, 'live: version 9\n', said));
      expect(state).toMatchObject({ alias: { FunctionVersion: '9', weights: {} }, stopped: [] });
    },
  );

  it('stops a deployment that is under way, and leaves the new version no part of the calls', async () => {
    const { env, state } = await startWorld(DEPLOYING);
    const { stdout, stderr } = await runCommandLine([...BACK, '--to', '9', '--yes', '--json'], env);
    expect(JSON.parse(stdout)).toEqual({ environment: 'prod', version: '9', stopped: ['d-1'] });
    expect(stderr).toContain('stops the deployment d-1');
    expect(state).toMatchObject({ alias: { FunctionVersion: '9', weights: {} }, stopped: ['d-1'] });
  });

  // @see localstack/localstack#7482
  it('is done when AWS refuses the second attempt of a call whose answer was lost', async () => {
    const { env, state } = await startWorld({ isLost: true });
    const { exitCode, stdout } = await runCommandLine([...BACK, '--yes'], env);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'live: version 9\n' });
    expect(state.alias).toEqual(BACK_AT_9);
  });

  it('goes back although CodeDeploy does not say whether one is under way, and says so', async () => {
    const { env, state } = await startWorld({ alias: UNDER_WAY, denied: 'ListDeployments' });
    const { exitCode, stderr } = await runCommandLine([...BACK, '--yes'], env);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/under way, which could undo this, is unknown: .*codedeploy:ListDeployments/);
    expect(state.alias).toEqual({ FunctionVersion: '9', weights: {} });
  });

  it.each([[['x-api-key']], [[]]])('warns of versions that send none of the clientHeaders %j', async (headers) => {
    writeSettings({ prod: changed(environments.prod, 'services/customer-insights/clientHeaders', headers) });
    const { env } = await startWorld();
    const { exitCode, stderr } = await runCommandLine([...BACK, '--dry-run'], env);
    const warns = /\n- a version of 1\.1\.0 sends no clientHeaders: .* may reject the credentials/.test(stderr);
    expect({ exitCode, warns }).toEqual({ exitCode: 0, warns: headers.length > 0 });
  });

  it.each([
    ['with --dry-run', ['--dry-run'], {}, 0, /sends all calls to version 9 .*Nothing was changed/s],
    ['to a version that is not there', ['--to', '7', '--yes'], {}, 1, /version-missing: There is no version 7/],
    ['from the first version', ['--yes'], FIRST, 1, /no version before 8/],
    // @see victorarias/attn#858, kubernetes/website#6921
    ['a second time', ['--yes'], { alias: BACK_AT_9 }, 1, /at version 9 already, and version 10 exists\n.*with --to/],
    ['past a deployment that is under way', ['--to', '8', '--yes'], DEPLOYING, 1, /deployment-under-way: .* d-1 /],
    ['over another move', ['--yes'], { revision: 'another' }, 1, /alias-moved: .*release list/s],
  ])('changes nothing %s', async (_, args, given, exitCode, message) => {
    const { env, state } = await startWorld(given);
    const before = structuredClone(state);
    const result = await runCommandLine([...BACK, ...args], env);
    expect(result).toEqual({ exitCode, stdout: '', stderr: expect.stringMatching(message) });
    expect(state).toEqual(before);
  });
});

const BACK_AT_9 = { FunctionVersion: '9', weights: {} };
const FIRST = { alias: { FunctionVersion: '8', weights: {} }, newest: 8 };
const UNDER_WAY = { FunctionVersion: '9', weights: { 10: 0.1 } };
const DEPLOYING = { alias: UNDER_WAY, deployments: ['d-1'] };

interface Given {
  readonly alias?: { readonly FunctionVersion: unknown; readonly weights: Members };
  readonly deployments?: readonly string[];
  /** An operation that the identity may not call. */
  readonly denied?: string;
  /** Of the alias, when it is written. */
  readonly revision?: string;
  /** The answer of the write is lost, so that AWS meets the SDK's second attempt. */
  readonly isLost?: boolean;
  readonly newest?: number;
}

/** Lambda and CodeDeploy with a function of up to three versions. */
async function startWorld(given: Given = {}) {
  const { alias = { FunctionVersion: '10', weights: {} }, deployments = [], denied, revision = 'now' } = given;
  const { isLost = false, newest = 10 } = given;
  const state = { alias, stopped: [] as unknown[] };
  const versions = ['$LATEST', '8', '9', '10'].slice(0, newest - 6).map((Version) => ({
    Version,
    LastModified: `2026-01-${Version.replace('$LATEST', '11').padStart(2, '0')}T10:00:00.000+0000`,
    CodeSha256: `code-of-${Version}-abcdef`,
  }));
  const { url } = await startAws(({ operation, members }) => {
    if (operation === denied) return refused('AccessDeniedException', 403);
    switch (operation.replace(/^(\w+) .*\/functions\/token-broker-(?:prod|dev)/, '$1 ')) {
      case 'ListDeployments':
        expect(members).toMatchObject({ applicationName: PROD, deploymentGroupName: PROD });
        return { deployments };
      case 'StopDeployment':
        state.stopped.push(members.deploymentId);
        return { status: 'Succeeded' };
      case 'GET /versions':
        return { Versions: versions.slice(0, 2), NextMarker: 'a+b/c=' };
      case 'GET /versions?Marker=a%2Bb%2Fc%3D':
        return { Versions: versions.slice(2), NextMarker: null };
      case 'PUT /aliases/live': {
        const { FunctionVersion, RoutingConfig, RevisionId } = members;
        const isAsRead = RevisionId === undefined || RevisionId === revision;
        const { AdditionalVersionWeights = state.alias.weights } = membersOf(RoutingConfig);
        if (isAsRead) state.alias = { FunctionVersion, weights: membersOf(AdditionalVersionWeights) };
        return isLost || !isAsRead ? refused('PreconditionFailedException', 412) : {};
      }
      case 'GET /aliases/live': {
        const { FunctionVersion, weights } = state.alias;
        // AWS answers null in place of an empty object.
        const RoutingConfig = Object.keys(weights).length === 0 ? null : { AdditionalVersionWeights: weights };
        return { FunctionVersion, RevisionId: 'now', RoutingConfig };
      }
      default:
        return refused('ResourceNotFoundException', 404);
    }
  });
  return { env: { AWS_ENDPOINT_URL_LAMBDA: url, AWS_ENDPOINT_URL_CODEDEPLOY: url }, state };
}
