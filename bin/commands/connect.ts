import { type Command, Option } from 'commander';
import { createTokenBroker, type TokenBroker } from '../../client/index.ts';
import { parseRegion } from './arguments.ts';

/** What every command that calls the broker can be told. */
export interface ConnectionOptions {
  readonly url?: string | undefined;
  readonly region?: string | undefined;
}

/** Adds the options that say where the broker is. */
export function addConnectionOptions(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', "the broker's Function URL").env('TOKEN_BROKER_URL'))
    .option('--region <region>', 'its AWS region (default: as its URL says, else env: AWS_REGION)', parseRegion);
}

/** The broker that the options name; wrong usage when they name none. */
export function connect({ url = '', region }: ConnectionOptions, command: Command): TokenBroker {
  if (url === '') {
    return command.error('error: where is the broker? Give --url or set TOKEN_BROKER_URL to its Function URL');
  }
  try {
    // A person sees the first failure, and every command asks for what is true now.
    return createTokenBroker({ url, region, cache: false, maxAttempts: 1 });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return command.error(`error: ${error.message}`);
  }
}
