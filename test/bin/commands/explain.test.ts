import { describe, expect, it } from 'vitest';
import { explain } from '../../../bin/commands/shared/explain.ts';
import { FAILURES } from '../../../client/error.ts';
import { PROBLEMS } from '../../../functions/contract.ts';

const NAMES = { environment: 'prod', client: 'acme' };
const TYPES = [...Object.keys(PROBLEMS), ...Object.keys(FAILURES)];
const UNKNOWN = explain('something-new', NAMES);

describe('explaining a failure', () => {
  it.each(TYPES)('says in one sentence what "%s" means and what to do', (type) => {
    expect(explain(type, NAMES)).toMatch(/^[A-Z].*\w\)?: .*[^.]\.$/);
    expect(explain(type, NAMES)).not.toMatch(/\. [A-Z]/);
    expect(explain(type, NAMES)).not.toBe(UNKNOWN);
  });

  it('says something else for every type', () => {
    expect(new Set(TYPES.map((type) => explain(type, NAMES))).size).toBe(TYPES.length);
  });

  it('names the secret that an operator must look at', () => {
    expect(explain('credential-rejected', NAMES)).toContain('token-broker/prod/acme');
  });

  it.each(['something-new', 'toString'])('has an answer for "%s", which it does not know', (type) => {
    expect(explain(type, NAMES)).toMatch(/does not know/);
  });
});
