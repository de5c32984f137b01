import { type Finding, findingAdvice, secretName } from '../../vocabulary.ts';
import type { Entry, Observation } from './evaluate.ts';

/** A message to the operators. SNS limits the subject to a line of 99 ASCII characters. */
export interface Message {
  readonly subject: string;
  readonly text: string;
}

/** Describes a change, its start and the remedy. Never contains a value of a secret or of a service's answer. */
export function messageOf(environment: string, observation: Observation, before: Entry | undefined): Message {
  const { condition, since, detail } = observation;
  const facts = new Map([
    ['environment', environment],
    ...factsOf(environment, observation),
    ['finding', condition],
    ['since', dateTime(since)],
    ['before', before === undefined ? 'nothing to report' : `${before.condition} since ${dateTime(before.since)}`],
  ]);
  const fill = (text: string) => text.replaceAll(/<(\w+)>/g, (place, name) => facts.get(name) ?? place);
  const [headline, sentence, advice] = textsOf(observation).map(fill);
  const table = [...facts].map(([name, value]) => `${`${name}:`.padEnd(COLUMN)}${value}`);
  const command = `Run commands as: npm run token-broker -- <command> --environment ${environment}`;
  const paragraphs = [sentence, detail, table.join('\n'), `What to do: ${advice}`, command];
  const text = `${paragraphs.filter((paragraph) => paragraph !== undefined).join('\n\n')}\n`;
  const subject = `[token-broker ${environment}] ${headline}`;
  // SNS refuses a longer subject. Names are always ASCII.
  return { subject: subject.length > 99 ? `${subject.slice(0, 96)}...` : subject, text };
}

function factsOf(environment: string, observation: Observation): readonly (readonly [name: string, value: string])[] {
  if (observation.kind === 'service') return [['service', observation.service]];
  if (observation.kind !== 'pair' && observation.kind !== 'expiry') return [];
  const { client, service } = observation.pair;
  return [
    ['client', client],
    ['service', service],
    ['secret', secretName(environment, client)],
    ['secret version', observation.version ?? 'not known'],
    ...(observation.kind === 'expiry' ? [['end', observation.credentialExpiresAt] as const] : []),
  ];
}

const COLUMN = 'secret version: '.length;

/** Formats a time to the second, as RFC 3339 does. */
function dateTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** Returns texts with placeholders such as `<client>`. */
function textsOf(observation: Observation): readonly [headline: string, sentence: string, advice: string] {
  switch (observation.kind) {
    case 'pair':
      return ['<finding>: <client> on <service>', ...textsOfPair(observation)];
    case 'expiry':
      return ['<finding>: <client> on <service>', ...textsOfExpiry(observation.condition)];
    case 'service':
      return TEXTS_OF_SERVICE[observation.condition];
    case 'broker':
      return TEXTS_OF_BROKER[observation.condition];
    case 'probe':
      return TEXTS_OF_PROBE[observation.condition];
  }
}

function textsOfPair({ condition, cause, at, ...look }: PairObservation): readonly [sentence: string, advice: string] {
  const isBudget = condition === 'throttled' && cause !== undefined && cause !== 'service';
  const isExpired = Date.parse(look.credentialExpiresAt ?? '') <= at;
  const advice = condition === 'accepted' ? 'Nothing.' : findingAdvice(condition, cause, isExpired);
  return [isBudget ? NOT_TRIED : SENTENCES[condition], advice];
}

function textsOfExpiry(condition: string): readonly [sentence: string, advice: string] {
  const isWrong = condition === 'end-malformed' || condition === 'end-mistagged';
  return TEXTS_OF_EXPIRY[isWrong ? condition : 'expiring'];
}

type PairObservation = Extract<Observation, { readonly kind: 'pair' }>;

const NOT_TRIED = 'The broker did not try the credential of <client> on <service>.';

const SENTENCES: Readonly<Record<Finding, string>> = {
  accepted: '<service> accepts the credential of <client>.',
  rejected:
    '<service> rejects the credential of <client>. The broker sends this version at most twice more, so that the ' +
    'account is not locked. Callers get tokens of the previous version, if there is one that <service> accepts.',
  throttled: '<service> reports too many token requests for <client>.',
  unreachable: '<service> does not answer token requests for <client>, or not in time.',
  misconfigured: '<service> answers token requests for <client>, but not with a token that the broker can use.',
  'secret-missing': 'There is no credential of <client> to send to <service>.',
  'secret-malformed': 'The secret of <client> contains no credential that can be sent to <service>.',
  disabled: 'An operator has disabled <client>: it gets no tokens of <service>.',
};

const TEXTS_OF_EXPIRY = {
  'end-malformed': [
    'The end of the credential of <client> on <service> is not a whole number of seconds. The broker ignores it.',
    'Correct `client_secret_expires_at`: store the credential again with `client put <client> --expires <date>`.',
  ],
  'end-mistagged': [
    'The tag `expires` of the secret version does not contain the end that the secret says. Only lists use the tag.',
    'Write the end above into the tag, or store the credential again with `client put <client>`.',
  ],
  expiring: [
    'The credential of <client> on <service> ends, or has ended, at the time below.',
    'Get its successor from <service>, while both are valid, and store it with `client put <client> --expires <date>`.',
  ],
} as const;

const TEXTS_OF_SERVICE = {
  answering: [
    '<service> answers again',
    '<service> answers token requests again. This ends the incident.',
    'Nothing. Clients that still get no answer are reported separately.',
  ],
  incident: [
    'incident: <service> does not answer',
    '<service> answers hardly any token request. Callers get the tokens that are still valid. During the incident, ' +
      'clients that get no answer of this service are not reported separately.',
    'Contact the operator of <service>. The credentials are not the cause: leave them as they are.',
  ],
} as const;

const TEXTS_OF_BROKER = {
  answering: ['the broker can check credentials again', 'The broker can check credentials again.', 'Nothing.'],
  incident: [
    'incident: the broker checks no credential',
    'No credential could be checked. Callers may get no tokens either.',
    'Look at the alarms and the log of the function token-broker-<environment>, and find the cause with `doctor`.',
  ],
} as const;

const TEXTS_OF_PROBE = {
  denied: [
    'a role without an access rule is refused again',
    'The broker refuses the probe, a role without an access rule, as it must.',
    'Check in the audit lines whether a role received a token in the meantime that no rule allows.',
  ],
  unproven: [
    'not proven that roles without an access rule are refused',
    'No answer proves that the broker refuses the probe, a role without an access rule.',
    'Check that the health function may assume the probe role and call the Function URL, and that the broker answers.',
  ],
  'not-denied': [
    'SECURITY: a role without an access rule was not refused',
    'The broker did not refuse the probe, a role without an access rule. Other roles may get tokens without a rule.',
    'Undo the latest change of access rules or code, and find tokens that no rule allows in the audit lines.',
  ],
} as const;
