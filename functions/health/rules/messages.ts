import { FINDING_ADVICE, type Finding, secretName } from '../../vocabulary.ts';
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
  const command = `Commands are given as: npm run token-broker -- <command> --environment ${environment}`;
  const paragraphs = [sentence, detail, table.join('\n'), `What to do: ${advice}`, command];
  const text = `${paragraphs.filter((paragraph) => paragraph !== undefined).join('\n\n')}\n`;
  const subject = `[token-broker ${environment}] ${headline}`;
  // SNS refuses a longer subject. Names are always ASCII.
  return { subject: subject.length > 99 ? `${subject.slice(0, 96)}...` : subject, text };
}

function factsOf(environment: string, observation: Observation): readonly (readonly [name: string, value: string])[] {
  if (observation.kind === 'service') return [['service', observation.service]];
  if (observation.kind !== 'pair') return [];
  const { client, service } = observation.pair;
  return [
    ['client', client],
    ['service', service],
    ['secret', secretName(environment, client)],
    ['secret version', observation.version ?? 'not known'],
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
      return ['<finding>: <client> on <service>', SENTENCES[observation.condition], ADVICE[observation.condition]];
    case 'service':
      return TEXTS_OF_SERVICE[observation.condition];
    case 'broker':
      return TEXTS_OF_BROKER[observation.condition];
    case 'probe':
      return TEXTS_OF_PROBE[observation.condition];
  }
}

const SENTENCES: Readonly<Record<Finding, string>> = {
  accepted: '<service> accepts the credential of <client>.',
  rejected:
    '<service> rejects the credential of <client>. The broker sends this version at most twice more, so that the ' +
    'account is not locked; callers are served with the version before it as long as that one is accepted.',
  throttled: '<service> answers that there were too many token requests for <client>.',
  unreachable: '<service> gives no answer to token requests for <client>, or none in time.',
  misconfigured: '<service> answers token requests for <client>, but not with a token that the broker can use.',
  'secret-missing': 'There is no credential of <client> to send to <service>.',
  'secret-malformed': 'The secret of <client> holds no credential that can be sent to <service>.',
  disabled: 'An operator has disabled <client>: it gets no tokens of <service>.',
};

const ADVICE = { ...FINDING_ADVICE, accepted: 'Nothing.' };

const TEXTS_OF_SERVICE = {
  answering: [
    '<service> answers again',
    '<service> answers token requests again. This ends the incident.',
    'Nothing. Clients that still get no answer are told about one by one.',
  ],
  incident: [
    'incident: <service> does not answer',
    '<service> answers hardly any token request. Callers are served with the tokens that are still good. Until it is ' +
      'over, clients that get no answer of this service are not told about one by one.',
    'Ask <service>. Nothing is wrong with the credentials: leave them as they are.',
  ],
} as const;

const TEXTS_OF_BROKER = {
  answering: ['the broker can check credentials again', 'The broker can check credentials again.', 'Nothing.'],
  incident: [
    'incident: the broker checks no credential',
    'Not one credential could be checked. Callers may get no tokens either.',
    'Look at the alarms and the log of the function token-broker-<environment>, and find the cause with `doctor`.',
  ],
} as const;

const TEXTS_OF_PROBE = {
  denied: [
    'a role without an access rule is refused again',
    'The broker refuses the probe, a role without an access rule, as it must.',
    'See in the audit lines whether a role received a token in the meantime that no rule gives it.',
  ],
  unproven: [
    'not proven that roles without an access rule are refused',
    'The probe, a role without an access rule, got no answer that would prove that it is refused.',
    'See whether the health function may assume the probe role and call the Function URL, and whether the broker answers.',
  ],
  'not-denied': [
    'SECURITY: a role without an access rule was not refused',
    'The broker did not refuse the probe, a role without an access rule. Other roles may get tokens that no rule gives them, too.',
    'Take back the latest change of access rules or code, and see in the audit lines who got what was not meant for them.',
  ],
} as const;
