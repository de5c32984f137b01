import { describe, expect, it } from 'vitest';
import { secretProblem } from '../../../functions/broker/credential/secret.ts';
import { secretName } from '../../../functions/contract.ts';

const NAME = 'token-broker/dev/acme';

describe('the secret of a client', () => {
  it('has a name that tells the environment and the client', () => {
    expect(secretName('dev', 'acme')).toBe(NAME);
  });

  it.each([
    ['missing', { outcome: 'missing' }, 'credential-missing', undefined],
    ['marked for deletion', { outcome: 'deleted' }, 'credential-missing', undefined],
    ['binary', { outcome: 'binary' }, 'credential-malformed', undefined],
    ['denied', { outcome: 'denied', cause: 'AccessDeniedException' }, 'secrets-unavailable', undefined],
    ['out of reach', { outcome: 'unavailable', cause: 'ECONNRESET' }, 'secrets-unavailable', 1],
  ] as const)(
    'that is %s is a problem which names it and says who must act',
    (_what, reading, type, retryAfterSeconds) => {
      const problem = secretProblem(reading, NAME, 'AWSPENDING');
      expect(problem).toMatchObject({ type, retryAfterSeconds });
      expect(problem.detail).toContain(NAME);
    },
  );

  it('that is missing, or binary, is told with its stage', () => {
    for (const outcome of ['missing', 'binary'] as const) {
      expect(secretProblem({ outcome }, NAME, 'AWSPENDING').detail).toContain('AWSPENDING');
    }
  });

  it.each(['unavailable', 'denied'] as const)('keeps why it is %s for the log, not for the caller', (outcome) => {
    const problem = secretProblem({ outcome, cause: 'KMSInvalidStateException' }, NAME, 'AWSCURRENT');
    expect(problem.cause).toBe('KMSInvalidStateException');
    expect(problem.detail).not.toContain('KMSInvalidStateException');
  });
});
