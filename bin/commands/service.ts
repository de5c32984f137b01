import type { Command } from 'commander';
import { explainFailure } from '../../client/commands/failure.ts';
import { parseName } from '../../client/commands/options.ts';
import { talk } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { INCIDENT_PATH, INCIDENTS } from '../local/token-service/answer.ts';
import { checkService, isLocal } from './shared/environment.ts';
import { orderLocalBroker } from './shared/local-broker.ts';

/** `service`: plays an incident of a service on this machine. */
export function addServiceCommand(program: Command, shell: Shell): void {
  const command = program
    .command('service')
    .description('Let a service of npm start fail, to rehearse an incident, or work again.')
    .argument('<service>', 'which one', parseName);
  for (const [mode, { says }] of Object.entries(INCIDENTS)) command.option(`--${mode}`, says);
  command.action(async (service: string, chosen: Readonly<Record<string, boolean>>) => {
    const options: { readonly environment: string } = command.optsWithGlobals();
    const modes = Object.entries(INCIDENTS).filter(([mode]) => chosen[mode]);
    const [mode] = modes;
    const flags = Object.keys(INCIDENTS).map((each) => `--${each}`);
    if (mode === undefined || modes.length > 1)
      return command.error(`error: say what it does: one of ${flags.join(', ')}`);
    if (!isLocal(options.environment)) {
      return command.error(
        `error: only a service of npm start does what it is told, not one of "${options.environment}"`,
      );
    }
    checkService(shell, service, options.environment, command);
    const [name, { says }] = mode;
    await explainFailure(shell, options, async () => {
      await orderLocalBroker(shell, 'TOKEN_BROKER_STAND_IN_URL', `/${service}/${INCIDENT_PATH}${name}`);
      talk(shell, `${service}: ${says}`);
    });
  });
}
