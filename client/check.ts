import type { Pair } from './answers.ts';
import { failure } from './error.ts';
import { isJsonObject, parseJson } from './json.ts';
import { isLifetime } from './lifetime.ts';
import { type Connection, exchange, type Patience } from './request.ts';
import type { Answer } from './send.ts';

export interface CheckRequest extends Pair {
  /** Which version of the credential: `AWSCURRENT` when left out. */
  readonly stage?: SecretStage | undefined;
}

export type SecretStage = 'AWSCURRENT' | 'AWSPENDING' | 'AWSPREVIOUS';

/** What the broker found out about a credential. */
export interface Check {
  readonly client: string;
  readonly service: string;
  readonly stage: SecretStage;
  readonly finding: Finding;
  /** The secret version that was looked at; absent when there is none. */
  readonly version?: string | undefined;
  /** Epoch milliseconds, on the broker's clock. */
  readonly checkedAt: number;
  readonly provenBy: ProvenBy;
  /** When the token that proves the credential ends: epoch milliseconds on this machine's clock. */
  readonly expiresAt?: number | undefined;
}

export type Finding = (typeof FINDINGS)[number];

const FINDINGS = [
  'accepted',
  'rejected',
  'throttled',
  'unreachable',
  'misconfigured',
  'secret-missing',
  'secret-malformed',
  'disabled',
] as const;

/** Whether a token request told, of this check or of earlier traffic, or what kept the broker from making one. */
type ProvenBy = (typeof PROOFS)[number];

const PROOFS = ['request', 'traffic', 'latch', 'pause', 'secret', 'operator'] as const;

/** Asks the broker whether the credential of one client works on one service. */
export async function askForCheck(
  connection: Connection,
  { client, service, stage = 'AWSCURRENT' }: CheckRequest,
  patience: Patience,
): Promise<Check> {
  const asked = { client, service, stage };
  const { answer, startedAt } = await exchange(connection, '/check', asked, patience);
  return readCheck(answer, asked, startedAt);
}

type Asked = Pick<Check, 'client' | 'service' | 'stage'>;

function readCheck({ text, status }: Answer, asked: Asked, startedAt: number): Check {
  const unusable = (member: string) => failure('unexpected-answer', `its ${member} is missing or wrong`, { status });
  const body = parseJson(text);
  if (!isJsonObject(body)) throw failure('unexpected-answer', 'it is not a JSON object', { status });
  const { client, service, stage, finding, version, checked_at, proven_by, expires_in } = body;

  // A finding about another pair would be believed of this one.
  if (client !== asked.client) throw unusable('client');
  if (service !== asked.service) throw unusable('service');
  if (stage !== asked.stage) throw unusable('stage');
  if (!isOneOf(FINDINGS, finding)) throw unusable('finding');
  if (version !== undefined && (typeof version !== 'string' || !/^[\x21-\x7e]{1,64}$/.test(version))) {
    throw unusable('version');
  }
  if (typeof checked_at !== 'string' || Number.isNaN(Date.parse(checked_at))) throw unusable('checked_at');
  if (!isOneOf(PROOFS, proven_by)) throw unusable('proven_by');
  if (expires_in !== undefined && !isLifetime(expires_in)) throw unusable('expires_in');

  return {
    ...asked,
    finding,
    ...(version !== undefined && { version }),
    checkedAt: Date.parse(checked_at),
    provenBy: proven_by,
    ...(expires_in !== undefined && { expiresAt: startedAt + expires_in * 1000 }),
  };
}

function isOneOf<Word extends string>(words: readonly Word[], value: unknown): value is Word {
  return words.some((word) => word === value);
}
