import { App } from 'aws-cdk-lib';
import { acknowledgements } from '../lib/acknowledgements.ts';
import { environments } from '../lib/environments.ts';
import { parseEnvironments } from '../lib/settings.ts';
import { SettingsError } from '../lib/settings-error.ts';
import { acknowledge, checkTemplates } from '../lib/template-checks.ts';
import { TokenBrokerStack } from '../lib/token-broker-stack.ts';

// One stack per environment; with a wrong setting anywhere there is none at all.
try {
  const parsed = parseEnvironments(environments);
  const app = new App({ analyticsReporting: false });
  for (const environment of parsed) {
    const stack = new TokenBrokerStack(app, `TokenBroker-${environment.name}`, { environment });
    acknowledge(stack, acknowledgements(stack, environment.name));
  }
  checkTemplates(app);
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  process.stderr.write(`lib/environments.ts: ${error.message}\n`);
  process.exitCode = 1;
}
