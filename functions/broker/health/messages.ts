import { secretName } from '../../contract.ts';
import type { CheckedPair } from './check-pairs.ts';
import type {
  BrokerObservation,
  Entry,
  Observation,
  PairObservation,
  ProbeObservation,
  ServiceObservation,
} from './transitions.ts';

/** What an operator reads. The subject is one line of at most 99 characters of ASCII, as SNS wants it. */
export interface Message {
  readonly subject: string;
  readonly text: string;
}

/** Says what has changed, since when, and what to do. Nothing in it is a value of a secret or of a service's answer. */
export function messageOf(environment: string, observation: Observation, before: Entry | undefined): Message {
  const { condition, since, detail } = observation;
  const { headline, sentence, facts = [], whatToDo } = contentOf(environment, observation);
  const lines = [
    ['environment', environment],
    ...facts,
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

/** How a client's credential did on each of several services; empty where one service is all that there is to tell. */
export function overviewOf(checked: readonly CheckedPair[]): string {
  if (checked.length <= 1) return '';
  const lines = checked.map(
    ({ pair, finding, version }) => `  ${pair.service}: ${finding} (${version ?? 'no version'})`,
  );
  return `\nOn all services of the client:\n${lines.join('\n')}\n`;
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

/** The part of a message that depends on what it is about. */
interface Content {
  readonly headline: string;
  readonly sentence: string;
  readonly facts?: readonly (readonly [name: string, value: string])[];
  readonly whatToDo: string;
}

/** What an observation means, and what an operator does about it. */
function contentOf(environment: string, observation: Observation): Content {
  switch (observation.kind) {
    case 'pair':
      return pairContent(environment, observation);
    case 'service':
      return serviceContent(observation);
    case 'broker':
      return brokerContent(environment, observation);
    case 'probe':
      return probeContent(observation);
  }
}

function pairContent(environment: string, { pair, condition, version }: PairObservation): Content {
  const { client, service } = pair;
  const facts = [
    ['client', client],
    ['service', service],
    ['secret', secretName(environment, client)],
    ['secret version', version ?? 'not known'],
  ] as const;
  const run = (words: string) => `\n  npm run token-broker -- ${words} --environment ${environment}`;
  const content = { headline: `${condition}: ${client} on ${service}`, facts };

  switch (condition) {
    case 'accepted':
      return { ...content, sentence: `${service} accepts the credential of ${client}.`, whatToDo: 'nothing.' };
    case 'rejected':
      return {
        ...content,
        sentence:
          `${service} rejects the credential of ${client}. The broker sends this version at most twice more, so that the ` +
          'account is not locked; callers are served with the version before it as long as that one is accepted.',
        whatToDo:
          `get the right credential from ${service} and store it:${run(`client put ${client}`)}\n` +
          `If the credential is right after all, let it be sent again:${run(`client retry ${client}`)}`,
      };
    case 'throttled':
      return {
        ...content,
        sentence: `${service} answers that there were too many token requests for ${client}.`,
        whatToDo: `nothing, if it passes; else ask ${service} how many token requests it allows.`,
      };
    case 'unreachable':
      return {
        ...content,
        sentence: `${service} gives no answer to token requests for ${client}, or none in time.`,
        whatToDo: `nothing, if it passes; else ask ${service}, and find the cause with:${run(doctor(client, service))}`,
      };
    case 'misconfigured':
      return {
        ...content,
        sentence: `${service} answers token requests for ${client}, but not with a token that the broker can use.`,
        whatToDo:
          'compare authUrl, tokenPath, parameters and response of the service in lib/environments.ts with what the ' +
          `service expects:${run(doctor(client, service))}`,
      };
    case 'secret-missing':
      return {
        ...content,
        sentence:
          `There is no credential of ${client} to send to ${service}: the secret is gone or planned for deletion, or it ` +
          'does not name this service.',
        whatToDo:
          `store it, unless the client is gone:${run(`client put ${client}`)}\n` +
          `If the secret is there, its JSON does not name ${service}, and its tag "services" lists it or is missing: name ` +
          'the service in both or in neither.',
      };
    case 'secret-malformed':
      return {
        ...content,
        sentence: `The secret of ${client} holds no credential that can be sent to ${service}.`,
        whatToDo: `store it anew:${run(`client put ${client}`)}`,
      };
    case 'disabled':
      return {
        ...content,
        sentence: `An operator has disabled ${client}: it gets no tokens of ${service}.`,
        whatToDo: `nothing, until it may go on:${run(`client enable ${client}`)}`,
      };
    case 'service-unknown':
      return {
        ...content,
        sentence: `The secret of ${client} names the service ${service}, which is not configured.`,
        whatToDo: 'correct the tag "services" of the secret, or configure the service in lib/environments.ts.',
      };
  }
}

function doctor(client: string, service: string): string {
  return `doctor --client ${client} --service ${service}`;
}

function serviceContent({ service, condition }: ServiceObservation): Content {
  const facts = [['service', service]] as const;
  if (condition === 'answering') {
    return {
      headline: `${service} answers again`,
      sentence: `${service} answers token requests again. This ends the incident.`,
      facts,
      whatToDo: 'nothing. Clients that still get no answer are told about one by one.',
    };
  }
  return {
    headline: `incident: ${service} does not answer`,
    sentence:
      `${service} answers hardly any token request. Callers are served with the tokens that are still good. Until it ` +
      'is over, clients that get no answer of this service are not told about one by one.',
    facts,
    whatToDo: `ask ${service}. Nothing is wrong with the credentials: leave them as they are.`,
  };
}

function brokerContent(environment: string, { condition }: BrokerObservation): Content {
  if (condition === 'answering') {
    return {
      headline: 'the broker can check credentials again',
      sentence: 'The broker can check credentials again.',
      whatToDo: 'nothing.',
    };
  }
  return {
    headline: 'incident: the broker checks no credential',
    sentence: 'Not one credential could be checked. Callers may get no tokens either.',
    whatToDo:
      `look at the alarms and the log of the function token-broker-${environment}, and find the cause with:` +
      `\n  npm run token-broker -- doctor --environment ${environment}`,
  };
}

function probeContent({ condition }: ProbeObservation): Content {
  if (condition === 'denied') {
    return {
      headline: 'a role without an access rule is refused again',
      sentence: 'The broker refuses the probe, a role without an access rule, as it must.',
      whatToDo: 'see in the audit lines whether anybody got in the meantime what was not meant for them.',
    };
  }
  if (condition === 'unproven') {
    return {
      headline: 'not proven that roles without an access rule are refused',
      sentence: 'The probe, a role without an access rule, got no answer that would prove that it is refused.',
      whatToDo:
        'see whether the health function may assume the probe role, whether that role may call the Function URL, and ' +
        'whether the broker answers.',
    };
  }
  return {
    headline: 'SECURITY: a role without an access rule was not refused',
    sentence: 'The broker did not refuse the probe, a role without an access rule. Others may get tokens like it.',
    whatToDo:
      'take back the latest change of the access rules or of the code, and see in the audit lines who got what was ' +
      'not meant for them.',
  };
}
