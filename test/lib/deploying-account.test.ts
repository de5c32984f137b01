import { describe, expect, it } from 'vitest';
import { deployingAccountFaults } from '../../lib/settings/deploying-account.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { exampleForm } from './example-form.ts';

const OWN = '111111111111';
const OTHER = '999999999999';
const environments = [
  parseEnvironment('dev', exampleForm()),
  parseEnvironment('prod', { ...exampleForm(), account: '222222222222', deployFrom: ['444444444444'] }),
];

describe('AWS credentials for another account than the settings', () => {
  it('stop the stack that is named', () => {
    expect(deployingAccountFaults(environments, { account: OTHER, stacks: ['TokenBroker-dev'] })).toEqual([
      {
        path: ['environments', 'dev', 'account'],
        reason: `is not the account of your AWS credentials, ${OTHER}, which deployFrom does not name either`,
      },
    ]);
  });

  it.each([
    ['there are no credentials', undefined, ['TokenBroker-dev', 'TokenBroker-prod']],
    ['they are for the account of the environment', OWN, ['TokenBroker-dev']],
    ['the environment may be deployed from their account', '444444444444', ['TokenBroker-prod']],
    ['no stack is named: nobody deploys all environments at once', OTHER, ['**']],
    ['another stack is named', OTHER, ['Another-dev']],
  ])('are no matter when %s', (_, account, stacks) => {
    expect(deployingAccountFaults(environments, { account, stacks })).toEqual([]);
  });
});
