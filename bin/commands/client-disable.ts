import type { Command } from 'commander';
import { parseName } from './arguments.ts';
import { addRegionOption, addTableOption, type ClientOptions } from './client-options.ts';
import { explainFailure } from './failure.ts';
import { printJson, talk } from './output.ts';
import { changePairs } from './pair-changes.ts';

/** `client disable` and `client enable`: the emergency stop, and its end. */
export function addDisableCommands(parent: Command, signal: AbortSignal): void {
  for (const verb of ['disable', 'enable'] as const) {
    addTableOption(addRegionOption(parent.command(verb)))
      .description(VERBS[verb].description)
      .argument('<client>', 'the client', parseName)
      .option('--json', 'answer in JSON')
      .action(async (client: string, _: unknown, command: Command) => {
        const options = command.optsWithGlobals<ClientOptions & { readonly table?: string }>();
        const { environment, json } = options;
        await explainFailure({ ...options, client }, async () => {
          const changed = await changePairs(client, options, { command, signal }, (admin, pair) => admin[verb](pair));
          const services = changed.map(({ pair }) => pair.service);
          if (json) printJson({ environment, client, services, disabled: verb === 'disable', within_seconds: 60 });
          else process.stdout.write(`${client} is ${verb}d on ${services.join(', ')}\n`);
          talk(VERBS[verb].effect.replaceAll('<client>', client));
        });
      });
  }
}

const VERBS = {
  disable: {
    description: 'Emergency stop: no token of the client is issued any more, cached ones included.',
    effect:
      'Within 60 s nobody is issued a token of <client>. Tokens that callers hold already live on until they expire: only the services can revoke them. client enable <client> ends it.',
  },
  enable: {
    description: 'End the emergency stop.',
    effect: 'Within 60 s tokens of <client> are issued again.',
  },
} as const;
