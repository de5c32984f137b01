// Vitest's JSON report, in which a failed file has the message of its failed set-up. Vitest's own message is that of the
// file alone, and stays empty when the set-up of a group of tests failed.
import { JsonReporter } from 'vitest/node';

export default class extends JsonReporter {
  onTestRunEnd(modules) {
    return super.onTestRunEnd(modules.map((module) => ({ task: withMessage(module) })));
  }
}

/** Returns a copy, because other reporters print the errors of the original. */
function withMessage({ task, children }) {
  const errors = [...children.allSuites()].flatMap((suite) => suite.errors());
  if (errors.length === 0 || task.result?.errors?.length) return task;
  return { ...task, result: { ...task.result, errors } };
}
