import { App } from 'aws-cdk-lib';
import { acknowledge, acknowledgements, checkTemplates } from '../lib/checks/template-checks.ts';
import { stackName } from '../lib/settings/names.ts';
import { parseEnvironments } from '../lib/settings/settings.ts';
import { explainSettings, readSettings } from '../lib/settings/settings-file.ts';
import { TokenBrokerStack } from '../lib/token-broker-stack.ts';

// Makes a stack for each environment. A wrong setting in any of them stops the synthesis.
try {
  const { environments, folder, context } = readSettings();
  const parsed = parseEnvironments(environments, folder);
  const app = new App({ analyticsReporting: false, context });
  for (const environment of parsed) {
    const stack = new TokenBrokerStack(app, stackName(environment.name), { environment });
    acknowledge(stack, acknowledgements(stack, environment.name));
  }
  checkTemplates(app);
} catch (error) {
  process.stderr.write(`${explainSettings(error)}\n`);
  process.exitCode = 1;
}
