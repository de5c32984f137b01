import { App } from 'aws-cdk-lib';
import { BUNDLING_STACKS } from 'aws-cdk-lib/cx-api';
import { acknowledgements } from '../lib/acknowledgements.ts';
import { deployingAccountFaults } from '../lib/deploying-account.ts';
import { environments } from '../lib/environments.ts';
import { stackName } from '../lib/names.ts';
import { parseEnvironments } from '../lib/settings.ts';
import { SettingsError } from '../lib/settings-error.ts';
import { acknowledge, checkTemplates } from '../lib/template-checks.ts';
import { TokenBrokerStack } from '../lib/token-broker-stack.ts';

// One stack per environment; with a wrong setting anywhere there is none at all.
try {
  const parsed = parseEnvironments(environments);
  const app = new App({ analyticsReporting: false });
  const faults = deployingAccountFaults(parsed, {
    account: process.env.CDK_DEFAULT_ACCOUNT,
    stacks: app.node.tryGetContext(BUNDLING_STACKS) ?? [],
  });
  if (faults.length > 0) throw new SettingsError(faults);
  for (const environment of parsed) {
    const stack = new TokenBrokerStack(app, stackName(environment.name), { environment });
    acknowledge(stack, acknowledgements(stack, environment.name));
  }
  checkTemplates(app);
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`lib/environments.ts: ${error.message}\n`);
  process.exitCode = 1;
}
