import { secretName } from '../../contract.ts';
import type { Entry, Observation, PairObservation, ProbeAnswer } from './evaluate.ts';

/** What an operator reads. The subject is one line of at most 99 characters of ASCII, as SNS wants it. */
export interface Message {
  readonly subject: string;
  readonly text: string;
}

/** Says what has changed, since when, and what to do. Nothing in it is a value of a secret or of a service's answer. */
export function messageOf(environment: string, observation: Observation, before: Entry | undefined): Message {
  const { condition, since, detail } = observation;
  const [headline, sentence, whatToDo] = textsOf(environment, observation);
  const lines = [
    ['environment', environment],
    ...factsOf(environment, observation),
    ['finding', condition],
    ['since', dateTime(since)],
    ['before', before === undefined ? 'nothing to report' : `${before.condition} since ${dateTime(before.since)}`],
  ].map(([name, value]) => `${`${name}:`.padEnd(COLUMN)}${value}`);
  const paragraphs = [sentence, detail, lines.join('\n'), `What to do: ${whatToDo}`];
  return {
    subject: subjectLine(`[token-broker ${environment}] ${headline}`),
    text: `${paragraphs.filter((paragraph) => paragraph !== undefined).join('\n\n')}\n`,
  };
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

/** To the second, as in RFC 3339. */
function dateTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** SNS refuses what is longer, is not ASCII, or has a control character. */
function subjectLine(text: string): string {
  const line = text.replaceAll(/[^ -~]/g, '?');
  return line.length <= MAX_SUBJECT_LENGTH ? line : `${line.slice(0, MAX_SUBJECT_LENGTH - 3)}...`;
}

const MAX_SUBJECT_LENGTH = 99;

/** What an observation means, and what an operator does about it. */
type Texts = readonly [headline: string, sentence: string, whatToDo: string];

function textsOf(environment: string, observation: Observation): Texts {
  switch (observation.kind) {
    case 'pair':
      return textsOfPair(environment, observation);
    case 'service':
      return textsOfService(observation.service)[observation.condition];
    case 'broker':
      return textsOfBroker(environment)[observation.condition];
    case 'probe':
      return TEXTS_OF_PROBE[observation.condition];
  }
}

function textsOfPair(environment: string, { pair: { client, service }, condition }: PairObservation): Texts {
  const run = (words: string) => `\n  npm run token-broker -- ${words} --environment ${environment}`;
  const put = run(`client put ${client}`);
  const doctor = run(`doctor --client ${client} --service ${service}`);
  const texts: Readonly<Record<typeof condition, readonly [sentence: string, whatToDo: string]>> = {
    accepted: [`${service} accepts the credential of ${client}.`, 'nothing.'],
    rejected: [
      `${service} rejects the credential of ${client}. The broker sends this version at most twice more, so that the ` +
        'account is not locked; callers are served with the version before it as long as that one is accepted.',
      `get the right credential from ${service} and store it:${put}\n` +
        `If the credential is right after all, let it be sent again:${run(`client retry ${client}`)}`,
    ],
    throttled: [
      `${service} answers that there were too many token requests for ${client}.`,
      `nothing, if it passes; else ask ${service} how many token requests it allows.`,
    ],
    unreachable: [
      `${service} gives no answer to token requests for ${client}, or none in time.`,
      `nothing, if it passes; else ask ${service}, and find the cause with:${doctor}`,
    ],
    misconfigured: [
      `${service} answers token requests for ${client}, but not with a token that the broker can use.`,
      'compare authUrl, tokenPath, parameters and response of the service in lib/environments.ts with what the ' +
        `service expects:${doctor}`,
    ],
    'secret-missing': [
      `There is no credential of ${client} to send to ${service}: the secret is gone or planned for deletion, or it ` +
        'does not name this service.',
      `store it, unless the client is gone:${put}\n` +
        `If the secret is there, its JSON does not name ${service}, and its tag "services" lists it or is missing: name ` +
        'the service in both or in neither.',
    ],
    'secret-malformed': [
      `The secret of ${client} holds no credential that can be sent to ${service}.`,
      `store it anew:${put}`,
    ],
    disabled: [
      `An operator has disabled ${client}: it gets no tokens of ${service}.`,
      `nothing, until it may go on:${run(`client enable ${client}`)}`,
    ],
    'service-unknown': [
      `The secret of ${client} names the service ${service}, which is not configured.`,
      'correct the tag "services" of the secret, or configure the service in lib/environments.ts.',
    ],
  };
  return [`${condition}: ${client} on ${service}`, ...texts[condition]];
}

function textsOfService(service: string): Readonly<Record<'answering' | 'incident', Texts>> {
  return {
    answering: [
      `${service} answers again`,
      `${service} answers token requests again. This ends the incident.`,
      'nothing. Clients that still get no answer are told about one by one.',
    ],
    incident: [
      `incident: ${service} does not answer`,
      `${service} answers hardly any token request. Callers are served with the tokens that are still good. Until it ` +
        'is over, clients that get no answer of this service are not told about one by one.',
      `ask ${service}. Nothing is wrong with the credentials: leave them as they are.`,
    ],
  };
}

function textsOfBroker(environment: string): Readonly<Record<'answering' | 'incident', Texts>> {
  return {
    answering: ['the broker can check credentials again', 'The broker can check credentials again.', 'nothing.'],
    incident: [
      'incident: the broker checks no credential',
      'Not one credential could be checked. Callers may get no tokens either.',
      `look at the alarms and the log of the function token-broker-${environment}, and find the cause with:` +
        `\n  npm run token-broker -- doctor --environment ${environment}`,
    ],
  };
}

const TEXTS_OF_PROBE: Readonly<Record<ProbeAnswer['condition'], Texts>> = {
  denied: [
    'a role without an access rule is refused again',
    'The broker refuses the probe, a role without an access rule, as it must.',
    'see in the audit lines whether a role received a token in the meantime that no rule gives it.',
  ],
  unproven: [
    'not proven that roles without an access rule are refused',
    'The probe, a role without an access rule, got no answer that would prove that it is refused.',
    'see whether the health function may assume the probe role, whether that role may call the Function URL, and ' +
      'whether the broker answers.',
  ],
  'not-denied': [
    'SECURITY: a role without an access rule was not refused',
    'The broker did not refuse the probe, a role without an access rule. Others may get tokens like it.',
    'take back the latest change of the access rules or of the code, and see in the audit lines who got what was ' +
      'not meant for them.',
  ],
};
