import { TokenBrokerError } from '../../client/error.ts';
import { type ExplainedFor, explain } from './explain.ts';
import { printJson, talk } from './output.ts';

/**
 * Does a command's work; when the broker refuses or cannot be reached, says why and what to do, and the exit code is 1.
 *
 * Ctrl-C is answered with silence and 130, as the shell expects.
 */
export async function explainFailure(options: FailureOptions, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof TokenBrokerError)) throw error;
    // What was left behind (a credential lookup) must not keep the process; nothing was printed that could be lost.
    if (error.type === 'aborted') process.exit(130);
    if (options.json) printJson(asProblem(error));
    talk(`error: ${error.message}`);
    talk(explain(error.type, options));
    if (error.retryAfterSeconds !== undefined) talk(`Try again in ${error.retryAfterSeconds} s.`);
    process.exitCode = 1;
  }
}

interface FailureOptions extends ExplainedFor {
  readonly json?: boolean | undefined;
}

/** Failures that are not the broker's get the same shape, so that a script reads one. */
function asProblem({ type, detail, status, retryable, problem }: TokenBrokerError): Readonly<Record<string, unknown>> {
  return problem ?? { type, detail, status, retryable };
}
