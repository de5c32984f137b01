import { expect } from 'vitest';
import { ended } from './command-line.ts';
import { it } from './operator-world.ts';

const OPERATOR = 'arn:aws:iam::111111111111:role/operator';
const STRANGER = 'arn:aws:iam::111111111111:role/stranger';

it('whoami prints the role that signs, and a line for each of its access rules', async ({ world }) => {
  expect(await world.run('whoami')).toEqual(ended(0, `${OPERATOR}\ntoken, check for all on all\n`));
  expect(await world.json('whoami')).toEqual({
    role: OPERATOR,
    account: '111111111111',
    rules: [{ clients: 'all', services: 'all', operations: ['token', 'check'] }],
  });
  expect(world.tokenService.requests).toEqual([]);
});

it('whoami is no failure for a role that no access rule names', async ({ world: { run, stranger } }) => {
  const advice = 'No access rule names this role: ask the operators of the broker for one.\n';
  expect(await run('whoami', { env: stranger })).toEqual(ended(0, `${STRANGER}\n`, advice));
});

it('a refused token is told with the answer of whoami', async ({ world: { run, stranger } }) => {
  const { exitCode, stdout, stderr } = await run('token acme customer-insights --json', { env: stranger });
  const caller = { role: STRANGER, account: '111111111111', rules: [] };
  expect({ exitCode, told: JSON.parse(stdout) }).toMatchObject({ exitCode: 1, told: { caller } });
  const refusal = /^error: access-denied: .*POST \/whoami.* You are \S+:role\/stranger; no access rule names it$/m;
  expect(stderr).toMatch(refusal);
});

it('whoami fails as every call does when AWS does not know the caller', async ({ world }) => {
  const env = { AWS_ACCESS_KEY_ID: 'AKIDUNKNOWN' };
  expect(await world.run('whoami', { env })).toEqual(ended(1, '', /^error: aws-security-token-invalid/));
});
