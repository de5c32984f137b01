import { expect, it } from 'vitest';
import { startOperatorWorld } from './operator-world.ts';

const STRANGER = 'arn:aws:iam::111111111111:role/stranger';

it('whoami prints the role that signs, and a line for each of its access rules', async () => {
  const { run, tokenService } = await startOperatorWorld();
  expect(await run(['whoami'])).toEqual({
    exitCode: 0,
    stdout: 'arn:aws:iam::111111111111:role/operator\ntoken, check for all on all\n',
    stderr: '',
  });
  expect(JSON.parse((await run(['whoami', '--json'])).stdout)).toEqual({
    role: 'arn:aws:iam::111111111111:role/operator',
    account: '111111111111',
    rules: [{ clients: 'all', services: 'all', operations: ['token', 'check'] }],
  });
  expect(tokenService.requests).toEqual([]);
});

it('whoami is no failure for a role that no access rule names', async () => {
  const { run, stranger } = await startOperatorWorld();
  expect(await run(['whoami'], { env: stranger })).toEqual({
    exitCode: 0,
    stdout: `${STRANGER}\n`,
    stderr: 'No access rule names this role: ask the operators of the broker for one.\n',
  });
});

it('a refused token is told with the answer of whoami', async () => {
  const { run, stranger } = await startOperatorWorld();
  const token = ['token', '--client', 'acme', '--service', 'customer-insights'];
  const { exitCode, stdout, stderr } = await run([...token, '--json'], { env: stranger });
  expect({ exitCode, caller: JSON.parse(stdout).caller }).toEqual({
    exitCode: 1,
    caller: { role: STRANGER, account: '111111111111', rules: [] },
  });
  expect(stderr).toMatch(
    /^error: access-denied: .*POST \/whoami.* You are \S+:role\/stranger; no access rule names it\.$/m,
  );
});

it('whoami fails as every call does when AWS does not know the caller', async () => {
  const { run } = await startOperatorWorld();
  const { exitCode, stdout, stderr } = await run(['whoami'], { env: { AWS_ACCESS_KEY_ID: 'AKIDUNKNOWN' } });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(/^error: aws-security-token-invalid/);
});
