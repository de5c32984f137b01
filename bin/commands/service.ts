import type { Command } from 'commander';
import { aborted, CommandFailure, explainFailure } from '../../client/commands/failure.ts';
import { parseName } from '../../client/commands/options.ts';
import { talk } from '../../client/commands/output.ts';
import type { Shell } from '../../client/commands/shell.ts';
import { causeWord } from '../../functions/aws/calls.ts';
import { INCIDENT_PATH, INCIDENTS } from '../local/token-service/incidents.ts';
import { checkService, isLocal } from './shared/environment.ts';

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

/** Where the broker of `npm start` takes unsigned orders. */
type Place = 'TOKEN_BROKER_CONTROL_URL' | 'TOKEN_BROKER_STAND_IN_URL';

/** Sends an order to the local broker that the variables of this terminal name. */
export async function orderLocalBroker(shell: Shell, place: Place, path: string): Promise<void> {
  const status = await post(new URL(path, localUrl(shell, place)), shell.signal);
  if (status === 200 || status === 204) return;
  throw new CommandFailure('control-failed', `The local broker answered ${status}`, ADVICE);
}

/** Elsewhere than on this machine schedule and services belong to others. */
function localUrl({ env }: Shell, place: Place): URL {
  const text = env[place] ?? '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' || !/^(127\.0\.0\.1|\[::1\]|localhost)$/.test(url.hostname)) {
    throw new CommandFailure('control-unknown', `${place} is not the one of a local broker`, ADVICE);
  }
  return url;
}

async function post(url: URL, signal: AbortSignal): Promise<number> {
  try {
    return (await fetch(url, { method: 'POST', redirect: 'manual', signal })).status;
  } catch (error) {
    if (signal.aborted) throw aborted();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new CommandFailure('control-unreachable', `The local broker did not answer (${causeWord(cause)})`, ADVICE);
  }
}

const ADVICE =
  'npm start runs a local broker and prints what to set; in AWS the schedule runs by itself, and health without --run checks now.';
