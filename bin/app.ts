import { App } from 'aws-cdk-lib';
import { acknowledge, acknowledgements, checkTemplates } from '../lib/checks/template-checks.ts';
import { environments } from '../lib/environments.ts';
import { stackName } from '../lib/settings/names.ts';
import { SettingsError } from '../lib/settings/schema.ts';
import { parseEnvironments } from '../lib/settings/settings.ts';
import { TokenBrokerStack } from '../lib/token-broker-stack.ts';

// Makes one stack for each environment. A wrong setting in any of them stops the synthesis.
try {
  const parsed = parseEnvironments(environments);
  const app = new App({ analyticsReporting: false });
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
